"""A change of some knobs: what a piece of advice suggests, and a button or an option makes."""

from __future__ import annotations

from typing import Any

import msgspec

from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.config import Block, Cache
from gpuexplorer.core.knobs import block_words, by_axis, option_words, switch_value


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Knobs to set; whatever is None or empty stays as it is.

    ``threads`` counts CPU threads. A change of the variant keeps the block where the new variant
    has as many block axes, and takes the variant's own tunables.
    """

    variant: str | None = None
    block: Block | None = None
    size: dict[str, int] = {}
    precision: str | None = None
    tunables: dict[str, int] = {}
    cache: Cache | None = None
    include_transfers: bool | None = None
    threads: int | None = None
    switches: dict[str, bool | str] = {}

    @property
    def words(self) -> str:
        """The change in a few words, such as ``block 256×1``."""
        parts = []
        if self.variant is not None:
            parts.append(f"variant {self.variant}")
        if self.block is not None:
            parts.append(f"block {block_words(self.block)}")
        parts += [f"{symbol} = {value}" for symbol, value in self.size.items()]
        if self.precision is not None:
            parts.append(self.precision)
        parts += [f"{name} = {value}" for name, value in self.tunables.items()]
        if self.cache is not None:
            parts.append(f"{self.cache} cache")
        if self.include_transfers is not None:
            parts.append("with transfers" if self.include_transfers else "the kernel alone")
        if self.threads is not None:
            parts.append(threads_words(self.threads))
        for name, value in self.switches.items():
            parts.append(f"{name.replace('_', ' ')} {switch_value(value)}")
        return ", ".join(parts)

    @property
    def values(self) -> dict[str, Any]:
        """The knobs to set with their values, by axis."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return by_axis({name: value for name, value in fields.items() if value is not None})

    @property
    def options(self) -> str:
        """The change as command line options, such as ``--block 256x1``."""
        words = option_words({name: (value,) for name, value in self.values.items()})
        without = ["without --include-transfers"] if self.include_transfers is False else []
        return " ".join([*words, *without])
