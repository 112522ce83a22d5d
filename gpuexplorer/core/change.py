"""A change of some knobs: what a piece of advice suggests, and a button or an option makes."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.config import Block, Cache


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
            parts.append(f"{self.threads} CPU thread{'s' if self.threads > 1 else ''}")
        for name, value in self.switches.items():
            parts.append(f"{name.replace('_', ' ')} {switch_value(value)}")
        return ", ".join(parts)

    @property
    def options(self) -> str:
        """The change as command line options, such as ``--block 256x1``."""
        parts = []
        if self.variant is not None:
            parts.append(f"--variant {self.variant}")
        if self.size:
            parts.append("--size " + ",".join(f"{s}={v}" for s, v in self.size.items()))
        if self.block is not None:
            parts.append(f"--block {block_words(self.block, 'x')}")
        if self.precision is not None:
            parts.append(f"--precision {self.precision}")
        parts += [f"--set {name}={value}" for name, value in self.tunables.items()]
        if self.cache is not None:
            parts.append(f"--cache {self.cache}")
        if self.include_transfers is not None:
            on = self.include_transfers
            parts.append("--include-transfers" if on else "without --include-transfers")
        if self.threads is not None:
            parts.append(f"--threads {self.threads}")
        parts += [f"--switch {name}={switch_value(v)}" for name, v in self.switches.items()]
        return " ".join(parts)


def switch_value(value: object) -> str:
    """Return a switch's value as the command line takes it: ``on``, ``off``, or its word."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def block_words(block: Block, sign: str = "×") -> str:
    """Return ``16×16`` for (16, 16, 1); two axes are always named."""
    axes = block if block[2] > 1 else block[:2]
    return sign.join(map(str, axes))
