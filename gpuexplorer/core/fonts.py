"""Letters that the program brings along, for machines that lack them."""

from __future__ import annotations

from pathlib import Path

from gpuexplorer.core import language, resources

LATIN = "Inter"
CHINESE = "GPU Explorer Chinese"
FILES = {
    LATIN: ("Inter-Regular.ttf", "Inter-SemiBold.ttf"),
    CHINESE: ("chinese/GPUExplorerChinese-Regular.ttf", "chinese/GPUExplorerChinese-Bold.ttf"),
}
FIRST_WIDE = 0x2E80
"""Where Unicode's letters of East Asia begin."""


def files(family: str) -> list[Path]:
    """Return the files of one of these families, the usual weight first."""
    return [resources.folder() / "fonts" / name for name in FILES[family]]


def in_chinese() -> bool:
    """Return whether this process says what it says in Chinese."""
    return language.current().partition("_")[0] == "zh"


def is_wide(text: str) -> bool:
    """Return whether a text has letters of East Asia, which fonts for Latin ones lack."""
    return any(ord(letter) >= FIRST_WIDE for letter in text)
