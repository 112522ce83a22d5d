"""What views and dialogs show once they were used: at every size, in both themes, by every key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QDialog, QLineEdit, QListView, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.gui.cluster_job import FoundCluster
from gpuexplorer.gui.code.messages import LineMessage
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.flame import Flame, RecordedProfile
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.versions_file import HeldVersions
from gpuexplorer.gui.panels.accesses import AccessesView
from gpuexplorer.gui.panels.engines import EnginesDialog
from gpuexplorer.gui.panels.kernel_sheet import KernelSheet
from gpuexplorer.gui.panels.operators import OperatorsView
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.views.selftest import SelfTestDialog
from gpuexplorer.history.store import Store
from gpuexplorer.search.versions import Version
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest
from gpuexplorer.workloads.workload import Workload
from tests.backends.opencl_support import device
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until
from tests.gui.looking import (
    THEMES,
    each_or_every,
    every_size,
    sizes_in_turn,
    walk_keys,
    walk_sizes,
)
from tests.support.exchange import made_comparison
from tests.support.history import made_record
from tests.support.lab_studies import STUDIES
from tests.support.operators import made_profile
from tests.support.own_kernels import TEXTBOOK
from tests.telemetry.stand_ins import gpu

Scenes = Iterator[tuple[str, QWidget]]
"""What is shown, and the window or dialog that shows it."""
NUMBERED = (
    "__global__ void matrixMul(const float* A, const float* B, float* C, int N) {",
    "float sum = 0.0f;",
)


@pytest.fixture
def opened(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> MainWindow:
    """Return the window at a kernel of one's own, with nothing measured."""
    path = tmp_path / "mine.cu"
    path.write_text(TEXTBOOK, encoding="utf-8")
    keep_manifest(path, Answers(reference={"": "A @ B"}, sizes={"N": 64}))
    window = open_window("--kernels", str(path))
    window.session.live_at_start = False
    until(qtbot, lambda: window.session.experiment.devices is not None)
    until(qtbot, window.isActiveWindow)
    window.panels.welcome.close_button.click()
    return window


def code(qtbot: QtBot, window: MainWindow) -> Scenes:
    """A source with its versions and a compiler's message, and what is known of its code."""
    places, panel = window.panels.places, window.panels.kernel
    session = window.session
    session.experiment.set_workload("mine")
    places.show_view(panel)
    until(qtbot, lambda: "matrixMul" in panel.source.toPlainText())
    until(qtbot, lambda: bool(panel.kernels))
    show_versions(window)
    source = panel.source
    row = source.toPlainText().splitlines().index(NUMBERED[0])
    source.show_messages(
        (LineMessage("mine.cu", row + 1, "identifier is undefined", is_error=True),)
    )
    cursor = source.textCursor()
    cursor.setPosition(source.document().findBlockByNumber(row).position())
    source.setTextCursor(cursor)
    yield "a source with versions", window
    source.show_messages(())
    panel.choose_architecture("sm_80")
    panel.instructions_button.click()
    until(qtbot, lambda: bool(panel.listings.column.text.rows))
    box = panel.listings.beside_box
    box.setCurrentIndex(box.findData("sm_90"))
    until(qtbot, panel.listings.other.isVisible)
    yield "instructions of two GPUs", window


def show_versions(window: MainWindow) -> None:
    """Put three versions into the strip: one that was measured, a faster one, and a wrong one."""
    workload, compared = window.session.experiment.workload, made_comparison()
    runs = [
        msgspec.structs.replace(
            one.run, config=msgspec.structs.replace(one.run.config, variant="matrixMul")
        )
        for one in compared.contestants[:2]
    ]
    before = workload.source.files["mine.cu"].replace(NUMBERED[1], "float sum = 3;")
    old = Workload(
        msgspec.structs.replace(workload.source, files={**workload.source.files, "mine.cu": before})
    )
    made = (
        Version(1, old, "", runs[0]),
        Version(
            2, workload, "", runs[1], before=1, comparison=Comparison(0.62, 0.6, 0.64, 12, "faster")
        ),
        Version(3, old, "", error=WorkFailed("mine.cu, line 9: identifier 'summ' is undefined")),
    )
    held = HeldVersions("mine", made, (None, None, None), workload.source.origin)
    editing = window.panels.kernel.editing
    editing.show_held((held,))
    editing.bench.tell_registers(old.sha256, "matrixMul", "sm_90", 40)
    window.panels.kernel.code.strip.list.setCurrentRow(1)


def recorded(qtbot: QtBot, window: MainWindow) -> Scenes:
    """Accesses that were counted, and operators that were recorded."""
    panels, experiment = window.panels, window.session.experiment
    if "Portable" not in device().driver:  # which cannot count
        experiment.set_workload("matmul")
        experiment.set_variant("naive")
        experiment.set_size("N", 64)
        experiment.set_block((1, 64, 1))
        panels.places.show_view(panels.accesses)
        accesses = panels.accesses.view
        assert isinstance(accesses, AccessesView)
        until(qtbot, accesses.count_button.isEnabled)
        accesses.count()
        until(qtbot, lambda: accesses.shown is not None)
        until(qtbot, lambda: "Compiled for" in accesses.notes.text())
        yield "counted accesses", window
    panels.places.show_view(panels.operators)
    operators = panels.operators.view
    assert isinstance(operators, OperatorsView)
    profile = made_profile(shapes=True)
    operators.show_profile(RecordedProfile(profile, Flame(profile)))
    operators.refresh()
    yield "recorded operators", window


def lab(qtbot: QtBot, window: MainWindow) -> Scenes:
    """Every study with its result."""
    panels = window.panels
    panels.places.show_view(panels.lab)
    view = panels.lab.lab
    assert view is not None
    for name, study in STUDIES.items():
        view.open_study(Held(study))
        page = view.view_of(name).result
        until(qtbot, lambda page=page: page.currentWidget() is page.page)  # type: ignore[misc]
        yield f"the {name} study", window


def elsewhere(qtbot: QtBot, window: MainWindow) -> Scenes:
    """Searches on a cluster, and runs of the history beside each other."""
    panels = window.panels
    found = FoundCluster(DeviceList(devices=(gpu(),)), {gpu().id: 12})
    for tab, name in ((panels.sweep, "sweep"), (panels.tune, "tune")):
        panels.places.show_view(tab)
        where = find(window, f"{name}Cluster", QLineEdit)
        where.setText("tls://a-cluster-with-a-long-name.example.org:8786")
        where.textEdited.emit(where.text())
        yield f"a cluster for {name} before it was asked", window
        choice: Any = where.parentWidget()
        choice._looked(where.text(), found)
        choice.show_standing(["box1: 12 points, 31 % slower than the others", "box2: 40 points"])
        yield f"a cluster for {name}", window
    runs = [
        made_record([(1 + number) * 1e-3 + at * 1e-6 for at in range(200)]) for number in (0, 1)
    ]
    with Store.open() as store:
        store.add_all(runs)
    window.compare_stored([run.id for run in runs])
    view: Any = panels.compare.view
    until(qtbot, lambda: view.model.result is not None)
    yield "stored runs beside each other", window


def dialogs(qtbot: QtBot, window: MainWindow) -> Scenes:
    """A finished self-test, a machine to be added, a kernel's sheet, the list of commands."""
    window.commands.self_test.trigger()
    tested = find(window, "selfTestDialog", SelfTestDialog)
    assert tested.view.options is not None
    tested.view.options = replace(tested.view.options, sections=("occupancy", "telemetry"))
    tested.view.start()
    until(qtbot, lambda: tested.view.model.result is not None and not tested.view.running)
    yield "a finished self-test", tested
    tested.close()
    window.commands.engines.trigger()
    engines = find(window, "enginesDialog", EnginesDialog)
    until(qtbot, lambda: window.session.jobs.current is None)
    engines.add_machine()
    yield "a machine to be added", engines
    engines.close()
    sheet = KernelSheet(window, TEXTBOOK, Path("mine.cu"), "mine")
    sheet.open()
    yield "a kernel's sheet", sheet
    sheet.close()
    window.dialogs.show_palette()
    palette = window.dialogs.palette
    assert palette is not None
    yield "all commands", palette
    palette.close()


@each_or_every
@pytest.mark.parametrize("scenes", [code, recorded, lab, elsewhere, dialogs])
def test_what_was_used_is_seen_read_and_reached(
    qtbot: QtBot,
    opened: MainWindow,
    scenes: Callable[[QtBot, MainWindow], Scenes],
    every: bool,
) -> None:
    wrong: list[str] = []
    before = theme().choice
    try:
        for number, (what, root) in enumerate(scenes(qtbot, opened)):
            root.activateWindow()
            until(qtbot, root.isActiveWindow)
            looks.settle()
            sizes = every_size() if every else sizes_in_turn(number)
            wrong += walk_sizes(root, what, sizes, exact=root is opened)
            for choice in THEMES if every else THEMES[number % 2 :][:1]:
                opened.choices.choose_theme(choice)
                looks.settle()
                wrong += [f"{choice}, {what}: {one}" for one in looks.faint(root)]
            first: QWidget = opened.panels.places.place_bar
            if isinstance(root, QDialog):
                first = next(
                    one for one in looks.seen(root)
                    if isinstance(one, QPushButton | QLineEdit | QListView) and one.isEnabled()
                )  # fmt: skip
            root.activateWindow()
            until(qtbot, root.isActiveWindow)
            wrong += walk_keys(root, first, {}, what)
    finally:
        opened.choices.choose_theme(before)
    assert not wrong, "\n".join(wrong)
