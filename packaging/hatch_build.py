"""Put the kernels and resources into the wheel; a development install reads the checkout's."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DataHook(BuildHookInterface[Any]):  # type: ignore[misc]  # hatchling is absent in checks
    """Ship the repository's data folders as ``gpuexplorer/_data``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folders, unless this wheel is the editable one: a copy would grow stale there."""
        if version == "standard":
            for folder in ("kernels", "resources"):
                build_data["force_include"][folder] = f"gpuexplorer/_data/{folder}"
