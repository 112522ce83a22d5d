"""Files that are taken on another machine: each has its name once it is whole, however it came."""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fcntl")

from gpuexplorer.environments import far_side

DATA = b"from the sender"


def put(
    folder: Path, capsys: pytest.CaptureFixture[str], *, at_once: bool = False
) -> list[dict[str, Any]]:
    """Have two files taken, one of them empty, as the sender sends them; return the answers."""
    files: list[dict[str, Any]] = [
        {"path": f"pack/{name}", "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in (("a", DATA), ("b", b""))
    ]
    request = {"folder": str(folder), "files": files, "at_once": at_once}
    part = f"pack/a.{files[0]['sha256'][:12]}.part"
    there = [path / part for path in (folder, folder.with_name(f"{folder.name}.part"))]
    have = max([path.stat().st_size for path in there if path.exists()], default=0)
    capsys.readouterr()
    far_side.put(request, io.BytesIO(DATA[have:]))
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def interrupted(folder: Path, capsys: pytest.CaptureFixture[str], *, at_once: bool) -> None:
    """Have the process there end when all bytes have come and no file has its name yet."""

    def ends(*paths: str) -> None:
        raise SystemExit

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(os, "replace", ends)
        put(folder, capsys, at_once=at_once)


@pytest.mark.parametrize("at_once", [False, True])
def test_a_file_that_came_whole_without_getting_its_name_gets_it_the_next_time(
    at_once: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was taken for one that is there, and the engine lacked it from then on."""
    folder = tmp_path / "program"
    interrupted(folder, capsys, at_once=at_once)
    assert not (folder / "pack/a").exists()
    have, done = put(folder, capsys, at_once=at_once)
    assert have == {"have": [len(DATA), 0]} and done == {"done": True}
    assert (folder / "pack/a").read_bytes() == DATA
    assert (folder / "pack/b").read_bytes() == b""
    assert sorted(path.name for path in (folder / "pack").iterdir()) == ["a", "b"]
    assert put(folder, capsys, at_once=at_once)[-1] == {"done": True}


def test_a_program_whose_folder_lacks_a_file_gets_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "program"
    interrupted(folder, capsys, at_once=True)
    folder.with_name("program.part").rename(folder)  # as an earlier version did
    assert put(folder, capsys, at_once=True)[-1] == {"done": True}
    assert (folder / "pack/a").read_bytes() == DATA


def test_a_file_that_came_damaged_is_sent_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "program"
    interrupted(folder, capsys, at_once=False)
    (part,) = (folder / "pack").iterdir()
    part.write_bytes(DATA[::-1])
    with pytest.raises(ValueError, match="pack/a arrived damaged"):
        put(folder, capsys)
    assert put(folder, capsys)[-1] == {"done": True}
    assert (folder / "pack/a").read_bytes() == DATA
