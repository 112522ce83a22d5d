"""The hand on mouse and keyboard: every action is one click or one chord."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.puppet import Puppet

FOUND_S = 30.0
"""How long something that is to be clicked may take to appear."""
LOOK_S = 0.05


class Missing(Exception):
    """What a user would look for is not on the screen."""


@dataclass
class Hand:
    """Acts through the X server on what the eyes see, and writes a picture before each action."""

    puppet: Puppet
    display: str
    folder: Path
    actions: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    pictures: int = 0

    def look(self, *kinds: str) -> list[tuple[str, str, list[int]]]:
        """Return what is seen: kind, words and place (middle x and y, width, height in pixels)."""
        answer = self.puppet.ask("look", 20.0, kinds=list(kinds))
        return [(kind, words, where) for kind, words, where in answer["seen"]]

    def words(self) -> str:
        """Return all words on the screen."""
        return "\n".join(words for _, words, _ in self.look())

    def until(self, condition: Callable[[], Any], what: str, limit_s: float = FOUND_S) -> Any:
        """Look until a condition holds and return what it gave; raises Missing."""
        ends = time.monotonic() + limit_s
        while not (answer := condition()):
            if time.monotonic() > ends:
                self.picture("missing")
                raise Missing(f"not on the screen within {limit_s:g} s: {what}")
            time.sleep(LOOK_S)
        return answer

    def until_words(self, *texts: str, limit_s: float = FOUND_S) -> str:
        """Wait until one of several texts can be read and return the line it stands in."""

        def line() -> str:
            return next(
                (words for _, words, _ in self.look() for text in texts if text in words), ""
            )

        found: str = self.until(line, " or ".join(texts), limit_s)
        return found

    def find(self, text: str, kinds: Sequence[str], limit_s: float = FOUND_S) -> list[int]:
        """Return where something lies; what is named so exactly comes before what begins so."""

        def found() -> list[int] | None:
            things = [
                (words, where)
                for _, words, where in self.look(*kinds)
                if where[2] > 3 and where[3] > 3
            ]
            for fits in (str.__eq__, str.startswith, str.__contains__):
                for words, where in things:
                    if fits(words, text):
                        return where
            return None

        where: list[int] = self.until(found, f"{' or '.join(kinds)} {text!r}", limit_s)
        return where

    def click(self, text: str, *kinds: str, double: bool = False, held: str = "") -> None:
        """Click something: one action."""
        x, y, *_ = self.find(text, kinds or ("button", "tab", "item", "row", "choice"))
        self._acts(f"{'double click' if double else 'click'} {text}")
        self._tool("mousemove", str(x), str(y))
        if held:
            self._tool("keydown", held)
        self._tool("click", *(("--repeat", "2", "--delay", "60") if double else ()), "1")
        if held:
            self._tool("keyup", held)

    def open_list(self, label: str) -> None:
        """Open the list that stands beside a label: one action."""
        x, y, width, _ = self.find(label, ("words",))

        def beside() -> list[int] | None:
            right = [
                where
                for _, _, where in self.look("choice")
                if where[0] > x + width // 2 and abs(where[1] - y) < where[3]
            ]
            return min(right, key=lambda where: where[0], default=None)

        x, y, *_ = self.until(beside, f"the list beside {label!r}")
        self._acts(f"open {label}")
        self._tool("mousemove", str(x), str(y), "click", "1")

    def press(self, chord: str) -> None:
        """Press a chord such as ctrl+e: one action."""
        self._acts(f"press {chord}")
        self._tool("key", "--clearmodifiers", chord)

    def picture(self, name: str) -> Path:
        """Write what the screen shows."""
        self.pictures += 1
        plain = "".join(c if c.isalnum() else "-" for c in name)[:40]
        path = self.folder / f"{self.pictures:02d}-{plain}.png"
        subprocess.run(
            ["import", "-window", "root", str(path)],
            env=self._environment(),
            check=True,
            timeout=30,
        )
        return path

    def _acts(self, what: str) -> None:
        """Note an action, with a picture of what is seen before it."""
        self.actions.append(what)
        self.picture(what)

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, "DISPLAY": self.display}

    def _tool(self, *words: str) -> None:
        subprocess.run(["xdotool", *words], env=self._environment(), check=True, timeout=30)
