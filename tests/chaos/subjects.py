"""What can be struck, by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.chaos.api import Api
from tests.chaos.driver import Subject
from tests.chaos.store import Store
from tests.chaos.terminal import Terminal
from tests.chaos.window import Window

SUBJECTS: dict[str, Callable[[], Subject]] = {
    "terminal": Terminal,
    "api": Api,
    "store": Store,
    "window": Window,
}
