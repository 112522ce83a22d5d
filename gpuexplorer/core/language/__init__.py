"""What users read, in their language: English inside, translated where it is shown.

Every part of the program says its sentences in English, as they stand in its source: names of
views are keys of session files, reasons are kept in documents, an engine may be older than the
program that shows what it says, or on another machine. Whoever shows text (a label, a line of the
terminal, a chart, a page) sends it through ``tr``, at the last moment. A catalogue knows each
sentence as a template with named fields (``{shown} of {total} runs``), which ``tests.words`` takes
out of the sources; ``tr`` recognises the sentence in the text, fields and all, and says it in the
language of the process. So nothing that is stored, sent or compared depends on a language, what was
said at import follows a switch, and what an old file holds is shown translated, too.

A process says English until ``use`` was called: engines, workers, jobs and the Python API always.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from gpuexplorer.core.language.english import ENGLISH as ENGLISH
from gpuexplorer.core.language.figures import with_comma

if TYPE_CHECKING:
    from gpuexplorer.core.language.reader import Reader

_reader: Reader | None = None
_language = _given = ENGLISH
_comma = False
_in_file: ContextVar[bool] = ContextVar("in_file", default=False)


def tr(text: str) -> str:
    """Return a text in the language of this process; what is no sentence of ours as it is."""
    told = text if _reader is None else _reader.told(text)
    return with_comma(told) if _comma and not _in_file.get() else told


def about(what: str, said: str) -> str:
    """Return ``what: said`` with the language's colon, each of them told by itself.

    For names beside what is found of them, none of which may be words of ours.
    """
    if _reader is None:
        return f"{tr(what)}: {tr(said)}"
    return _reader.about(tr(what), tr(said))


def changes() -> bool:
    """Return whether ``tr`` changes anything here: else what is long need not be walked through."""
    return _reader is not None or (_comma and not _in_file.get())


def use_decimal_comma(on: bool) -> None:
    """Have ``tr`` write figures with a decimal comma, except in files."""
    global _comma
    _comma = on


@contextmanager
def in_file() -> Iterator[None]:
    """Say what is said within for a file: with decimal points, wherever it is read."""
    before = _in_file.set(True)
    try:
        yield
    finally:
        _in_file.reset(before)


def current() -> str:
    """Return the language of this process: ``en``, or the name of its catalogue, as ``zh_CN``."""
    return _language


def given() -> str:
    """Return what another process is told to speak as this one: a language's name, or its file."""
    return _given


def use(language: str | Path) -> None:
    """Say everything in a language from now on; ``current`` tells which one it became.

    ``language`` is the name of a catalogue in ``resources/languages``, or a file of one's own.
    Raises InputError for one that is not there or cannot be read.
    """
    global _reader, _language, _given
    if str(language) == ENGLISH:
        _reader, _language, _given = None, ENGLISH, ENGLISH
        return
    from gpuexplorer.core.language.available import catalogue_file
    from gpuexplorer.core.language.catalogue import read_catalogue
    from gpuexplorer.core.language.reader import Reader

    catalogue = read_catalogue(catalogue_file(language))
    _reader, _language, _given = Reader(catalogue), catalogue.language, str(language)


def as_is(text: str) -> str:
    """Return a text that no language changes: a name, a path, a command, what the user wrote.

    It stands where everything else goes through ``tr``, and says that this is meant.
    """
    return text
