"""The real window, which does what it is told as a user would; see ``window`` for the driver.

Told to say its state it tells what it shows and holds, and what Qt and Python complained of.
"""

from __future__ import annotations

import gc
import importlib
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from PySide6.QtCore import QEventLoop, QSocketNotifier, Qt, QTimer, qInstallMessageHandler
from PySide6.QtGui import QAction, QFontDatabase, QPixmapCache
from PySide6.QtWidgets import QApplication, QMenu

from gpuexplorer.core import resources
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui import app
from gpuexplorer.gui.allocator import give_back
from gpuexplorer.gui.export import exported_runs
from gpuexplorer.gui.help import PAGES
from gpuexplorer.gui.restart import Restart
from gpuexplorer.gui.theme import forget_styles
from gpuexplorer.gui.widgets.late import LateView
from gpuexplorer.history.store import Store
from tests.chaos.monkey import Monkey
from tests.chaos.puppet import Strings
from tests.support.heap import heap, python_heap

PATIENCE_S = 3.0
"""How long an action waits for what it needs; without it the action is left out."""
ROUND_PATIENCE_S = 30.0
"""... and on a monkey's round, which leaves nothing out."""
LATE = (
    "gpuexplorer.exchange.parquet", "gpuexplorer.gui.cluster_job", "gpuexplorer.gui.code.pasted",
    "gpuexplorer.gui.panels.engines", "gpuexplorer.gui.panels.kernel_sheet",
    "gpuexplorer.gui.panels.own_model", "gpuexplorer.gui.views.selftest", "optuna.samplers",
)  # fmt: skip
"""Modules of what a round does not use, since it asks for a file, a cluster or minutes."""
RESTARTS = "the engine is restarting"
"""What the status line says of an engine that is lost; a banner says so where it is missed."""
ROWS = 6
RESTS_S = 20.0
"""How long the store may take until it rests."""
SEEN_S = 0.2
"""How long something is shown so that it is painted."""


class Puppet:
    """The window, and the ears that hear what it says."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.notices: list[tuple[str, str]] = []
        qInstallMessageHandler(lambda kind, context, text: self.complaints.append(f"Qt: {text}"))
        # Another size of text would be shown by another process, and this one be gone.
        Restart.begin = lambda restart, *, in_place=False: None  # type: ignore[assignment, method-assign]
        self.application, self.window = app.create([])
        self.monkey: Monkey | None = None
        self._loaded: set[str] = set()
        self._size = self.window.size()
        self._checked = {a: a.isChecked() for a in self._choices()}
        """What can be switched on and off, as it is at first."""
        app._catch_all(self.window)
        app._close_on_interrupt(self.window)
        self.window.sessions.may_close = lambda: True  # type: ignore[method-assign]
        self._true_hook, sys.excepthook = sys.excepthook, self._hook
        self._ticks = QTimer()  # as the program has it, so that Python sees Ctrl-C
        self._ticks.timeout.connect(lambda: None)
        self._ticks.start(500)
        banner = self.window.banner
        true_say = banner.say

        def say(kind: str, text: str, *rest: Any, **named: Any) -> None:
            self.notices.append((kind, text))
            true_say(kind, text, *rest, **named)

        banner.say = say  # type: ignore[method-assign]
        true_line = self.window.session.say

        def line(words: str) -> None:
            if words == RESTARTS:
                self.notices.append(("status", words))
            true_line(words)

        self.window.session.say = line  # type: ignore[method-assign]

    def _hook(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self.complaints.append("".join(traceback.format_exception(kind, error, trace)))
        self._true_hook(kind, error, trace)

    # ---- waiting

    def see(self) -> None:
        """Look at the window for a moment."""
        began = time.monotonic()
        self._handle_events(lambda: time.monotonic() - began > SEEN_S)

    def until(self, condition: Callable[[], bool], limit_s: float | None = None) -> bool:
        """Handle events until a condition holds; return whether it did in time.

        On a monkey's round nothing is left out without a word.
        """
        if limit_s is None:
            limit_s = PATIENCE_S if self.monkey is None else ROUND_PATIENCE_S
        ends = time.monotonic() + limit_s
        self._handle_events(lambda: condition() or time.monotonic() > ends)
        found = condition()
        if not found and self.monkey is not None:
            where, session = sys._getframe(1), self.window.session
            job = session.jobs.current.doing if session.jobs.current is not None else "no job"
            self.complaints.append(
                f"{where.f_code.co_name} waited in vain at line {where.f_lineno}: engine "
                f"{session.engine_state}, live {session.live}, {job}"
            )
        return found

    @staticmethod
    def _handle_events(done: Callable[[], bool]) -> None:
        loop = QEventLoop()
        timer = QTimer()
        timer.timeout.connect(lambda: loop.quit() if done() else None)
        timer.start(5)
        if not done():
            loop.exec()
        timer.stop()

    # ---- what it shows

    def state(self) -> dict[str, Any]:
        """Return what is shown, held and complained of; notices and complaints once."""
        window, session = self.window, self.window.session
        run = session.live_model.current
        record = run.record if run is not None else None
        keeper = session.runs._keeper
        notices, self.notices = self.notices, []
        complaints, self.complaints = self.complaints, []
        return {
            "engine": session.engine_state,
            "live": session.live,
            "job": session.jobs.current.doing if session.jobs.current is not None else "",
            "writing": window.exporter.busy or window.sessions.busy,
            "shown": window.banner.text,
            "notices": notices,
            "complaints": complaints,
            "run": record.id if record is not None else "",
            "samples": record.samples if record is not None else 0,
            "over": run is None or run.over,
            "waiting": keeper.waiting,
            "trouble": str(session.runs.trouble.error) if session.runs.trouble else "",
            "ended": {
                entry.id: entry.sampled for entry in session.history if not entry.running
            },
            "stored": sorted(keeper.held),
            "steps": self.monkey.steps if self.monkey is not None else 0,
        }  # fmt: skip

    # ---- what a user does

    def knob(self, name: str, value: Any) -> None:
        """Turn a knob."""
        experiment = self.window.session.experiment
        if name == "block":
            experiment.set_block(tuple(value))
        elif name == "size":
            experiment.set_size("N", value)
        elif name == "variant":
            experiment.set_workload(value)
        elif name == "undo":
            experiment.undo()

    def live(self, on: bool) -> None:
        """Start or stop live measuring."""
        self.window.session.set_live(on)

    def stop(self) -> None:
        """Press Esc."""
        self.window.commands.stop.trigger()

    def pin(self) -> None:
        """Press P."""
        self.window.commands.pin.trigger()

    def unpin(self) -> None:
        """Let the first ghost go."""
        for pin in self.window.session.live_model.pins[:1]:
            self.window.unpin(pin.number)

    def sweep(
        self, sides: Sequence[int] = (16, 32, 64), axes: Sequence[str] = ("block.x",)
    ) -> None:
        """Sweep a few blocks."""
        panels = self.window.panels
        panels.places.show_view(panels.sweep)
        if not self.until(lambda: panels.sweep.sweeping is not None):
            return
        view = panels.sweep.sweeping
        assert view is not None
        if not self.until(lambda: bool(view.form.rows)):
            return
        view.form.samples.setValue(3)
        wanted = dict.fromkeys(axes, ",".join(map(str, sides)))
        for name, row in view.form.rows.items():
            row.tick.setChecked(name in wanted)
            if name in wanted:
                row.text.setText(wanted[name])
                row.text.textEdited.emit(wanted[name])
        if self.until(lambda: view.preview is not None and view.head.start.isEnabled()):
            view.start()

    def wide_sweep(self) -> None:
        """Begin a sweep of thousands of blocks, and write what it has come to."""
        self.sweep(range(1, 65), ("block.x", "block.y"))
        view = self.window.panels.sweep.sweeping
        if view is None or not self.until(lambda: view.held() is not None):
            return
        for suffix in ("csv", "json", "png"):
            self.window.exporter.write(view.exported(), Path(f"wide.{suffix}"))
            self.until(lambda: not self.window.exporter.busy)
        self.stop()

    def pause(self) -> None:
        """Pause the job, or let it go on."""
        jobs = self.window.session.jobs
        if jobs.current is not None:
            jobs.pause() if jobs.measuring else jobs.resume()

    def tune(self, sampler: str = "") -> None:
        """Tune for a few configurations, as one of the samplers says which come next."""
        panels = self.window.panels
        panels.places.show_view(panels.tune)
        view = panels.tune.tuning
        if view is None or view.running:
            return
        form, button = view.form, view.head.start
        if sampler:
            form.sampler_box.setCurrentIndex(form.sampler_box.findData(sampler))
        form.unit_box.setCurrentIndex(form.unit_box.findData("evaluations"))
        form.amount_box.setValue(3)
        if self.until(button.isEnabled):
            button.click()

    def compare(self) -> None:
        """Compare the present knobs with another block."""
        panels, experiment = self.window.panels, self.window.session.experiment
        panels.places.show_view(panels.compare)
        if not self.until(lambda: panels.compare.comparing is not None):
            return
        view = panels.compare.comparing
        assert view is not None
        if view.running:
            view.stop()
            return
        view.clear()
        view.add_present()
        x = (experiment.knobs.block or (32, 1, 1))[0]
        experiment.set_block((64 if x != 64 else 32, 1, 1))
        view.add_present()
        view.start()

    def block_map(self) -> None:
        """Map the blocks."""
        from gpuexplorer.gui.views.blockmap import BlockMapView

        tab = self.window.findChild(LateView, "blockMap")
        if tab is None:
            return
        self.window.panels.places.show_view(tab)
        view = tab.view
        if isinstance(view, BlockMapView) and self.until(
            lambda: view.model.current is not None and view.head.start.isEnabled()
        ):
            view.start()

    def study(self) -> None:
        """Study precisions."""
        panels = self.window.panels
        panels.places.show_view(panels.lab)
        view = panels.lab.lab
        if view is None:
            return
        view.show_kind("precision")
        study = view.view_of("precision")
        study.form.turns.setValue(6)
        study.form.seconds.setValue(0.06)
        if self.until(study.head.start.isEnabled):
            study.start()

    def _sampled(self) -> RunRecord | None:
        """Return what the present run has sampled, if it has."""
        run = self.window.session.live_model.current
        return run.record if run is not None and run.record and run.record.samples else None

    def sample(self) -> None:
        """Measure until there is a sample that can be exported."""
        self.window.session.set_live(True)
        self.until(lambda: self._sampled() is not None)

    def export(self, path: str) -> None:
        """Write the present run to a file."""
        if record := self._sampled():
            self.window.exporter.write(exported_runs([record]), Path(path))

    def save(self, path: str) -> None:
        """Save the session."""
        self.window.sessions.write(Path(path))

    def open(self, path: str) -> None:
        """Open a session."""
        self.window.sessions.open(Path(path))

    def back(self) -> None:
        """Go back to what was shown before."""
        self.window.sessions.back()

    def mark(self, wanted: str, row: int) -> None:
        """Star, delete, pin or bring back a run of the history."""
        table = self.window.history_table
        table.selectRow(row % ROWS)
        self.window.panels.history.acts.ask(wanted)

    def tag(self, run_id: str) -> None:
        """Tag a run."""

        def work(store: Store) -> None:
            store.tag(run_id, "chaos")

        self.window.session.runs.do(work, needs=[run_id])

    def tab(self, number: int) -> None:
        """Bring a view to the front."""
        places = self.window.panels.places
        places.show_view(places.views[number % len(places.views)])

    def look_around(self) -> None:
        """See what is made when it is first seen: each study's form, help, notes, other colours."""
        from gpuexplorer.gui.panels.accesses import AccessesView
        from gpuexplorer.gui.views.learn import LearnView

        window = self.window
        for name in LATE:
            importlib.import_module(name)
        lab = window.panels.lab.lab
        if lab is not None:
            window.panels.places.show_view(window.panels.lab)
            for name in lab.buttons:
                lab.show_kind(name)
                self.see()
        commands, panels = window.commands, window.panels
        twice = (commands.device_plots,) * 2 + (commands.present,) * 2
        for command in (*twice, *commands.themes.values()):
            command.trigger()
            self.see()
        for menu in window.menuBar().findChildren(QMenu):  # names of languages need letters
            menu.popup(window.pos())
            self.see()
            menu.close()
        panels.places.show_view(panels.kernel)
        for button in (panels.kernel.instructions_button, panels.kernel.occupancy_button):
            button.click()
            self.see()
        panels.places.show_view(panels.accesses)
        accesses = panels.accesses.made()
        assert isinstance(accesses, AccessesView)
        accesses.count()
        self.until(lambda: window.session.jobs.current is None)
        panels.places.show_view(panels.learn)
        lessons = panels.learn.made()
        assert isinstance(lessons, LearnView)
        for name in lessons.model.lessons:
            lessons.open_lesson(name)
            for step in range(len(lessons.steps)):
                lessons.show_step(step)
                self.see()
        lessons.exported().others["html"](Path("lesson.html"))
        lessons.show_list()
        window.session.set_live(False)  # which a lesson may have started: the store never rests
        for row in range(ROWS):  # a sweep, a map, a tuning
            self.mark("restore", row)
            self.until(lambda: window.session.runs.rests)
        for page in PAGES:
            window.dialogs.show_help(page)
            self.see()
        dialogs = window.dialogs
        for show in (
            dialogs.show_notes, dialogs.show_about, dialogs.show_palette, dialogs.show_doctor,
        ):  # fmt: skip
            show()
            self.see()
        self.until(lambda: window.session.jobs.current is None)
        for dialog in (
            dialogs.help, dialogs.notes, dialogs.about, dialogs.palette, dialogs.doctor,
        ):  # fmt: skip
            if dialog is not None:
                dialog.hide()

    def restart(self) -> None:
        """Restart the engine."""
        self.window.commands.restart_engine.trigger()

    def again(self) -> None:
        """Press a banner's first button, such as Try again."""
        from PySide6.QtWidgets import QPushButton

        for button in self.window.banner.findChildren(QPushButton):
            if button.text() == "Try again":
                button.click()
                return

    def let_loose(self) -> None:
        """Have the monkey begin."""
        assert self.monkey is not None
        self.monkey.start()

    def _choices(self) -> list[QAction]:
        """Return the commands that are on or off, but for Live."""
        every = self.window.findChildren(QAction, options=Qt.FindChildOption.FindDirectChildrenOnly)
        return [a for a in every if a.isCheckable() and a is not self.window.commands.live]

    def sit_down(self) -> None:
        """Have the monkey stop, close what lies over the window, and end what is going on.

        Panels, colours, and what else is switched on and off, are as at first: large letters and
        more panels take more memory.
        """
        assert self.monkey is not None
        self.monkey.loose = False
        for top in QApplication.topLevelWidgets():
            if top is not self.window and top.isVisible():
                top.close()
        self.window.session.set_live(False)
        if self.window.session.jobs.current is not None:
            self.window.commands.stop.trigger()
        for action, on in self._checked.items():
            if action.isChecked() != on and (on or action.actionGroup() is None):
                action.trigger()  # of several, of which one is on, the one that was
        self.window.showNormal()
        self.window.resize(self._size)
        self.window.panels.places.show_view(self.window.panels.live)
        self.application.clipboard().clear()

    def tidy(self) -> dict[str, Any]:
        """Let what is opened be painted, and collect garbage as the window does now and then.

        Returns what the C library has given out, and holds without use, in bytes, the same of
        Python, and which packages were loaded since it was asked for last.
        """
        self.see()
        self.until(lambda: self.window.session.runs.rests, RESTS_S)
        gc.collect()
        for let_go in self.window.housekeeping.letting_go:
            let_go()
        forget_styles(self.application)
        QPixmapCache.clear()
        forget_fonts()
        give_back()
        loaded = {name.partition(".")[0] for name in sys.modules}
        new, self._loaded = sorted(loaded - self._loaded), loaded
        return {**heap(), **python_heap(), "loaded": new}

    def close(self) -> None:
        """Close the window."""
        self.window.close()


def forget_fonts() -> None:
    """Have Qt empty its cache of fonts: of every size that was shown it keeps some for later.

    It does so by itself when there are about a hundred, of some 30 KiB each.
    """
    font = next((resources.folder() / "fonts").glob("*.ttf"))
    QFontDatabase.removeApplicationFont(QFontDatabase.addApplicationFont(str(font)))


def main() -> int:
    """Show the window and do what is told until it is closed."""
    strings = Strings()
    puppet = Puppet()
    if "--monkey" in sys.argv:
        at = sys.argv.index("--monkey")
        puppet.monkey = Monkey(puppet.application, puppet.window, int(sys.argv[at + 1]))
    notifier = QSocketNotifier(strings.fileno(), QSocketNotifier.Type.Read)

    def hear() -> None:
        told = strings.read()
        if told is None:
            notifier.setEnabled(False)
            puppet.close()
            return
        for one in told:
            name = one.pop("do")
            answer = getattr(puppet, name)(**one)
            strings.answer(did=name, **(answer or {}))

    notifier.activated.connect(lambda *_: hear())
    strings.answer(ready=True)
    code: int = QApplication.exec()
    puppet.window.close_down()
    for complaint in puppet.complaints:
        sys.stderr.write(complaint + "\n")
    return app.end(puppet.window, code)


if __name__ == "__main__":
    sys.exit(main())
