"""The sums of what is given out."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from builder import checksums
from builder.errors import BuildError

from tests.support.payload import stand_in


def test_the_sums_are_sorted_and_sha256sum_agrees(tmp_path: Path) -> None:
    context = stand_in(tmp_path)
    context.out.mkdir()
    for name in ("b.deb", "a.dmg", "c d.exe"):
        (context.out / name).write_text(name)
    (context.out / ".b.deb.new").write_text("being written")
    (context.out / "folder").mkdir()
    (sums,) = checksums.build(context)
    names = [line.partition("  ")[2] for line in sums.read_text().splitlines()]
    assert names == ["a.dmg", "b.deb", "c d.exe"]
    first = sums.read_bytes()
    assert checksums.build(context)[0].read_bytes() == first  # its own sum is not in it
    if shutil.which("sha256sum") is not None:
        command = ["sha256sum", "--check", "--strict", sums.name]
        done = subprocess.run(command, cwd=context.out, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_without_packages_there_are_no_sums(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="holds no packages yet"):
        checksums.build(stand_in(tmp_path))
