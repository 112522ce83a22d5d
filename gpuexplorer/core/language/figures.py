"""Figures as the reader's country writes them: a decimal comma where that is usual.

Only what stands with its unit is a figure. A version, a command, a file's name, an architecture
keep their points.
"""

from __future__ import annotations

from gpuexplorer.core.patterns import later

_UNIT = (
    r"(?:%|×|°C|dB\b|(?:[pnµmkMGTP]?(?:elements/s|FLOP/s|FLOP/B|FLOP|B/FLOP|B/s|it/s|B|s|W|J|Hz)"
    r"|[kMGT]i?B)(?![\w/]))"
)
_FIGURE = later(
    rf"(?<![\w.,:/\\=@-])\d+\.\d+(?:e[+-]?\d+)?"
    rf"(?=(?:[–-]\d+(?:\.\d+)?(?:e[+-]?\d+)?)?[ \u00a0\u202f]?{_UNIT})"
    rf"|(?<=\d[–-])\d+\.\d+(?=[ \u00a0\u202f]?{_UNIT})"
    r"|(?<=\()\d+\.\d+(?=–\d)|(?<=\d–)\d+\.\d+(?=\))"  # an interval in brackets after its ratio
)


def with_comma(text: str) -> str:
    """Return a text whose figures have a decimal comma: ``15,1 ms`` for ``15.1 ms``."""
    return _FIGURE().sub(lambda found: found[0].replace(".", ","), text) if "." in text else text
