"""A group of the history with its runs, for whoever shows it again: a report, or the window."""

from __future__ import annotations

from typing import Any

from gpuexplorer.history.model import Group, Query, named_of, said_of
from gpuexplorer.history.store import Store

PAGE = 500


def document_of(group: Group) -> dict[str, Any]:
    """Return what a group says of its runs; of an imported file what stood there beside them."""
    return said_of(group.document)


def ids_of(store: Store, group: Group) -> list[str]:
    """Return the ids of a group's finished runs, the oldest first.

    Before them stand those that it names, which may be of another group: what a comparison was held
    against, and what was in the history before the file that brought the others.
    """
    query = Query(group=group.id)
    ids: list[str] = []
    offset = 0
    while rows := store.find(query, descending=False, offset=offset, limit=PAGE):
        ids += [row.id for row in rows if not row.running]
        offset += len(rows)
        if len(rows) < PAGE:
            break
    named = named_of(group.document)
    known = store.known(named)
    return list(dict.fromkeys([*(one for one in named if one in known), *ids]))
