"""A monkey at the window: random clicks, keys and drags on whatever can be used.

``python -m tests.chaos --monkey --minutes 60`` watches it: memory, complaints, hangs.
"""

from __future__ import annotations

import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.search.tune_sampler import SAMPLERS, check_sampler
from tests.chaos.puppet import Gone, Hung, Puppet
from tests.chaos.world import World

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication, QWidget

    from gpuexplorer.gui.main_window import MainWindow

STEP_MS = 40
ROUND = "round.gpux"
TABS = 12
ROUND_STEP_S = 60.0
ROUND_LIMIT_S = 300.0
"""The longest answer of a step of the round, which shows dozens of things one after the other."""
LOOK_S = 1.0
HANG_S = 5.0
"""The longest answer, less the time that a busy machine kept the window from a processor."""
SETTLED_AFTER_S = 600.0
"""What a window loads and caches in its first ten minutes is no growth; then it rests first."""
MOST_GROWTH_B = 5 << 20
REST_EVERY_S = 300.0
"""Between two rests, at which memory is compared: each shows the same session, and no more."""
HELD = ("used_B", "apart_B", "free_B", "objects_B", "arenas_B")
"""What the C library and Python say of their heaps at a rest."""
MOST, MORE_OBJECTS = "objects, more than ever:", 10_000
"""How the log of steps names a peak, and by how much more than the one before it is."""
OF_THE_TEST = "not accepted by receiving widget"
"""QTest says so of what it sends to a widget that does not want it."""
LEFT_ALONE = (
    "quit", "engines", "open_kernels", "open_model", "open_session", "import_runs", "self_test",
    "about",
)  # fmt: skip
"""Commands that end the window, start minutes of work, or ask for a file."""


class Monkey:
    """Lives in the window's process and does a step every so often."""

    def __init__(self, application: QApplication, window: MainWindow, seed: int) -> None:
        from PySide6.QtGui import QDesktopServices
        from PySide6.QtWidgets import QFileDialog

        self._application, self._window = application, window
        self._chance = random.Random(seed)
        self.steps = 0
        self._most = 0
        self.loose = False
        self._log = Path("../steps").open("w", encoding="utf-8", buffering=1)  # noqa: SIM115
        for name in LEFT_ALONE:  # neither by their menu nor by their key
            command = getattr(window.commands, name)
            command.setVisible(False)
            command.setEnabled(False)
        folder = window.settings.export_folder = Path.cwd()

        def save(*_: Any, **__: Any) -> tuple[str, str]:
            suffix = self._chance.choice(("json", "csv", "png", "gpux", "html"))
            return (
                (str(folder / f"monkey.{suffix}"), "") if self._chance.random() < 0.5 else ("", "")
            )

        never_ask_for_files()
        QFileDialog.getSaveFileName = save  # type: ignore[method-assign]
        QDesktopServices.openUrl = lambda *_: True  # type: ignore[method-assign]
        window.engine.show = lambda: None  # type: ignore[method-assign]
        window.engine.set_up = lambda *_: None  # type: ignore[method-assign]

    def start(self) -> None:
        """Begin once the window is up, or go on."""
        self.loose = True
        self._wait()

    def _wait(self) -> None:
        from PySide6.QtCore import QTimer

        # Another timer each time: one whose step shows a dialog comes again after its end alone.
        # Not the method itself: a connection to one of no QObject outlives its timer.
        QTimer.singleShot(STEP_MS, lambda: self._step())

    def _step(self) -> None:
        if not self._window.isVisible() or not self.loose:
            return
        self._wait()
        self.steps += 1
        do: Callable[[], None] = self._chance.choices(
            (self._click, self._key, self._drag, self._wheel, self._command),
            weights=(40, 25, 10, 10, 15),
        )[0]
        do()
        self._note_most()

    def _note_most(self) -> None:
        """Note when Python has more objects than ever: that makes room which stays."""
        objects = sys.getallocatedblocks()
        if objects > self._most + MORE_OBJECTS:
            self._most = objects
            self._note(f"{MOST} {objects}")

    def _target(self) -> QWidget:
        """Return a widget that can be used now: of what is in front, if something is.

        Not by ``findChildren``: what that returns Qt for Python keeps in Python as long as the
        window lives, widgets that are gone as well, and it would count as the window's growth.
        """
        front = self._application.activePopupWidget() or self._application.activeModalWidget()
        tops = [w for w in self._application.topLevelWidgets() if w.isVisible()]
        top = front or self._chance.choice([self._window, *tops])
        inside = [
            widget
            for widget in self._application.allWidgets()
            if widget.isVisible() and widget.isEnabled() and top.isAncestorOf(widget)
        ]
        chosen = self._chance.choice(inside) if inside else top
        self._note(f"{type(chosen).__name__} {chosen.objectName()}")
        return chosen

    def _note(self, words: str) -> None:
        self._log.write(f"{self.steps} {words}\n")

    def _place(self, widget: QWidget) -> Any:
        from PySide6.QtCore import QPoint

        size = widget.size()
        return QPoint(
            self._chance.randrange(max(1, size.width())),
            self._chance.randrange(max(1, size.height())),
        )

    def _click(self) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        widget, none = self._target(), Qt.KeyboardModifier.NoModifier
        button = Qt.MouseButton.LeftButton
        if self._chance.random() < 0.1:
            button = Qt.MouseButton.RightButton
        at = self._place(widget)

        def press(w: QWidget) -> None:
            QTest.mousePress(w, button, none, at)

        def again(w: QWidget) -> None:
            QTest.mouseDClick(w, button, none, at)

        def release(w: QWidget) -> None:
            QTest.mouseRelease(w, button, none, at)

        twice = self._chance.random() < 0.1
        while_there(widget, (press, release, again, release) if twice else (press, release))

    def _key(self) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        keys = (
            Qt.Key.Key_Escape, Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Space,
            Qt.Key.Key_Tab, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right,
            Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Home, Qt.Key.Key_End,
            Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_P, Qt.Key.Key_S, Qt.Key.Key_F,
            Qt.Key.Key_D, Qt.Key.Key_1, Qt.Key.Key_6, Qt.Key.Key_0, Qt.Key.Key_Comma,
        )  # fmt: skip
        key = self._chance.choice(keys)
        while_there(
            self._target(), (lambda w: QTest.keyPress(w, key), lambda w: QTest.keyRelease(w, key))
        )

    def _drag(self) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        widget = self._target()
        left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier

        def press(w: QWidget) -> None:
            QTest.mousePress(w, left, none, self._place(w))

        def move(w: QWidget) -> None:
            QTest.mouseMove(w, self._place(w))

        def release(w: QWidget) -> None:
            QTest.mouseRelease(w, left, none, self._place(w))

        while_there(widget, (press, *[move] * self._chance.randrange(4), release))

    def _wheel(self) -> None:
        from PySide6.QtCore import QPoint, QPointF, Qt
        from PySide6.QtGui import QWheelEvent
        from PySide6.QtWidgets import QApplication

        widget = self._target()
        at = QPointF(self._place(widget))
        event = QWheelEvent(
            at, widget.mapToGlobal(at), QPoint(), QPoint(0, self._chance.choice((-120, 120))),
            Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        QApplication.sendEvent(widget, event)

    def _command(self) -> None:
        from PySide6.QtCore import Qt
        from PySide6.QtGui import QAction

        if self._application.activePopupWidget() or self._application.activeModalWidget():
            return
        actions = [
            action
            for action in self._window.findChildren(
                QAction, options=Qt.FindChildOption.FindDirectChildrenOnly
            )
            if action.isEnabled()
        ]
        chosen = self._chance.choice(actions)
        self._note(f"command {chosen.text()}")
        chosen.trigger()


def never_ask_for_files() -> None:
    """Answer whatever asks for a file or folder as if Cancel was pressed.

    Qt's own dialog renames and deletes what it lists, and what it lists may be the whole system.
    """
    from PySide6.QtWidgets import QFileDialog

    for name in [name for name in dir(QFileDialog) if name.startswith("get")]:
        nothing: Any = ("", "")
        if name.startswith("getExistingDirectory"):
            nothing = ""
        elif name.endswith(("Names", "Urls")):
            nothing = ([], "")
        setattr(QFileDialog, name, lambda *_, nothing=nothing, **__: nothing)


def while_there(widget: QWidget, acts: Sequence[Callable[[QWidget], None]]) -> None:
    """Do one thing after the other to a widget; stop when it is gone, as a press may delete it."""
    import shiboken6
    from PySide6.QtWidgets import QApplication

    for act in acts:
        if not shiboken6.isValid(widget) or widget not in QApplication.allWidgets():
            return
        act(widget)


def _kept_from_processor_s(pid: int) -> float:
    """Return how long a process's main thread has waited for a processor while it could run."""
    try:
        words = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return int(words[1]) * 1e-9


def own_memory_B(process: psutil.Process) -> int:
    """Return the bytes that a process has written itself.

    The pages of libraries are left out where the system tells them apart: they count as one
    process's own whenever no other happens to have the same library loaded.
    """
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return int(process.memory_full_info().uss)
    found = {name: rest for name, _, rest in (line.partition(":") for line in lines)}
    return sum(int(found[name].split()[0]) << 10 for name in ("Anonymous", "Swap"))


def settle(puppet: Puppet) -> list[str]:
    """Wait until nothing is being done, and stop what takes too long; return the complaints."""
    complaints: list[str] = []
    limit = time.monotonic() + ROUND_STEP_S
    while time.monotonic() < limit:
        state = puppet.ask("state", 10 * HANG_S)
        complaints += state["complaints"]
        idle = state["engine"] == "ready" and not state["job"] and not state["writing"]
        if idle and not state["waiting"]:
            return complaints
        time.sleep(0.1)
    puppet.ask("stop", 10 * HANG_S)
    return complaints


class Rest(NamedTuple):
    """What the window holds in bytes while it shows no more than at other rests."""

    memory: dict[str, int]
    loaded: list[str]
    """Packages that were loaded since the rest before: they take memory for good."""
    complaints: list[str]


def rest(puppet: Puppet, process: psutil.Process, file: Path, session: bytes) -> Rest:
    """Have it show the ``session`` of its round and nothing else.

    What is shown takes memory as long as it is shown: long runs, ghosts, maps. Between two times
    that the same is shown only what was forgotten makes a difference. A monkey may have saved
    something else to the session's ``file``.
    """
    puppet.ask("sit_down", 10 * HANG_S)
    complaints = settle(puppet)
    for _ in range(2):  # what the first puts aside can be gone back to; the second has that go
        file.write_bytes(session)
        puppet.ask("open", 10 * HANG_S, path=file.name)
        complaints += settle(puppet)
    held = puppet.ask("tidy", 10 * HANG_S)
    memory = {"process_B": own_memory_B(process)}
    memory |= {name: held[name] for name in HELD if name in held}
    puppet.ask("live", 10 * HANG_S, on=True)
    puppet.ask("let_loose", 10 * HANG_S)
    return Rest(memory, held["loaded"], complaints)


def go_round(puppet: Puppet) -> list[str]:
    """Use everything once, so that what is loaded for its first use is loaded.

    One of the sweeps is as wide as those that a monkey comes upon now and then: room that was taken
    once is used again, and what is taken later is forgotten somewhere.
    Returns what was complained of meanwhile.
    """
    complaints: list[str] = []

    complaints += settle(puppet)
    puppet.ask("live", ROUND_LIMIT_S, on=True)
    for number in range(TABS):
        puppet.ask("tab", ROUND_LIMIT_S, number=number)
    for do in ("sweep", "wide_sweep", "block_map", "compare", "study", "pin"):
        puppet.ask(do, ROUND_LIMIT_S)
        complaints += settle(puppet)
    for sampler in filter(is_there, SAMPLERS):
        puppet.ask("tune", ROUND_LIMIT_S, sampler=sampler)
        complaints += settle(puppet)
    puppet.ask("sample", ROUND_LIMIT_S)
    for suffix in ("png", "svg", "pdf", "csv", "json"):
        puppet.ask("export", ROUND_LIMIT_S, path=f"round.{suffix}")
        complaints += settle(puppet)
    for do in ("save", "open"):
        puppet.ask(do, ROUND_LIMIT_S, path=ROUND)
        complaints += settle(puppet)
    puppet.ask("back", ROUND_LIMIT_S)
    puppet.ask("look_around", ROUND_LIMIT_S)
    return [f"on its round: {words}" for words in complaints]


def is_there(sampler: str) -> bool:
    """Return whether the window offers a sampler: what it needs is installed."""
    try:
        check_sampler(sampler)
    except ExplorerError:
        return False
    return True


def _growth_B(rests: Sequence[int]) -> int:
    """Return by how much the rests differ from first to last, by the median of all slopes.

    (Theil and Sen.) A single rest after which a heap happens to lie badly decides nothing.
    """
    slopes = [
        (later - earlier) / (j - i)
        for (i, earlier), (j, later) in itertools.combinations(enumerate(rests), 2)
    ]
    return round(statistics.median(slopes) * (len(rests) - 1)) if slopes else 0


def _peaks(steps: Sequence[str]) -> list[list[str]]:
    """Return each step after which there were more objects than ever, and what was done before."""
    return [list(steps[max(0, i - 3) : i + 1]) for i, step in enumerate(steps) if MOST in step]


def _in_MiB(held: Mapping[str, int]) -> dict[str, float]:
    return {name.removesuffix("_B"): round(size / 2**20, 1) for name, size in held.items()}


def watch(seed: int, minutes: float, display: str) -> dict[str, Any]:
    """Let a monkey loose for so long; return what came of it."""
    world = World()
    wrong: list[str] = []
    memory: list[tuple[float, int]] = []
    rests: list[dict[str, int]] = []
    slowest_s = longest_s = 0.0
    steps, peaks = 0, list[list[str]]()
    try:
        puppet = Puppet(
            "tests.chaos.puppet_window", world.work,
            world.environment(DISPLAY=display, QT_QPA_PLATFORM="xcb"), world.root / "said",
            "--monkey", str(seed),
        )  # fmt: skip
        process, began = psutil.Process(puppet.pid), time.monotonic()
        for _ in range(2):  # the second time everything it needs is loaded
            wrong += go_round(puppet)
        session = (world.work / ROUND).read_bytes()
        puppet.ask("let_loose", ROUND_LIMIT_S)
        while (passed_s := time.monotonic() - began) < minutes * 60:
            asked, kept_s = time.monotonic(), _kept_from_processor_s(puppet.pid)
            try:
                state = puppet.ask("state", 10 * HANG_S)
            except (Gone, Hung) as end:
                puppet.wait_gone(HANG_S)
                ended = f"{type(end).__name__}, {puppet.process.poll()}"
                last = (world.root / "steps").read_text(encoding="utf-8").splitlines()[-8:]
                where = puppet.abort()[-80:]
                wrong.append(f"after {passed_s:.0f} s: {ended}: {where}: {last}")
                break
            took_s = time.monotonic() - asked
            longest_s = max(longest_s, took_s)
            took_s -= _kept_from_processor_s(puppet.pid) - kept_s
            slowest_s = max(slowest_s, took_s)
            steps = state["steps"]
            if took_s > HANG_S:
                wrong.append(f"after {passed_s:.0f} s it did not answer for {took_s:.1f} s")
            wrong += [
                f"after {passed_s:.0f} s: {words}"
                for words in state["complaints"]
                if OF_THE_TEST not in words
            ]
            memory.append((passed_s, own_memory_B(process)))
            if passed_s >= SETTLED_AFTER_S + REST_EVERY_S * len(rests):
                found = rest(puppet, process, world.work / ROUND, session)
                new = f", loaded since: {' '.join(found.loaded)}" if rests and found.loaded else ""
                rests.append(found.memory)
                told = _in_MiB(found.memory)
                sys.stderr.write(f"after {passed_s:.0f} s at rest: {told}{new}\n")
                wrong += [f"at rest {len(rests)}: {words}" for words in found.complaints]
            time.sleep(LOOK_S)
        if puppet.alive:
            if rests:
                rests.append(rest(puppet, process, world.work / ROUND, session).memory)
            code = puppet.end(30.0)
            wrong += [] if code == 0 else [f"it closed with {code}"]
        peaks = _peaks((world.root / "steps").read_text(encoding="utf-8").splitlines())
        wrong += [f"it said {line!r}" for line in puppet.said()]
        wrong += [f"process {pid} is left" for pid in world.wait_for_none()]
    finally:
        world.close()
    growth_B = _growth_B([held["process_B"] for held in rests])
    if growth_B > MOST_GROWTH_B:
        wrong.append(f"it grew by {growth_B / 2**20:.1f} MiB")
    return {
        "monkey": True, "seed": seed, "minutes": minutes, "steps": steps,
        "slowest_answer_s": round(slowest_s, 2), "slowest_with_waiting_s": round(longest_s, 2),
        "growth_MiB": round(growth_B / 2**20, 2),
        "at_rest_MiB": {
            name: [_in_MiB(held).get(name, 0.0) for held in rests]
            for name in ("process", *(name.removesuffix("_B") for name in HELD))
        },
        "most_objects": peaks[-12:],
        "memory_MiB": [round(used / 2**20, 1) for _, used in memory[:: max(1, len(memory) // 20)]],
        "wrong": wrong[:50], "ok": not wrong,
    }  # fmt: skip
