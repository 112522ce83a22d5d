"""A group of the history with its runs, for whoever shows it again: a report, or the window."""

from __future__ import annotations

from typing import Any

from gpuexplorer.history.model import Group, Query
from gpuexplorer.history.store import Store

PAGE = 500


def document_of(group: Group) -> dict[str, Any]:
    """Return what a group says of its runs; of an imported file what stood there beside them."""
    document = group.document if isinstance(group.document, dict) else {}
    return {**document, **(document.get("rest") or {})}


def ids_of(store: Store, group: Group) -> list[str]:
    """Return the ids of a group's finished runs, the oldest first.

    Before those of a comparison stand the stored runs that it was held against.
    """
    query = Query(group=group.id)
    ids: list[str] = []
    offset = 0
    while rows := store.find(query, descending=False, offset=offset, limit=PAGE):
        ids += [row.id for row in rows if not row.running]
        offset += len(rows)
        if len(rows) < PAGE:
            break
    contestants = document_of(group).get("contestants")
    named = [one.get("run") for one in contestants or () if isinstance(one, dict)]
    known = store.known(one for one in named if isinstance(one, str))
    return list(dict.fromkeys([*(one for one in named if one in known), *ids]))
