"""The Lab without an engine: what is offered, tables, findings, charts, commands and files."""

from __future__ import annotations

import json
import shlex
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.study import lab_of
from gpuexplorer.core import language
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.studies import Study
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.gui.info_dialog import InfoDialog
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.job import Held, JobModel, Progress, duration
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.views.result_page import Picture
from gpuexplorer.gui.views.study import StudyJob, StudyView, WantedStudy, study_files
from gpuexplorer.gui.views.study_form import Lists, StudyForm, Ticks
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.results.study import switches_sheet
from gpuexplorer.studies import KINDS, kind_of
from gpuexplorer.studies.choices import thread_offers
from gpuexplorer.studies.over_sizes import default_sizes
from gpuexplorer.studies.running import How
from gpuexplorer.studies.scaling import ScalingLab
from gpuexplorer.studies.sides import usual_sides
from gpuexplorer.studies.speedup import SpeedupStudy
from gpuexplorer.studies.switches import SwitchesLab
from gpuexplorer.workloads.loader import load
from tests.gui.driver import move_pointer, until
from tests.gui.test_models_panel import DEVICES, GPU, KERNELS, experiment
from tests.support.lab_studies import (
    STUDIES,
    precision_study,
    speedup_study,
    switches_study,
)
from tests.support.results import made_config


def finding(study: Study) -> str:
    return kind_of(study).finding(study)


@pytest.fixture(autouse=True)
def colours(qapp: QApplication) -> None:
    make_theme(qapp, "light")


# ---- words


def test_findings_are_sentences() -> None:
    assert finding(precision_study()) == "Fastest within the tolerance: fp32, error 1.0e-07."
    assert "2.22× faster (2.18–2.27) than the baseline" in finding(switches_study())
    slower = switches_study().alone[:1]
    nothing = switches_study(
        alone=slower, added=[], combination={}, total=None, together=None, shares=[]
    )
    assert finding(nothing) == "No switch is sure to make it faster here."
    none_pays = "No switch pays by itself, so there is nothing to combine."
    assert none_pays in switches_sheet(nothing).notes
    for left in ({"stopped_by": "user"}, {"order": "stated"}):
        assert none_pays not in switches_sheet(msgspec.structs.replace(nothing, **left)).notes
    unknown = [msgspec.structs.replace(one, effect=None) for one in nothing.alone]
    assert none_pays not in switches_sheet(msgspec.structs.replace(nothing, alone=unknown)).notes
    lost = switches_study(total=None, together=None, shares=[])
    assert finding(lost).endswith("What they come to together was not measured.")
    assert finding(speedup_study()).startswith("It pays from N ≈ 320 on.")
    for study in STUDIES.values():
        assert finding(study).endswith(".")


def test_durations_in_words() -> None:
    assert duration(0.2) == "about 1 s" and duration(200) == "about 3 min"
    assert duration(8000) == "about 2.2 h"


def test_a_model_tells_how_far_its_study_is() -> None:
    model: JobModel[Study] = JobModel()
    assert model.state == "empty" and model.words == ""
    model.begin()
    assert model.running and model.words == "Starting"
    model.take(Progress(3, 12, "bf16", 42.0), None)
    assert model.words == "3 of 12 runs, about 42 s left: bf16"
    model.state = "paused"
    assert model.words == "Paused at 3 of 12 runs"
    model.end(precision_study())
    assert state(model) == "done" and model.words == "Measured in turns."
    model.begin()
    model.end(precision_study(stopped_by="user"))
    assert state(model) == "stopped" and model.words.startswith("Stopped early.")
    model.begin()
    model.end(None, "It failed.")
    assert state(model) == "empty" and model.error == "It failed."


def state(model: JobModel[Study]) -> str:
    return model.state


# ---- what is offered


def test_sides_are_a_cpu_and_a_gpu_where_there_is_one() -> None:
    with_gpu = msgspec.structs.replace(DEVICES, devices=(*DEVICES.devices, GPU))
    first, second = usual_sides(experiment("matmul", with_gpu))
    assert second == GPU.id and first in ("opencl:0", "torch:cpu")
    (choice,) = KINDS["speedup"].choices
    assert choice.nothing(experiment("matmul")) == ""
    alone = msgspec.structs.replace(DEVICES, devices=(KERNELS,))
    assert "Only one device" in choice.nothing(experiment("transpose", alone))
    sizes = default_sizes(experiment("matmul").workload.manifest.sizes["N"])
    assert all(b == 2 * a for a, b in pairwise(sizes))


def test_a_kernel_has_no_switches_to_study() -> None:
    offers, nothing = KINDS["switches"].choices[0].offers, KINDS["switches"].choices[0].nothing
    assert offers(experiment("transpose")) == [] and "models" in nothing(experiment("transpose"))
    assert [o.name for o in offers(experiment())][:1] == ["compile"]


def wanted(model: Experiment, kind: str, **changes: Any) -> WantedStudy:
    assert model.devices is not None
    request = model.knobs.request()
    return WantedStudy(KINDS[kind], request, model.workload, model.devices, How(), changes)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_study_comes_to_is_said_before_it_runs(kind: str) -> None:
    model, pair = experiment("mlp"), dict[str, Any]()
    if kind == "speedup":
        model, pair = experiment("matmul"), {"names": ("opencl:0", "torch:cpu")}
    elif kind == "ladder":
        model, pair = experiment("matmul"), {"variants": ("naive", "tiled", "torch")}
    found = wanted(model, kind, **pair).preview()
    assert found.wanted.lab().configurations >= 2
    assert found.wanted.lab().estimate_s(model=True) > 1
    assert found.total.endswith(".") and found.takes.endswith(".")
    assert KINDS[kind].question.endswith("?") and KINDS[kind].about.endswith(".")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("precision", {"precisions": ("fp32", "bf16")}),
        ("switches", {"switches": ("grad_mode", "one_by_one")}),
        ("speedup", {"names": ("opencl:0", "torch:cpu"), "symbol": "N", "sizes": (32, 64, 128)}),
        ("scaling", {"variants": ("naive", "tiled"), "symbol": "N", "sizes": (32, 64)}),
        ("ladder", {"variants": ("naive", "torch")}),
    ],
)
def test_the_copied_command_asks_for_the_same_study(kind: str, changes: dict[str, Any]) -> None:
    kernel = KINDS[kind].over_sizes or kind == "ladder"
    model = experiment("matmul" if kernel else "mlp")
    if kernel:
        model.set_include_transfers(True)  # which these decide themselves
    else:
        model.set_switch("grad_mode", "no_grad")
    asked = wanted(model, kind, **changes)
    named = shlex.split(asked.command((Path("my kernels"),), threads=1, engine="other's"))
    options = parse(named[1:])
    assert (options.kernels, options.python, options.threads) == (
        [Path("my kernels")],
        "other's",
        1,
    )
    text = asked.command()
    options = parse(shlex.split(text)[1:])
    lab, again = asked.lab(), lab_of(options, asked.workload, asked.devices)
    assert type(lab) is type(again) and lab.configurations == again.configurations
    assert lab.how == again.how
    if not kernel:
        assert "--switch grad_mode=no_grad" in text


@pytest.mark.parametrize("variants", [("naive", "tiled"), ("tiled",), ("naive",)])
def test_a_copied_study_of_sizes_gives_each_variant_the_block_that_the_window_does(
    variants: tuple[str, ...],
) -> None:
    model = experiment("matmul")
    model.set_variant("tiled")
    model.set_block((8, 8, 1))
    asked = wanted(model, "scaling", variants=variants, symbol="N", sizes=(32, 64))
    again = lab_of(parse(shlex.split(asked.command())[1:]), asked.workload, asked.devices)
    lab = asked.lab()
    assert isinstance(lab, ScalingLab) and isinstance(again, ScalingLab)
    for name in variants:
        assert lab.config_at(32, name) == again.config_at(32, name)
        assert (lab.config_at(32, name).block == (8, 8, 1)) is (name == "tiled")


# ---- the form


def form_of(qtbot: QtBot, kind: str, model: Experiment) -> StudyForm:
    form = StudyForm(KINDS[kind])
    qtbot.addWidget(form)
    form.follow(model, "")
    return form


def ticks_of(form: StudyForm, name: str) -> Ticks:
    found = form.groups[name]
    assert isinstance(found, Ticks)
    return found


def test_titles_that_are_cut_are_told_first(qtbot: QtBot) -> None:
    language.use("zh_CN")
    try:
        ticks = Ticks("ladder", KINDS["ladder"].choices[0])
        qtbot.addWidget(ticks)
        title = load()["matmul"].manifest.variants["uncoalesced"].title
        ticks.show_offers([Offer(name="uncoalesced", title=title)])
        ticks.resize(100, 40)
        ticks.show()
        shown = ticks.boxes["uncoalesced"].text()
        assert shown.endswith("…") and tr(title).startswith(shown[:-1]) and tr(title) != title
    finally:
        language.use(language.ENGLISH)


def test_what_is_unticked_is_not_looked_at(qtbot: QtBot) -> None:
    model = experiment()
    form = form_of(qtbot, "precision", model)
    boxes = ticks_of(form, "precisions").boxes
    assert not boxes["fp8_e4m3"].isEnabled() and "Not here" in boxes["fp8_e4m3"].toolTip()
    boxes["bf16"].setChecked(False)
    chosen = form.chosen()["precisions"]
    assert "fp32" in chosen and "bf16" not in chosen
    form.follow(model, "mlp")
    assert not boxes["bf16"].isChecked()
    for box in boxes.values():
        box.setChecked(False)
    with pytest.raises(InputError, match="no precision is ticked"):
        form.chosen()


def test_sizes_that_cannot_be_read_are_refused(qtbot: QtBot) -> None:
    form = form_of(qtbot, "speedup", experiment("matmul"))
    chosen = form.chosen()
    assert chosen["symbol"] == "N" and len(chosen["sizes"]) > 3
    assert form.sizes is not None
    form.sizes.text.setText("64:")
    with pytest.raises(InputError):
        form.chosen()


def test_two_devices_stay_chosen_while_they_are_offered(qtbot: QtBot) -> None:
    with_gpu = msgspec.structs.replace(DEVICES, devices=(*DEVICES.devices, GPU))
    form = form_of(qtbot, "speedup", experiment("matmul", with_gpu))
    lists = form.groups["names"]
    assert isinstance(lists, Lists) and lists.chosen[1] == GPU.id
    first = lists.boxes[0]
    first.setCurrentIndex(first.findData(GPU.id))
    form.follow(experiment("matmul"), "")
    assert form.chosen()["names"] == usual_sides(experiment("matmul"))


# ---- the charts


class Desk(QObject):
    """What a view needs of the window's session, without an engine."""

    knobs_changed, devices_changed, state_changed = Signal(), Signal(), Signal()

    def __init__(self, model: Experiment) -> None:
        super().__init__()
        self.experiment, self.config = model, None
        self.jobs = SimpleNamespace(current=None, cancel=lambda: None)
        self.options, self.runs = EngineOptions(), None


def shown_view(
    qtbot: QtBot, study: Study | None, width: int = 1000, kind: str = "switches"
) -> StudyView:
    chosen = kind_of(study) if study is not None else KINDS[kind]
    session: Any = Desk(experiment())
    view = StudyView(session, chosen)
    session.setParent(view)
    qtbot.addWidget(view, before_close_func=StudyView.close_down)
    view.resize(width, 700)
    view.show()
    qtbot.waitExposed(view)
    view.show_held(Held(study) if study is not None else None)
    if study is not None:
        until(qtbot, lambda: view.result.currentWidget() is view.result.page)
    QApplication.processEvents()  # the plot is made once there is something to draw: lay it out
    return view


@pytest.mark.parametrize("kind", STUDIES)
def test_marks_are_pointed_at_and_clicked(qtbot: QtBot, kind: str) -> None:
    bench = shown_view(qtbot, STUDIES[kind])
    chosen: list[Any] = []
    bench.restored.connect(chosen.append)
    keys = bench.result.chart.keys
    assert keys and set(keys) <= set(bench.result.sheet.marks), "every mark leads to a row"
    config = next(run.config for run in STUDIES[kind].runs if run.id == keys[0])
    viewport, spot = bench.result.chart.place_of(keys[0]) or pytest.fail("the mark is not drawn")
    move_pointer(viewport, spot)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=spot)
    until(qtbot, lambda: bool(chosen))
    assert chosen[0] == config
    assert keys[0] in bench.result.table.shown.rows[bench.result.table.currentIndex().row()].marks
    event = QHelpEvent(QEvent.Type.ToolTip, spot, viewport.mapToGlobal(spot))
    QApplication.sendEvent(viewport, event)
    assert QToolTip.text() == bench.result.sheet.marks[keys[0]]
    QToolTip.hideText()
    table = bench.result.table
    line = next(i for i, r in enumerate(table.shown.rows) if r.key)
    table.activated.emit(table.shown.index(line, 0))
    assert len(chosen) == 2
    assert bench.result.chart.spoken()


def test_a_rung_s_change_of_the_source_is_read_in_the_window(qtbot: QtBot) -> None:
    view = shown_view(qtbot, STUDIES["ladder"], kind="ladder")
    assert not view.source.isHidden() and not view.source.isEnabled(), "no row is chosen"
    table = view.result.table
    for row, changed in enumerate([False, True, True, False]):
        table.setCurrentIndex(table.shown.index(row, 0))
        assert view.source.isEnabled() == changed
    table.setCurrentIndex(table.shown.index(1, 0))
    view.source.click()
    dialog = view.findChild(InfoDialog)
    assert dialog is not None and dialog.windowTitle() == "The source from naive to tiled"
    assert dialog.text.toPlainText().splitlines()[-2:] == ["-old", "+new"]
    dialog.reject()
    view.show_held(None)
    until(qtbot, lambda: not view.source.isEnabled())


def test_a_study_of_no_sources_has_no_button_for_them(qtbot: QtBot) -> None:
    assert shown_view(qtbot, STUDIES["switches"]).source.isHidden()


@pytest.mark.parametrize("kind", STUDIES)
def test_the_screen_shows_what_a_file_would(qtbot: QtBot, kind: str, tmp_path: Path) -> None:
    study = STUDIES[kind]
    bench = shown_view(qtbot, study)
    exported = study_files(study).chart()
    assert bench.result.chart.spec == exported
    assert [view.panel for view in bench.result.chart.panels] == [
        p for row in exported.rows for p in row
    ]
    page = bench.result
    told = [*page.notes.parts, *page.finding.text().splitlines()]
    assert all(any(note in one for one in told) for note in exported.notes), "once each"
    assert not any(note in page.finding.text() for note in page.notes.parts)


def test_the_speed_up_has_its_intervals_and_its_second_panel_on_screen(qtbot: QtBot) -> None:
    study = STUDIES["speedup"]
    assert isinstance(study, SpeedupStudy)
    times, factors = shown_view(qtbot, study).result.chart.panels
    assert times.panel is not None and factors.panel is not None
    drawn = [one for one in times.panel.series if one.kind == "points"]
    known = [p.second for p in study.points if p.second is not None]
    without = next(one for one in drawn if one.keys == tuple(m.run for m in known))
    assert without.low.tolist() == pytest.approx([m.ci95_low_s for m in known])
    assert factors.panel.y.label.startswith("speed of")
    assert factors.plot.marks.keys, "the factors are marks of their own"


def test_the_front_and_what_is_odd_look_apart(qtbot: QtBot) -> None:
    (view,) = shown_view(qtbot, precision_study()).result.chart.panels
    assert view.panel is not None
    spots = {one.labels[0].split()[0]: one for one in view.panel.series if one.kind == "points"}
    assert set(spots) == {"fp64", "fp32", "bf16", "fp16"}
    assert spots["fp64"].x[0] < spots["fp32"].x[0] < spots["bf16"].x[0]
    looks = {(spots[p].role, spots[p].colour) for p in ("fp32", "bf16", "fp16")}
    assert len(looks) == 3


def test_while_it_is_measured_the_switches_stand_alone(qtbot: QtBot) -> None:
    so_far = switches_study(
        added=[], combination={}, together=None, total=None, combining=None, shares=[]
    )
    plot = shown_view(qtbot, so_far).result.chart
    alone = [one for one in so_far.alone if one.measured is not None]
    (view,) = plot.panels
    assert view.panel is not None and view.panel.title == "Each by itself"
    assert view.panel.y.categories == tuple(one.title for one in alone)


@pytest.mark.parametrize("kind", STUDIES)
def test_charts_follow_the_theme_and_the_width(qtbot: QtBot, kind: str, qapp: QApplication) -> None:
    bench = shown_view(qtbot, STUDIES[kind], 1700)
    assert bench.result.table.horizontalScrollBar().maximum() == 0, "every column is seen"
    make_theme(qapp, "dark")
    bench.resize(800, 600)
    bench.grab()
    assert bench.result.outcome.orientation() == Qt.Orientation.Vertical
    assert bench.result.chart.keys


def test_a_table_takes_no_more_than_its_columns_and_rows_need(qtbot: QtBot) -> None:
    bench = shown_view(qtbot, STUDIES["precision"], 1000)
    page, table = bench.result, bench.result.table
    assert page.outcome.orientation() == Qt.Orientation.Vertical
    assert len(table.shown.rows) > 3
    bench.resize(1000, 1100)
    until(qtbot, lambda: abs(table.height() - table.whole_height) <= 2)
    assert page.chart.height() > table.height()
    bench.resize(2600, 900)
    until(qtbot, lambda: page.outcome.orientation() == Qt.Orientation.Horizontal)
    assert abs(table.width() - table.whole_width) <= 2
    page.outcome.moveSplitter(1000, 1)
    QApplication.processEvents()
    dragged = table.width()
    assert page.chart.spec is not None
    page.show_picture(Picture(page.sheet, page.chart.spec))
    assert table.width() == dragged, "it stays where it was dragged to"


def test_an_empty_view_says_what_it_would_do(qtbot: QtBot) -> None:
    view = shown_view(qtbot, None)
    assert view.result.currentWidget() is view.result.empty
    until(qtbot, lambda: "Takes about" in view.result.empty.text)
    assert (
        "What did each switch buy?" in view.result.empty.text
        and "baseline" in view.result.empty.text
    )
    assert view.head.start.isEnabled()


# ---- files


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_is_written_as_document_and_table(kind: str, tmp_path: Path) -> None:
    document, table = tmp_path / "study.json", tmp_path / "study.csv"
    study_files(STUDIES[kind]).write(document, "json", "light")
    assert json.loads(document.read_text())["kind"] == kind
    study_files(STUDIES[kind]).write(table, "csv", "light")
    assert len(table.read_text().splitlines()) > 3
    with pytest.raises(InputError, match="cannot tell a format"):
        study_files(STUDIES[kind]).write(tmp_path / "study.txt", "txt", "light")


# ---- numbers of CPU threads


def test_other_numbers_of_cpu_threads_are_offered_for_models_on_a_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpuexplorer.studies.choices.usable_cores", lambda: 8)
    knobs = experiment()
    assert knobs.device is not None
    present = knobs.device.threads
    assert present is not None
    names = [offer.name for offer in thread_offers(knobs)]
    assert names == [str(n) for n in (1, 2, 4, 7, 8) if n != present]
    assert thread_offers(experiment("transpose")) == []


def test_threads_are_ticked_by_the_user_alone_and_tried_beside_the_baseline(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuexplorer.studies.choices.usable_cores", lambda: 64)
    knobs = experiment()
    form = form_of(qtbot, "switches", knobs)
    for box in ticks_of(form, "switches").boxes.values():
        box.setChecked(False)
    threads = ticks_of(form, "threads")
    assert threads.boxes and not threads.chosen
    name, box = list(threads.boxes.items())[-1]
    box.setChecked(True)
    chosen = form.chosen()
    assert (chosen["switches"], chosen["threads"]) == (("none",), (int(name),))
    asked = wanted(knobs, "switches", **chosen)
    lab = asked.lab()
    assert isinstance(lab, SwitchesLab)
    assert [choice.config.threads for choice in lab.choices.offered] == [int(name)]
    assert f"--switches none --try-threads {name}" in asked.command()
    again = lab_of(parse(shlex.split(asked.command())[1:]), asked.workload, asked.devices)
    assert isinstance(again, SwitchesLab) and again.choices == lab.choices


def test_each_number_of_threads_has_an_engine_of_its_own(
    monkeypatch: pytest.MonkeyPatch, qapp: QApplication
) -> None:
    opened: list[int | None] = []
    measured: list[tuple[int | None, int | None]] = []

    class Engine:
        def __init__(self, *, threads: int | None, **_: object) -> None:
            self.threads = threads
            opened.append(threads)

        def measure(self, config: RunConfig, *_: object, **__: object) -> None:
            measured.append((self.threads, config.threads))

    monkeypatch.setattr("gpuexplorer.gui.views.study.EngineSession", Engine)
    monkeypatch.setattr(
        EngineJob, "measure", lambda _, config, *__: measured.append((None, config.threads))
    )
    knobs = experiment()
    asked = wanted(knobs, "switches")
    job = StudyJob(EngineWorker(EngineOptions()), asked, engine=EngineOptions(threads=3))
    workload = knobs.workload
    for threads in (3, 5, None, 9, 5):
        job.measure(made_config(threads=threads), workload, RunOptions(samples=1))
    assert measured == [(None, 3), (5, 5), (None, None), (9, 9), (5, 5)] and opened == [5, 9]
