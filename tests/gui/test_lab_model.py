"""The Lab without an engine: what is offered, tables, findings, charts, commands and files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.study import lab_of
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.studies import SpeedupStudy, Study
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.lab_job import LabJob
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.lab import LabModel, Progress
from gpuexplorer.gui.model.lab_command import study_command
from gpuexplorer.gui.model.lab_offers import (
    about,
    configurations,
    estimate_s,
    sides,
    sizes_text,
    split_threads,
    switch_choices,
    thread_choices,
    time_words,
    total_words,
)
from gpuexplorer.gui.model.lab_wanted import Wanted
from gpuexplorer.gui.model.lab_words import duration, finding
from gpuexplorer.gui.panels.lab_bench import LabBench
from gpuexplorer.gui.panels.lab_setup import LabSetup
from gpuexplorer.gui.panels.result_files import study_files
from gpuexplorer.gui.panels.result_tab import FORMATS, write
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.studies import How, SwitchesLab
from tests.gui.driver import move_pointer
from tests.gui.test_models_panel import DEVICES, GPU, KERNELS, experiment
from tests.support.lab_studies import (
    STUDIES,
    precision_study,
    speedup_study,
    switches_study,
)
from tests.support.results import made_config


@pytest.fixture(autouse=True)
def colours(qapp: QApplication) -> None:
    make_theme(qapp, "light")


# ---- words


def test_findings_are_sentences() -> None:
    assert finding(precision_study()) == "Fastest within the tolerance: fp32, error 1.0e-07."
    assert "2.22× as fast as the baseline" in finding(switches_study())
    nothing = switches_study(added=[], combination={}, total=None, together=None, shares=[])
    assert finding(nothing) == "No switch is sure to make it faster here."
    assert finding(speedup_study()).startswith("It pays from N ≈ 320 on.")
    for study in STUDIES.values():
        assert finding(study).endswith(".")


def test_durations_in_words() -> None:
    assert duration(0.2) == "about 1 s" and duration(200) == "about 3 min"
    assert duration(8000) == "about 2.2 h"


def test_a_model_tells_how_far_its_study_is() -> None:
    model = LabModel("precision")
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


def state(model: LabModel) -> str:
    return model.state


# ---- what is offered


def test_sides_are_a_cpu_and_a_gpu_where_there_is_one() -> None:
    with_gpu = msgspec.structs.replace(DEVICES, devices=(*DEVICES.devices, GPU))
    found = sides(experiment("matmul", with_gpu))
    assert found.second == GPU.id and found.first in ("opencl:0", "torch:cpu")
    assert sides(experiment("matmul")).reason == ""
    alone = msgspec.structs.replace(DEVICES, devices=(KERNELS,))
    assert "Only one device" in sides(experiment("transpose", alone)).reason
    assert sizes_text(experiment("matmul"), "N").count("*2") == 1


def test_a_kernel_has_no_switches_to_study() -> None:
    assert switch_choices(experiment("transpose")) == []
    assert [o.name for o in switch_choices(experiment())][:1] == ["compile"]


def wanted(model: Experiment, kind: Any, **changes: Any) -> Wanted:
    assert model.devices is not None
    return Wanted(kind, model.knobs.request(), model.workload, model.devices, How(), **changes)


@pytest.mark.parametrize("kind", ["precision", "switches", "speedup"])
def test_what_a_study_comes_to_is_said_before_it_runs(kind: Any) -> None:
    asked = wanted(experiment("mlp"), kind)
    if kind == "speedup":
        asked = wanted(experiment("matmul"), kind, sides=("opencl:0", "torch:cpu"))
    lab = asked.lab()
    assert configurations(lab) >= 2 and estimate_s(lab, asked.how, model=True) > 1
    assert total_words(lab).endswith(".") and time_words(lab, asked.how, model=True).endswith(".")
    title, words = about(kind)
    assert title.endswith("?") and words.endswith(".")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("precision", {"precisions": ("fp32", "bf16")}),
        ("switches", {"switches": ("grad_mode", "one_by_one")}),
        ("speedup", {"sides": ("opencl:0", "torch:cpu"), "symbol": "N", "sizes": (32, 64, 128)}),
    ],
)
def test_the_copied_command_asks_for_the_same_study(kind: Any, changes: dict[str, Any]) -> None:
    model = experiment("matmul" if kind == "speedup" else "mlp")
    if kind != "speedup":
        model.set_switch("grad_mode", "no_grad")
    asked = wanted(model, kind, **changes)
    named = shlex.split(study_command(asked, [Path("my kernels")], threads=1, engine="other's"))
    options = parse(named[1:])
    assert (options.kernels, options.python, options.threads) == (
        [Path("my kernels")],
        "other's",
        1,
    )
    text = study_command(asked)
    options = parse(shlex.split(text)[1:])
    lab, again = asked.lab(), lab_of(options, asked.workload, asked.devices)
    assert type(lab) is type(again) and configurations(lab) == configurations(again)
    assert lab.how == again.how
    if kind != "speedup":
        assert "--switch grad_mode=no_grad" in text


# ---- the setup


def test_what_is_unticked_is_not_looked_at(qtbot: QtBot) -> None:
    model = experiment()
    setup = LabSetup("precision")
    qtbot.addWidget(setup)
    setup.follow(model, "mlp")
    boxes = setup.ticks.boxes
    assert not boxes["fp8_e4m3"].isEnabled() and "Not here" in boxes["fp8_e4m3"].toolTip()
    boxes["bf16"].setChecked(False)
    chosen = setup.wanted(model).precisions
    assert chosen is not None and "fp32" in chosen and "bf16" not in chosen
    setup.follow(model, "mlp")
    assert not boxes["bf16"].isChecked()
    for box in boxes.values():
        box.setChecked(False)
    with pytest.raises(InputError, match="no precision is ticked"):
        setup.wanted(model)


def test_sizes_that_cannot_be_read_are_refused(qtbot: QtBot) -> None:
    model = experiment("matmul")
    setup = LabSetup("speedup")
    qtbot.addWidget(setup)
    setup.follow(model, "matmul")
    asked = setup.wanted(model)
    assert asked.symbol == "N" and asked.sizes is not None and len(asked.sizes) > 3
    setup.sizes.setText("64:")
    with pytest.raises(InputError):
        setup.wanted(model)


# ---- the charts


def shown_bench(qtbot: QtBot, study: Study, width: int = 1000) -> LabBench:
    kind: Any = study.__struct_config__.tag
    bench = LabBench(LabModel(kind))
    qtbot.addWidget(bench)
    bench.resize(width, 700)
    bench.model.begin()
    bench.model.end(study)
    bench.show()
    qtbot.waitExposed(bench)
    bench.refresh()
    QApplication.processEvents()  # the plot is made once there is something to draw: lay it out
    return bench


@pytest.mark.parametrize("kind", STUDIES)
def test_marks_are_pointed_at_and_clicked(qtbot: QtBot, kind: str) -> None:
    bench = shown_bench(qtbot, STUDIES[kind])
    chosen: list[Any] = []
    pointed: list[Any] = []
    bench.chosen.connect(lambda config, _title: chosen.append(config))
    bench.pointed.connect(pointed.append)
    keys = bench.plot.keys
    assert keys and set(keys) <= set(bench.sheet.marks), "every mark leads to a row"
    config = next(run.config for run in STUDIES[kind].runs if run.id == keys[0])
    viewport, spot = bench.plot.place_of(keys[0]) or pytest.fail("the mark is not drawn")
    move_pointer(viewport, spot)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=spot)
    qtbot.waitUntil(lambda: bool(chosen))
    assert chosen[0] == config
    assert keys[0] in bench.rows.shown.rows[bench.rows.currentIndex().row()].marks
    event = QHelpEvent(QEvent.Type.ToolTip, spot, viewport.mapToGlobal(spot))
    QApplication.sendEvent(viewport, event)
    assert QToolTip.text() == bench.sheet.marks[keys[0]]
    QToolTip.hideText()
    table = bench.rows
    line = next(i for i, r in enumerate(table.shown.rows) if r.key)
    table.activated.emit(table.shown.index(line, 0))
    assert len(chosen) == 2
    assert bench.plot.accessibleDescription()


@pytest.mark.parametrize("kind", STUDIES)
def test_the_screen_shows_what_a_file_would(qtbot: QtBot, kind: str, tmp_path: Path) -> None:
    study = STUDIES[kind]
    bench = shown_bench(qtbot, study)
    exported = study_files(study).chart()
    assert bench.plot.spec == exported
    assert [view.panel for view in bench.plot.panels] == [p for row in exported.rows for p in row]
    assert bench.notes.toolTip().splitlines() == list(exported.notes)


def test_the_speed_up_has_its_intervals_and_its_second_panel_on_screen(qtbot: QtBot) -> None:
    study = STUDIES["speedup"]
    assert isinstance(study, SpeedupStudy)
    times, factors = shown_bench(qtbot, study).plot.panels
    assert times.panel is not None and factors.panel is not None
    drawn = [one for one in times.panel.series if one.kind == "points"]
    known = [p.second for p in study.points if p.second is not None]
    without = next(one for one in drawn if one.keys == tuple(m.run for m in known))
    assert without.low.tolist() == pytest.approx([m.ci95_low_s for m in known])
    assert factors.panel.y.label.startswith("speed of")
    assert factors.plot.marks.keys, "the factors are marks of their own"


def test_the_front_and_what_is_odd_look_apart(qtbot: QtBot) -> None:
    (view,) = shown_bench(qtbot, precision_study()).plot.panels
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
    plot = shown_bench(qtbot, so_far).plot
    alone = [one for one in so_far.alone if one.measured is not None]
    (view,) = plot.panels
    assert view.panel is not None and view.panel.title == "Each by itself"
    assert view.panel.y.categories == tuple(one.title for one in alone)


@pytest.mark.parametrize("kind", STUDIES)
def test_charts_follow_the_theme_and_the_width(qtbot: QtBot, kind: str, qapp: QApplication) -> None:
    bench = shown_bench(qtbot, STUDIES[kind], 1700)
    assert bench.outcome.orientation() == Qt.Orientation.Horizontal
    make_theme(qapp, "dark")
    bench.resize(800, 600)
    bench.grab()
    assert bench.outcome.orientation() == Qt.Orientation.Vertical
    assert bench.plot.keys


def test_an_empty_bench_says_what_it_would_do(qtbot: QtBot) -> None:
    bench = LabBench(LabModel("switches"))
    qtbot.addWidget(bench)
    bench.say_empty("The baseline and 3 switches. Takes about 20 s.")
    bench.show()
    assert bench.pages.currentWidget() is bench.empty
    assert "What did each switch buy?" in bench.empty.text and "about 20 s" in bench.empty.text


# ---- files


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_is_written_as_document_and_table(kind: str, tmp_path: Path) -> None:
    document, table = tmp_path / "study.json", tmp_path / "study.csv"
    write(study_files(STUDIES[kind]), document, "light")
    assert json.loads(document.read_text())["kind"] == kind
    write(study_files(STUDIES[kind]), table, "light")
    assert len(table.read_text().splitlines()) > 3
    with pytest.raises(InputError, match="cannot tell a format"):
        write(study_files(STUDIES[kind]), tmp_path / "study.txt", "light")
    assert set(FORMATS) == {"png", "svg", "pdf", "csv", "json"}


# ---- numbers of CPU threads


def test_other_numbers_of_cpu_threads_are_offered_for_models_on_a_processor() -> None:
    knobs = experiment()
    assert knobs.device is not None
    present = knobs.device.threads
    assert present is not None
    names = [offer.name for offer in thread_choices(knobs, 8)]
    assert names == [f"threads={n}" for n in (1, 2, 4, 7, 8) if n != present]
    assert thread_choices(experiment("transpose"), 8) == []
    assert split_threads(["compile", "threads=2", "threads=4"]) == (("compile",), (2, 4))


def test_threads_are_ticked_by_the_user_alone_and_tried_beside_the_baseline(qtbot: QtBot) -> None:
    knobs = experiment()
    setup = LabSetup("switches")
    qtbot.addWidget(setup)
    setup.follow(knobs, "")
    setup.ticks.show_offers([], thread_choices(knobs, 64))
    assert setup.ticks.boxes and not setup.ticks.chosen
    name = list(setup.ticks.boxes)[-1]
    setup.ticks.boxes[name].setChecked(True)
    wanted = setup.wanted(knobs)
    number = int(name.removeprefix("threads="))
    assert wanted.switches == ("none",) and wanted.threads == (number,)
    lab = wanted.lab()
    assert isinstance(lab, SwitchesLab)
    assert [choice.config.threads for choice in lab.choices.offered] == [number]
    command = study_command(wanted)
    assert f"--switches none --try-threads {number}" in command
    again = lab_of(parse(shlex.split(command)[1:]), wanted.workload, wanted.devices)
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

    monkeypatch.setattr("gpuexplorer.gui.lab_job.Session", Engine)
    monkeypatch.setattr(
        EngineJob, "measure", lambda _, config, *__: measured.append((None, config.threads))
    )
    knobs = experiment()
    setup = LabSetup("switches")
    setup.follow(knobs, "")
    job = LabJob(
        EngineWorker(EngineOptions()), setup.wanted(knobs), "", engine=EngineOptions(threads=3)
    )
    workload = knobs.workload
    for threads in (3, 5, None, 9, 5):
        job.measure(made_config(threads=threads), workload, RunOptions(samples=1))
    assert measured == [(None, 3), (5, 5), (None, None), (9, 9), (5, 5)] and opened == [5, 9]
    setup.deleteLater()
