"""Session files: a zip of ``session.json``, arrays as ``.npy`` and other views' JSON.

Nothing in a file is ever executed or unpacked to the disk. Members are read by the names the
document leads to, so a path in a name leads nowhere; sizes are limited before and while they are
unpacked. A file is read as a whole or refused in one sentence.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from pathlib import Path
from typing import BinaryIO

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import brief
from gpuexplorer.exchange import atomic_file
from gpuexplorer.gui.model.part_file import Head, decode
from gpuexplorer.gui.model.session_arrays import Column, columns_of, npy, read_array
from gpuexplorer.gui.model.session_document import (
    SESSION_SCHEMA,
    SessionContents,
    SessionDocument,
    check_document,
)
from gpuexplorer.gui.model.session_suffix import SUFFIX

DOCUMENT = "session.json"
SUMS = "sha256.json"
FAMILY = "gpuexplorer/session/"
MAX_TOTAL_B = 768 << 20
"""All members unpacked: two runs of the greatest length, with phases of each launch."""
MAX_FILE_B = MAX_TOTAL_B + (1 << 20)
"""What cannot be packed takes a little more than it has."""
MAX_DOCUMENT_B = 256 << 20
"""Most of it are readings: a record has up to 36,000, of 1 KB each."""
MAX_PART_B = 256 << 20
MAX_SUMS_B = 1 << 20
MAX_MEMBERS = 400
MAX_DIRECTORY_B = 1 << 18
"""The zip's list of members."""
_END = struct.Struct("<4s4H2LH")
_LOCATOR_B = 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_session(contents: SessionContents, path: Path) -> None:
    """Write a session file, whole or not at all; InputError when it cannot be written.

    What is larger than ``read_session`` takes is refused before anything is written.
    """
    members = {DOCUMENT: msgspec.json.encode(contents.document)}
    members |= {_array(name): npy(array) for name, array in contents.arrays.items()}
    members |= {_part(name): data for name, data in contents.parts.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
    members[SUMS] = msgspec.json.encode(sums)
    if sum(map(len, members.values())) > MAX_TOTAL_B:
        raise InputError(
            f"cannot write {path}: the session is larger than {MAX_TOTAL_B >> 20} MiB",
            remedy="remove some ghosts first",
        )
    limits_B = {DOCUMENT: MAX_DOCUMENT_B, SUMS: MAX_SUMS_B}
    limits_B |= {_array(name): one.most_B for name, one in _columns(contents.document).items()}
    for name, data in members.items():
        limit_B = limits_B.get(name, MAX_PART_B)
        if len(data) > limit_B:
            raise InputError(
                f"cannot write {path}: {name} in it is larger than {limit_B >> 20} MiB",
                remedy="remove some ghosts first, and measure what is that large for a shorter "
                "time",
            )
    with atomic_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            head = zipfile.ZipInfo(name, _EPOCH)
            head.compress_type = zipfile.ZIP_DEFLATED
            head.external_attr = 0o644 << 16
            archive.writestr(head, data, compresslevel=4)


def _array(name: str) -> str:
    return f"arrays/{name}.npy"


def _part(name: str) -> str:
    return f"parts/{name}.json"


def _columns(document: SessionDocument) -> dict[str, Column]:
    """Return what the arrays of a document may hold, by name."""
    return columns_of(len(document.runs), len(document.past), len(document.pins))


def damaged(path: Path, what: str) -> InputError:
    """Return what a user is told of a file that is no whole session."""
    words = brief(what) or "it does not hold together"
    return InputError(f"cannot open {path}: it is damaged: {words}", remedy="use another copy")


def read_session(path: Path) -> SessionContents:
    """Read a session file; InputError with one sentence for any that is not whole and ours."""
    try:
        with path.open("rb") as stream:
            return _read(stream)
    except _Refused as refused:
        raise InputError(f"cannot open {path}: {refused.what}", remedy=refused.remedy) from None
    except InputError as error:
        raise damaged(path, error.what) from None
    except OSError as error:
        raise InputError(f"cannot open {path}: {error.strerror or error}") from None
    except _OF_ZIP as error:
        raise damaged(path, str(error)) from None


class _Refused(InputError):
    """It is whole, and no session that can be opened here."""


_OF_ZIP = (
    zipfile.BadZipFile, zlib.error, struct.error,
    EOFError, RuntimeError, ValueError, OverflowError, MemoryError,
)  # fmt: skip
"""What Python's reader raises for torn, encrypted, exotic or nonsensical members."""
_NOT_OURS = "it is not a session of GPU Explorer"
_CHOOSE = f"choose a {SUFFIX} file that File > Save session wrote"


def _read(stream: BinaryIO) -> SessionContents:
    size = stream.seek(0, io.SEEK_END)
    _check_ends(stream, size)
    with zipfile.ZipFile(stream) as archive:
        members = _Members(archive)
        if DOCUMENT not in members:
            raise _Refused(_NOT_OURS, remedy=_CHOOSE)
        data = members.unpack(DOCUMENT, MAX_DOCUMENT_B)
        document = _document(data)
        members.take_sums()
        members.check(DOCUMENT, data)
        arrays = {}
        for name, column in _columns(document).items():
            member = _array(name)
            if member in members or column.must:
                arrays[name] = read_array(members.read(member, column.most_B))
                column.check(arrays[name], name)
        parts = {name: members.read(_part(name), MAX_PART_B) for name in document.parts}
    check_document(document)
    return SessionContents(document, arrays, parts)


def _check_ends(stream: BinaryIO, size: int) -> None:
    """Refuse what is no plain zip, before its list of members is read into memory."""
    if size > MAX_FILE_B:
        raise _Refused(
            f"it is larger than the {MAX_FILE_B >> 20} MiB a session may have", remedy=_CHOOSE
        )
    stream.seek(0)
    if stream.read(4) != b"PK\x03\x04" or size < _END.size:
        raise _Refused(_NOT_OURS, remedy=_CHOOSE)
    stream.seek(size - _END.size)
    mark, disk, first_disk, here, entries, directory_B, at, comment = _END.unpack(
        stream.read(_END.size)
    )
    if mark != b"PK\x05\x06":
        raise InputError("its end is missing")
    if disk or first_disk or here != entries or comment:
        raise InputError("its list of contents is odd")
    if entries > MAX_MEMBERS or directory_B > MAX_DIRECTORY_B:
        raise InputError("it holds more parts than a session has")
    if at + directory_B + _END.size != size:
        raise InputError("its list of contents is not where it should be")
    stream.seek(max(0, size - _END.size - _LOCATOR_B))
    if stream.read(4) == b"PK\x06\x07":  # a longer list elsewhere, which sessions never have
        raise InputError("its list of contents is odd")


class _Members:
    """The members of a zip: each is unpacked within a limit and held against its check sum."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._found: dict[str, zipfile.ZipInfo] = {}
        self._sums: dict[str, str] = {}
        for member in archive.infolist():
            if member.filename in self._found:
                raise InputError("it holds a part twice")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InputError("a part is packed in a way that is not read")
            if member.flag_bits & 0x1:
                raise InputError("a part is encrypted")
            self._found[member.filename] = member
        if sum(m.file_size for m in self._found.values()) > MAX_TOTAL_B:
            raise _Refused(
                f"unpacked it is larger than the {MAX_TOTAL_B >> 20} MiB a session may have",
                remedy=_CHOOSE,
            )

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def unpack(self, name: str, limit_B: int) -> bytes:
        if name not in self._found:
            raise InputError(f"{name} is missing")
        size = self._found[name].file_size
        if size > limit_B:
            raise _Refused(f"a part of it is larger than {limit_B >> 20} MiB", remedy=_CHOOSE)
        with self._archive.open(name) as stream:
            data = stream.read(size + 1)
        if len(data) != size:
            raise InputError("a part has another length than it says")
        return data

    def take_sums(self) -> None:
        self._sums = decode(self.unpack(SUMS, MAX_SUMS_B), dict[str, str], "the list of check sums")

    def check(self, name: str, data: bytes) -> None:
        if self._sums.get(name) != hashlib.sha256(data).hexdigest():
            raise InputError(f"the check sum of {name} does not fit")

    def read(self, name: str, limit_B: int) -> bytes:
        data = self.unpack(name, limit_B)
        self.check(name, data)
        return data


def _document(data: bytes) -> SessionDocument:
    schema = decode(data, Head, "its description").schema
    if not schema.startswith(FAMILY):
        raise _Refused(_NOT_OURS, remedy=_CHOOSE)
    version = schema.removeprefix(FAMILY)
    if version.isdecimal() and len(version) < 9 and int(version) > 1:
        raise _Refused(
            f"it was saved by a newer GPU Explorer (format {version}; this one reads 1)",
            remedy="update GPU Explorer",
        )
    if schema != SESSION_SCHEMA:
        raise InputError("its format is unknown")
    return decode(data, SessionDocument, "its description")
