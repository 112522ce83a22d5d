"""Make the README fit for a package index, where no file of the checkout stands beside it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

START = "packaging/index-start.md"
"""How to start where there is no checkout."""
_START = re.compile(r"^## Start\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"(!?)(\[[^\]]*\])\((?![a-z]+:|#)([^)\s]+)\)")
"""A link or a picture whose target is a file of the checkout."""


def index_page(readme: str, start: str, source: str, version: str) -> str:
    """Return the README with ``start`` for its own "Start", and every target as a whole address.

    ``source`` is the repository's address: its files are those of this version.
    """

    def whole(found: re.Match[str]) -> str:
        way = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}({source}/{way}/v{version}/{found[3]})"

    page = _START.sub(lambda _: f"## Start\n\n{start.strip()}\n\n", readme)
    return _TARGET.sub(whole, page)


class IndexPage(MetadataHookInterface):
    """Give the package its long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set ``readme``, which pyproject.toml declares as dynamic."""
        root = Path(self.root)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": index_page(
                (root / "README.md").read_text(encoding="utf-8"),
                (root / START).read_text(encoding="utf-8"),
                metadata["urls"]["Source"],
                metadata["version"],
            ),
        }
