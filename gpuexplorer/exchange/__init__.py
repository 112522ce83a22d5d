"""Runs in files that other programs read and write, one module a format.

``files`` writes a file whole or not at all; ``formats`` chooses the format and is what most callers
want. Importing this package imports none of the formats.
"""

from __future__ import annotations

from gpuexplorer.exchange.files import atomic_file, check_target, write_error

__all__ = ["atomic_file", "check_target", "write_error"]
