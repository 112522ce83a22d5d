"""The window's commands with their words, keys and tips; what they do is the window's to say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from gpuexplorer.core.language import tr
from gpuexplorer.core.language.available import SYSTEM, languages
from gpuexplorer.gui.places import Places
from gpuexplorer.gui.settings import TEXT_SIZES
from gpuexplorer.gui.theme import CHOICES, Choice

Key = TypeVar("Key")
THEME_WORDS: dict[Choice, str] = {
    "system": "System colours", "light": "Light", "dark": "Dark", "contrast": "High contrast",
}  # fmt: skip
VIEW_TIPS = {
    "Live": "The time per launch and the memory traffic, while they are measured",
    "Block map": "Every block that can be launched, as a map of its time",
    "Roofline": "What this device can do at most, and where the runs stand",
    "Sweep": "Measure every combination of some knobs' values, and see the landscape",
    "Tune": "Search blocks and tunables for the fastest, and keep what was found",
    "Compare": "Measure some configurations in turns until it is clear which is faster",
    "Lab": "Studies: precision, switches, speed-up and scaling, measured in turns",
    "Kernel": "The source, what the compiler made of it, and what limits its occupancy",
    "Accesses": "What a warp asks of memory: sectors, banks and lanes, line by line",
    "Operators": "Which operators of a model take the time",
    "Lessons": "Questions to guess, measure and understand, one after the other",
}
VIEW_KEYS = {"Sweep": "S", "Tune": "Ctrl+T", "Lessons": "L"}
"""Keys of views beside those by their numbers."""
THREADS_TIP = (
    "How many CPU threads a kernel may use on the processor; recorded with every run.\n"
    "Choosing one restarts the engine. With every core taken, a busy window disturbs the\n"
    "medians, up to twofold; that is why one core is left over by default."
)


def when(action: QAction, run: Callable[[], object]) -> None:
    """Have an action do something."""
    action.triggered.connect(lambda _=False: run())


class Commands:
    """One ``QAction`` for each thing the window can do, owned by the window.

    ``threads`` are the numbers of CPU threads to choose from, ``default_threads`` the one taken
    where none was chosen.
    """

    def __init__(self, window: QWidget, threads: Sequence[int], default_threads: int) -> None:
        self._window = window
        self._tips: dict[QAction, str] = {}
        make = self._make
        self.live = make(
            "Live",
            "Measure until stopped; a moved knob restarts by itself",
            "Space",
            checkable=True,
        )
        self.stop = make(
            "Stop", "End it at the next launch boundary; what was measured is kept", "Esc"
        )
        self.pin = make("Pin", "Keep this run as a ghost beside the next ones", "P")
        self.analyse = make(
            "Analyse with Nsight Compute",
            "Run one launch of this configuration under ncu and show exactly how many bytes it\n"
            "moves (NVIDIA GPUs); measuring stops meanwhile",
            "Ctrl+N",
        )
        self.use_tuned = make(
            "Use tuned",
            "Set the block and the tunables to what the last tuning of this problem found",
            "Ctrl+U",
        )
        self.device_plots = make(
            "Device over time",
            "Show or hide all figures of the device over the plots' time axis",
            "D",
            checkable=True,
        )
        self.export = make(
            "Export…", "Save what is shown: picture, drawing, document, table, report", "Ctrl+E"
        )
        self.report = make(
            "Report…",
            "Save what is shown as one page with charts, figures and all samples",
            "Ctrl+R",
        )
        self.import_runs = make(
            "Import runs…",
            "Take runs into the history: documents of this program, NVBench's JSON,\n"
            "Kernel Tuner's caches, Parquet tables",
            "Ctrl+I",
        )
        self.undo = make("Undo", "Take the last knob back", "Ctrl+Z")
        self.redo = make("Redo", "Turn the knob again", "Ctrl+Shift+Z")
        self.copy_command = make("Copy command line", "Copy this run as a command", "Ctrl+Shift+C")
        self.copy_script = make("Copy Python script", "Copy this run as a script", "Ctrl+Shift+P")
        self.open_kernels = make(
            "Open kernels folder…", "Add a folder of your own workloads", "Ctrl+Shift+O"
        )
        self.open_lessons = make(
            "Open lessons folder…", "Add a folder of your own lessons to Learn", "Ctrl+Shift+L"
        )
        self.present = make(
            "Present",
            "Show the knobs and one chart alone on the whole screen, in large letters; Esc ends it",
            "F11",
            checkable=True,
        )
        self.open_model = make(
            "Open model or CUDA file…",
            "Run a file of your own: a CUDA kernel (.cu), or Python whose build() returns a "
            "PyTorch module and example inputs",
            "Ctrl+M",
        )
        self.paste_source = make(
            "Paste CUDA source",
            "Run a kernel that was copied elsewhere, its text or its file",
            "Ctrl+V",
        )
        self.open_session = make(
            "Open session…",
            "Show a saved session; nothing is measured until you go live",
            "Ctrl+O",
        )
        self.save_session = make(
            "Save session…", "Keep knobs, ghosts and the runs shown in one file", "Ctrl+S"
        )
        self.save_session_as = make(
            "Save session as…", "Keep the session in another file", "Ctrl+Shift+S"
        )
        self.session_notes = make("Session notes…", "A text to go with the session file")
        self.reload_kernels = make("Reload kernels", "Read all kernel folders again", "F5")
        self.quit = make("Quit", "Close the window", "Ctrl+Q")
        self.live_at_start = make(
            "Start live by itself",
            "Begin measuring as soon as a device is found",
            checkable=True,
        )
        self.calibrates_when_idle = make(
            "Calibrate by itself",
            "Measure a new device's roofs for five seconds when nothing else is measured, once",
            checkable=True,
        )
        self.waits_for_others = make(
            "Wait while others use the device",
            "Before each run wait until no other program works on the GPU, or keeps the CPU busy;\n"
            "otherwise both measure at once, and it is only said",
            checkable=True,
        )
        self.leaves_processor = make(
            "Leave the CPU to others first",
            "Start the engine with nice 10: other programs come first, and what is measured on the "
            "CPU waits for them",
            checkable=True,
        )
        self.engines = make(
            "Engines…",
            "Measure in another Python, with its frameworks and its CUDA: add, check, choose",
            "Ctrl+Shift+E",
        )
        self.restart_engine = make("Restart engine", "End the engine process and start a fresh one")
        self.threads = self._one_of(
            {
                number: make(
                    f"{number} (default)" if number == default_threads else str(number),
                    THREADS_TIP,
                    name=f"threads_{number}",
                    checkable=True,
                )
                for number in threads
            }
        )
        self.themes = self._one_of(
            {
                choice: make(
                    THEME_WORDS[choice],
                    "Colours of the window",
                    name=f"theme_{choice}",
                    checkable=True,
                )
                for choice in CHOICES
            }
        )
        self.text_sizes = self._one_of(
            {
                size: make(
                    f"{size * 100:.0f} %",
                    "The size of text and of everything else in the window, from the next start\n"
                    "on; Restart now starts again at once, with everything that is shown",
                    name=f"text_{size * 100:.0f}",
                    checkable=True,
                )
                for size in TEXT_SIZES
            }
        )
        self.languages = self._one_of(
            {
                name: make(
                    title,
                    "The language of the window, at once, with everything that is shown; files\n"
                    "and documents are the same in every language",
                    name=f"language_{name}",
                    checkable=True,
                )
                for name, title in {SYSTEM: "As the system", **languages()}.items()
            }
        )
        self.palette = make("Find a command…", "Do anything by typing a part of its name", "Ctrl+K")
        self.next_view = make("Next view", "Show the view to the right", "Ctrl+Tab")
        self.previous_view = make("Previous view", "Show the view to the left", "Ctrl+Shift+Tab")
        self.follow = make("Follow newest samples", "Fit both plots again", "F")
        self.help = make("Help", "The page on what has the focus, or on the view in front", "F1")
        self.help.setShortcutContext(Qt.ShortcutContext.ApplicationShortcut)  # dialogs too
        self.self_test = make(
            "Self-test…", "Kernels, memory, timing, telemetry and faults of this device, tested"
        )
        self.doctor = make(
            "Doctor…", "What is installed, what is missing and what to do; a report to copy"
        )
        self.about = make("About GPU Explorer", "Its version, and those of what it stands on")

    def views(self, places: Places) -> dict[str, list[QAction]]:
        """Return for each place the actions that show its views, the first nine with a key."""
        found: dict[str, list[QAction]] = {}
        views = iter(enumerate(places.views))
        for place, titles in places.titles.items():
            for title in titles:
                number, view = next(views)
                key = f"Ctrl+{number + 1}" if number < 9 else ""
                action = self._make(title, VIEW_TIPS[title], key, name=f"view_{number}")
                if title in VIEW_KEYS:
                    action.setShortcuts([*action.shortcuts(), QKeySequence(VIEW_KEYS[title])])
                when(action, partial(places.show_view, view))
                found.setdefault(place, []).append(action)
        return found

    def panel(self, words: str, widget: QWidget) -> QAction:
        """Return an action that shows and hides a part of the window."""
        action = self._make(words, f"Show or hide: {words}", checkable=True)
        action.setChecked(True)
        action.toggled.connect(widget.setVisible)
        return action

    def allow(self, action: QAction, reason: str = "") -> None:
        """Let a command be given, or make it grey with the reason in its tips."""
        lines = [*self._tips[action].splitlines(), *([reason] if reason else [])]
        action.setEnabled(not reason)
        told = tr("\n".join(lines))
        line = tr(reason) or " ".join(told.splitlines())
        action.setToolTip(told)
        action.setStatusTip(line)

    def _make(
        self, words: str, tip: str, key: str = "", *, name: str = "", checkable: bool = False
    ) -> QAction:
        action = QAction(tr(words), self._window)
        if key:
            action.setShortcut(QKeySequence(key))
            tip = f"{tip} ({QKeySequence(key).toString()})"
        self._tips[action] = tip
        self.allow(action)
        action.setObjectName(name)
        action.setCheckable(checkable)
        return action

    def _one_of(self, actions: dict[Key, QAction]) -> dict[Key, QAction]:
        """Let only one of them be checked."""
        group = QActionGroup(self._window)
        for action in actions.values():
            group.addAction(action)
        return actions
