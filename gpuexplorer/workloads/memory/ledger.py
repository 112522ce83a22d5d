"""A ledger of what is held while a launch goes on, by part; it remembers its largest moment."""

from __future__ import annotations

from gpuexplorer.core.memory import PARTS, MemoryParts


class Ledger:
    """What is taken and given back, in the order a program does it; all amounts in bytes."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, float]] = {}
        self._now = dict.fromkeys(PARTS, 0.0)
        self._peak = dict(self._now)

    @property
    def now_B(self) -> float:
        """What is held at this moment."""
        return sum(self._now.values())

    @property
    def peak(self) -> MemoryParts:
        """What was held at the largest moment so far, by part."""
        return MemoryParts.of(self._peak)

    def take(self, name: str, nbytes: float, part: str = "activations") -> str:
        """Hold ``nbytes`` more under a name that is free; return the name."""
        if name in self._held:
            raise ValueError(f"'{name}' is held already")
        self._held[name] = (part, nbytes)
        self._now[part] += nbytes
        if self.now_B > sum(self._peak.values()):
            self._peak = dict(self._now)
        return name

    def held(self, name: str) -> tuple[str, float]:
        """Return the part and the bytes of what is held under a name."""
        return self._held[name]

    def give(self, *names: str) -> None:
        """Let go of what is held under these names."""
        for name in names:
            part, nbytes = self._held.pop(name)
            self._now[part] -= nbytes
