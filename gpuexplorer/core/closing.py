"""What is closed at the end of a ``with`` statement."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """Something with an end; use it in a ``with`` statement, or close it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; calling it twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()
