"""Edits that are not saved yet, kept among the user's data so that nothing ends them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.exchange.files import atomic_file, write_error

FOLDER = "drafts"


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """The edited text of one file, and what the file held when editing began."""

    path: str
    text: str
    saved: str
    unasked: bool = False
    """Whether ``saved`` is another program's text, which nobody has agreed to replace."""


def keep_draft(draft: Draft) -> None:
    """Keep a draft in place of any before of the same file; InputError where that cannot be."""
    place = _place(draft.path)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(place.parent, error) from None
    with atomic_file(place, durable=False) as stream:
        stream.write(msgspec.json.encode(draft))


def find_draft(path: Path) -> Draft | None:
    """Return the draft of a file; None for none, or one that cannot be read."""
    try:
        return msgspec.json.decode(_place(str(path)).read_bytes(), type=Draft)
    except (OSError, msgspec.MsgspecError):
        return None


def lost_drafts(roots: Iterable[Path]) -> list[Draft]:
    """Return the drafts of files that are gone, of those that are or lie in ``roots``."""
    places, found = [root.absolute() for root in roots], list[Draft]()
    for place in sorted((data_folder() / FOLDER).glob("*.json")) if places else ():
        try:
            draft = msgspec.json.decode(place.read_bytes(), type=Draft)
        except (OSError, msgspec.MsgspecError):
            continue
        path = Path(draft.path)
        if any(path.is_relative_to(root) for root in places) and not os.path.exists(path):
            found.append(draft)
    return found


def drop_draft(path: Path) -> None:
    """Forget the draft of a file; InputError where it cannot be taken away."""
    place = _place(str(path))
    try:
        place.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(place, error) from None


def _place(path: str) -> Path:
    return data_folder() / FOLDER / f"{hashlib.sha256(path.encode()).hexdigest()[:32]}.json"
