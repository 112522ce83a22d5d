"""Put the kernels and resources into the wheel; a development install reads the checkout's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("kernels", "resources")
NOT_READ = "resources/screenshots/"
"""What the README shows, and nothing that runs ever opens."""


class DataHook(BuildHookInterface[Any]):
    """Ship the repository's data folders as ``gpuexplorer/_data``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files that git keeps, unless this wheel is the editable one.

        There a copy would grow stale.
        """
        if version != "standard":
            return
        root = Path(self.root)
        for folder in FOLDERS:
            for path in sorted((root / folder).rglob("*")):
                name = path.relative_to(root).as_posix()
                # A folder that is forced in would bring what an editor left there, too.
                ignored = self.build_config.path_is_excluded(name)
                if path.is_file() and not ignored and not name.startswith(NOT_READ):
                    build_data["force_include"][name] = f"gpuexplorer/_data/{name}"
