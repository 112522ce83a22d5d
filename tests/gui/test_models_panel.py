"""Models at the knobs: switches, precisions, what is not here, labels, and a real run."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec
import numpy as np
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer import reproduce
from gpuexplorer.analysis.rates import items_per_launch, items_per_s
from gpuexplorer.charts.words import switch_words
from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.sweep import space_of as space_asked
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList, Unavailable
from gpuexplorer.core.knobs import values_text
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.core.statistics import summarize
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.frameworks import MissingFramework
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.live import ghost_label, short_label
from gpuexplorer.gui.model.sweep_axes import axis_of, offers, space_of
from gpuexplorer.gui.model.sweep_preview import sweep_command
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.panels.figures import Figures
from gpuexplorer.gui.panels.missing import MissingFrameworks
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.switches import SWITCHES
from tests.gui import looks
from tests.support.prepared import prepared
from tests.support.results import made_result
from tests.support.situations import made_ceilings

WORKLOADS = load()
MODELS = tuple(
    variant.model
    for workload in WORKLOADS.values()
    for variant in workload.manifest.variants.values()
    if variant.model is not None and variant.model.startswith("torch.")
)
KERNELS = DeviceInfo(
    id="opencl:0", hardware_id="cpu", name="A processor", backend="opencl", kind="cpu",
    driver="1", compute_units=4, limits=DeviceLimits(memory_B=8 << 30), threads=3,
    precisions=("fp32", "fp64"), features=("opencl",), runs_kernels=True,
)  # fmt: skip
TORCH = DeviceInfo(
    id="torch:cpu", hardware_id="cpu", name="A processor", backend="torch", kind="cpu",
    driver="PyTorch 2", compute_units=4, limits=DeviceLimits(memory_B=8 << 30), threads=3,
    precisions=("fp64", "fp32", "bf16", "fp16", "int8", "autocast_bf16"), libraries=MODELS,
)  # fmt: skip
GPU = msgspec.structs.replace(
    TORCH, id="torch:cuda:0", hardware_id="gpu", name="A GPU", kind="gpu", threads=None
)
NO_KERAS = Unavailable(
    backend="keras", reason="Keras is not installed", remedy="install it with 'pip install keras'"
)
DEVICES = DeviceList(devices=(KERNELS, TORCH), unavailable=(NO_KERAS,))


@pytest.fixture(autouse=True)
def colours(qapp: QApplication) -> None:
    make_theme(qapp, "light")


def experiment(workload: str = "mlp", devices: DeviceList = DEVICES) -> Experiment:
    found = Experiment(WORKLOADS, devices)
    found.set_workload(workload)
    return found


# ---- the knobs


def test_a_model_has_sizes_and_switches_and_no_block() -> None:
    knobs = experiment()
    config = knobs.config()
    assert (config.variant, config.device, config.block) == ("torch", "torch:cpu", None)
    assert set(config.size) == {"B", "D", "H", "C"} and knobs.dimensions == 0
    names = [offer.name for offer in knobs.switch_offers()]
    assert {"compile", "grad_mode", "one_by_one", "cuda_graph", "pinned"} <= set(names)
    assert "jit" not in names and "channels_last" not in names


def test_what_a_cpu_does_not_have_is_refused_with_the_reason() -> None:
    found = {offer.name: offer for offer in experiment().switch_offers()}
    assert found["compile"].reason is None and found["grad_mode"].reason is None
    assert "GPU" in (found["cuda_graph"].reason or "") and "Not here" in found["cuda_graph"].tip
    refused = {c.words for c in found["compile"].choices if c.reason is not None}
    assert refused == {"reduce-overhead"}
    for offer in found.values():
        assert SWITCHES[offer.name].teaches in offer.tip


def test_copies_can_be_switched_once_they_are_timed() -> None:
    devices = DeviceList(devices=(GPU,))
    knobs = experiment(devices=devices)
    pinned = {o.name: o for o in knobs.switch_offers()}["pinned"]
    assert "Include transfers" in (pinned.reason or "")
    knobs.set_include_transfers(True)
    assert {o.name: o for o in knobs.switch_offers()}["pinned"].reason is None
    knobs.set_switch("pinned", True)
    assert knobs.config().switches == {"include_transfers": True, "pinned": True}
    knobs.set_include_transfers(False)
    assert knobs.config().switches == {}


def test_a_switch_is_a_knob_that_is_taken_back_and_made_again() -> None:
    knobs = experiment()
    knobs.set_switch("grad_mode", "grad")
    knobs.set_switch("one_by_one", True)
    assert knobs.config().switches == {"grad_mode": "grad", "one_by_one": True}
    knobs.set_switch("one_by_one", False)  # its default, which is not kept
    assert knobs.config().switches == {"grad_mode": "grad"}
    knobs.undo()
    knobs.undo()
    assert knobs.knobs.switches == {"grad_mode": "grad"}
    knobs.redo()
    assert knobs.knobs.switches == {"grad_mode": "grad", "one_by_one": True}


def test_a_value_that_cannot_be_moves_nothing_and_says_why() -> None:
    knobs = experiment()
    knobs.set_switch("grad_mode", "no_grad")
    knobs.set_switch("compile", "reduce-overhead")
    assert knobs.knobs.switches == {"grad_mode": "no_grad"}
    assert knobs.note is not None and "torch.compile is as usual" in knobs.note.text


def test_switches_that_do_not_go_together_push_each_other_out() -> None:
    knobs = experiment(devices=DeviceList(devices=(GPU,)))
    knobs.set_switch("cuda_graph", True)
    knobs.set_switch("compile", "reduce-overhead")
    assert knobs.knobs.switches == {"compile": "reduce-overhead"}
    assert knobs.note is not None and "CUDA graph" in knobs.note.text


def test_another_workload_or_variant_keeps_the_switches_it_has() -> None:
    knobs = experiment("matmul")
    knobs.set_variant("torch")
    knobs.set_switch("grad_mode", "grad")
    knobs.set_variant("naive")
    assert knobs.knobs.switches == {} and knobs.dimensions == 2
    assert knobs.switch_offers() == []
    knobs.set_variant("torch")
    assert knobs.dimensions == 0
    knobs.set_workload("mlp_training")
    assert knobs.config().variant == "torch" and knobs.knobs.switches == {}


def test_knobs_with_switches_are_remembered_and_old_ones_still_read() -> None:
    knobs = experiment()
    knobs.set_switch("compile", "default")
    data = msgspec.json.encode(knobs.knobs)
    other = experiment("matmul")
    assert other.restore(msgspec.json.decode(data, type=Knobs))
    assert other.knobs == knobs.knobs
    plain = msgspec.json.decode(data)
    del plain["switches"]
    assert msgspec.convert(plain, Knobs).switches == {}
    unknown = msgspec.structs.replace(knobs.knobs, switches={"of_a_newer_program": True})
    assert not other.restore(unknown)


def test_a_runs_configuration_comes_back_as_knobs() -> None:
    knobs = experiment()
    knobs.set_switch("grad_mode", "grad")
    config = msgspec.structs.replace(
        knobs.config(), switches={**knobs.config().switches, "even_if_wrong": True}
    )
    other = experiment("matmul")
    assert other.restore_run(config)
    assert other.config().switches == {"grad_mode": "grad"}


# ---- precisions and frameworks


def test_a_model_lists_every_precision_and_why_some_cannot_run() -> None:
    knobs = experiment()
    found = {offer.name: offer for offer in knobs.precision_offers()}
    assert list(found) == list(PRECISIONS)
    assert found["fp32"].reason is None and found["bf16"].reason is None
    assert found["fp8_e4m3"].reason is not None
    assert found["tf32"].tip == PRECISIONS["tf32"].about
    kernel = experiment("transpose")
    assert [o.name for o in kernel.precision_offers()] == list(kernel.workload.manifest.precisions)


def test_a_framework_that_is_not_here_says_how_to_install_it() -> None:
    knobs = experiment()
    keras = {offer.name: offer for offer in knobs.variant_offers()}["keras"]
    assert keras.title.endswith("(not here)") and "pip install keras" in (keras.reason or "")
    (missing,) = knobs.missing_frameworks
    assert (missing.title, missing.command) == ("Keras", "pip install keras")
    assert experiment("transpose").missing_frameworks == ()


def test_the_first_variant_that_runs_is_chosen() -> None:
    only_jax = msgspec.structs.replace(
        TORCH, id="jax:cpu", backend="jax", libraries=("jax.mlp",), precisions=("fp32",)
    )
    missing = Unavailable(backend="torch", reason="no torch", remedy="pip install torch")
    devices = DeviceList(devices=(KERNELS, only_jax), unavailable=(missing,))
    knobs = experiment(devices=devices)
    assert knobs.config().variant == "jax"


def test_the_command_of_a_missing_framework_is_copied(qtbot: QtBot) -> None:
    shown = MissingFrameworks()
    qtbot.addWidget(shown)
    said: list[str] = []
    shown.copied.connect(said.append)
    assert shown.isHidden()
    shown.show_missing(experiment().missing_frameworks)
    assert not shown.isHidden()
    label = shown.findChild(QLabel, "installCommand")
    assert label is not None and label.text() == "pip install keras"
    button = shown.findChild(QToolButton, "copyInstallCommand")
    assert button is not None
    button.click()
    assert QApplication.clipboard().text() == "pip install keras" and said
    shown.show_missing(())
    assert shown.isHidden()


def test_a_long_path_in_the_command_of_a_missing_framework_is_not_cut(qtbot: QtBot) -> None:
    python = "/home/somebody/programs/of/their/own/.venv/bin/python"
    shown = MissingFrameworks()
    qtbot.addWidget(shown)
    shown.resize(240, 400)
    remedy = f"install it with: {python} -m pip install keras"
    shown.show_missing([MissingFramework("keras", "Keras", "it is not here", remedy)])
    shown.show()
    looks.settle()
    assert shown.findChild(QLabel, "installCommand") is not None
    assert not list(looks.cut(shown))


# ---- the panel


@pytest.fixture
def panel(qtbot: QtBot) -> ExperimentPanel:
    model = experiment()
    shown = ExperimentPanel(model)
    model.on_change = shown.sync
    qtbot.addWidget(shown)
    return shown


def child(panel: ExperimentPanel, name: str, kind: type[Any]) -> Any:
    found = panel.findChild(kind, name)
    assert found is not None, name
    return found


def test_the_panel_shows_switches_in_place_of_blocks(panel: ExperimentPanel) -> None:
    assert all(row.isHidden() for row in panel.block_rows)
    assert not panel.switches.isHidden()
    flag = child(panel, "switch_one_by_one", QCheckBox)
    flag.click()
    assert panel._experiment.knobs.switches == {"one_by_one": True}
    panel._experiment.undo()
    assert not flag.isChecked()
    graph = child(panel, "switch_cuda_graph", QCheckBox)
    assert not graph.isEnabled() and "GPU" in graph.toolTip()
    modes = child(panel, "switch_grad_mode", QComboBox)
    modes.activated.emit(modes.findData("no_grad"))
    assert panel._experiment.knobs.switches == {"grad_mode": "no_grad"}
    assert modes.currentData() == "no_grad"
    assert "samples a step" in panel.block_words.text()
    panel._experiment.set_size("B", 1)
    assert "1 sample a step" in panel.block_words.text()
    panel._experiment.set_workload("transpose")
    assert panel.switches.isHidden() and not panel.block_rows[0].isHidden()


def test_each_size_of_a_model_has_a_slider_and_a_box(panel: ExperimentPanel) -> None:
    rows = panel._size_rows
    assert list(rows) == ["B", "D", "H", "C"]
    rows["H"].box.setValue(256)
    assert panel._experiment.knobs.size["H"] == 256
    assert rows["B"].label.text() == "Batch B"


@pytest.mark.parametrize(("variant", "following"), [("tiled", "vector_add"), ("tiled", "mlp")])
def test_a_half_typed_size_does_not_follow_to_another_workload(
    panel: ExperimentPanel, qtbot: QtBot, variant: str, following: str
) -> None:
    model = panel._experiment
    model.set_workload("matmul")
    model.set_variant(variant)
    with qtbot.waitActive(panel):
        panel.show()
        panel.activateWindow()
    box = panel._size_rows["N"].box
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, "3")
    assert box.hasFocus() and model.knobs.size["N"] != 3
    model.set_workload(following)
    expected = WORKLOADS[following].manifest.sizes
    assert model.knobs.size == {name: spec.default for name, spec in expected.items()}
    assert list(panel._size_rows) == list(expected)
    assert list(panel._tunable_boxes) == list(model.knobs.tunables)


def test_the_lists_grey_out_what_is_not_here(panel: ExperimentPanel) -> None:
    box = child(panel, "variantBox", QComboBox)
    item = box.model().item(box.findData("keras"))
    assert not item.isEnabled() and "pip install keras" in item.toolTip()
    precisions = child(panel, "precisionBox", QComboBox)
    assert precisions.count() == len(PRECISIONS)


# ---- words


def model_config(**changes: Any) -> RunConfig:
    return msgspec.structs.replace(experiment().config(), **changes)


def test_labels_name_the_switches_that_differ() -> None:
    plain, switched = model_config(), model_config(switches={"compile": "default"})
    assert short_label(plain) == "torch"
    assert short_label(switched, plain) == "compile = default"
    assert short_label(plain, switched) == "switches as usual"
    assert ghost_label(switched).endswith("fp32 · compile = default")
    assert switch_words(model_config(switches={"memory_growth": False})) == "without memory growth"
    assert switch_words(model_config(switches={"even_if_wrong": True})) == ""


def test_the_command_of_a_run_has_its_switches() -> None:
    config = model_config(switches={"compile": "default", "one_by_one": True})
    words = shlex.split(reproduce.command_line(config))
    assert "compile=default" in words and words.count("--switch") == 2
    assert dict(parse(words[1:]).switch) == {"compile": "default", "one_by_one": True}


def test_switches_are_axes_of_a_sweep() -> None:
    knobs = experiment()
    found = {offer.name: offer for offer in offers(knobs)}
    assert found["switch.grad_mode"].text == "grad,no_grad,inference"
    assert "switch.cuda_graph" not in found
    assert axis_of("switch.one_by_one", "off,on").values == (False, True)
    assert values_text((False, True)) == "off,on"
    chosen = {"switch.one_by_one": "off,on", "precision": "fp32,bf16", "size.B": "8,16"}
    space = space_of(knobs, chosen)
    points = space.points(knobs.workload, DEVICES)
    assert len(points) == 8 and all(point.config is not None for point in points)
    text = sweep_command(space, Measuring())
    assert "--switch one_by_one=off,on" in text and "--block" not in text


def test_what_a_batch_is_worth_a_second() -> None:
    config = model_config(size={"B": 64, "D": 8, "H": 8, "C": 2})
    assert items_per_launch(config) == (64, "samples")
    tokens = model_config(size={"B": 4, "S": 128, "D": 8})
    assert items_per_s(tokens, 2.0) == (256.0, "tokens/s")
    assert items_per_launch(prepared().config) is None
    assert items_per_s(tokens, None) is None


def test_figures_say_what_really_ran(qtbot: QtBot) -> None:
    figures = Figures()
    qtbot.addWidget(figures)
    ready = msgspec.structs.replace(
        prepared(),
        config=model_config(precision="fp16"),
        arithmetic=Arithmetic(
            asked="fp16", ran="fp32", accumulates_in="fp32", how="by its results",
            fallback="fp32 arithmetic ran",
        ),
    )  # fmt: skip
    figures.show_figures(ready, None, None)
    assert figures.arithmetic.text() == "fp32 ⚠" and figures.sums.text() == "fp32"
    assert "fp32 arithmetic ran" in figures.arithmetic.toolTip()
    figures.show_figures(prepared(), None, None)
    assert figures.arithmetic.isHidden() and figures.items.isHidden()


def test_the_history_finds_runs_by_their_switches() -> None:
    run = made_result(40)
    other = msgspec.structs.replace(run, id="f" * 32)
    config = model_config(switches={"compile": "default", "cuda_graph": True})
    with Store.open() as store:
        store.add(msgspec.structs.replace(run, config=config))
        store.add(other)
        (row,) = store.find(Query(text="compile=default"))
        assert row.switch_words == "compile = default, cuda graph"
        assert [r.id for r in store.find(Query(text="cuda_graph"))] == [run.id]


def test_the_command_of_a_sweep_over_switches_says_the_same_sweep() -> None:
    model = load()["mlp"].manifest
    words = ["sweep", "mlp", "--variant", "torch", "--switch", "compile=off,default",
             "--switch", "in_place=on", "--size", "B=1,8"]  # fmt: skip
    space = space_asked(parse(words), model)
    again = parse(sweep_command(space, Measuring()).split()[1:])
    assert space_asked(again, model) == space


def test_a_run_is_held_against_the_roof_that_it_meets_first(qtbot: QtBot) -> None:
    figures = Figures()
    qtbot.addWidget(figures)
    ready = prepared()
    unknown = msgspec.structs.replace(ready.device, peak_bandwidth_B_per_s=None)
    ready = msgspec.structs.replace(ready, device=unknown)
    summary = summarize(np.full(50, 1e-3))
    figures.show_figures(ready, summary, None)
    assert figures.of_peak.text() == "not calibrated yet"
    figures.show_figures(ready, summary, made_ceilings(memory=50e9))
    assert figures.of_peak.text().endswith(" % of 50.0 GB/s")
    assert "measured to move" in figures.of_peak.toolTip()
    stated = msgspec.structs.replace(unknown, peak_bandwidth_B_per_s=80e9)
    ready = msgspec.structs.replace(ready, device=stated)
    figures.show_figures(ready, summary, made_ceilings(memory=50e9))
    assert figures.of_peak.text().endswith(" % of 80.0 GB/s")
    rate = ready.flops / 1e-3
    slower = made_ceilings(memory=50e9, compute=2 * rate)
    figures.show_figures(msgspec.structs.replace(ready, traffic=[]), summary, slower)
    assert figures.of_peak.text() == f"50 % of {quantity(2 * rate, 'FLOP/s')}"
    assert "arithmetic was measured" in figures.of_peak.toolTip()
