"""What session files are called; apart, so that nobody loads more to tell one by its name."""

from __future__ import annotations

SUFFIX = ".gpux"
