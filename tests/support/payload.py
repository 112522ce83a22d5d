"""A stand-in for the frozen program: a folder of its layout, small enough for tests."""

from __future__ import annotations

from pathlib import Path

from builder.targets import Context

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000
DAY = "2023-11-14"
PROGRAM = """\
#!/bin/sh
echo "stand-in $*"
"""


def stand_in(base: Path, version: str = "1.2.3") -> Context:
    """Return a context whose frozen program is a shell script with files as it has."""
    context = Context(ROOT, base / "build", base / "dist", version, EPOCH, "x86_64")
    program = context.frozen / "gpuexplorer"
    libraries = context.frozen / "_internal"
    (libraries / "__pycache__").mkdir(parents=True)
    (libraries / "__pycache__" / "old.pyc").write_bytes(b"compiled by whoever ran it")
    program.write_text(PROGRAM)
    program.chmod(0o700)
    (libraries / "libthing.so.1").write_bytes(b"\x7fELF" + b"\0GLIBC_2.28\0\0GLIBC_2.5\0")
    (libraries / "libthing.so.1").chmod(0o755)  # as wheels have them
    (libraries / "libthing.so").symlink_to("libthing.so.1")
    (libraries / "naïve data.txt").write_text("data")
    return context
