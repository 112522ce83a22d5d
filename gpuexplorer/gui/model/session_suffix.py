"""What session files are called; apart, so that telling one by its name loads no more."""

from __future__ import annotations

SUFFIX = ".gpux"
