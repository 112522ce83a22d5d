"""Which knobs may stand where, and what is said when they may not."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.workloads.loader import GROUPS, load, shipped_folder
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload, WorkloadSource

WORKLOADS = load()
CPU = DeviceInfo(
    id="opencl:0",
    hardware_id="cpu",
    name="A processor",
    backend="opencl",
    kind="cpu",
    driver="driver 1",
    compute_units=4,
    limits=DeviceLimits(max_block=(1024, 1024, 1024), memory_B=1 << 30),
    precisions=("fp32", "fp64"),
    features=("opencl",),
    threads=3,
    runs_kernels=True,
)

TIED = Workload(
    WorkloadSource(
        manifest="""
format = 1
name = "square"
title = "Square"
summary = "Blocks must be square."
[sizes.N]
max = 4096
default = 64
[precisions]
fp32 = { tolerance = 1e-6 }
[arrays]
x = { shape = ["N", "N"], role = "in" }
y = { shape = ["N", "N"], role = "out" }
[work]
flops = "N**2"
read_bytes = "N**2 * itemsize"
write_bytes = "N**2 * itemsize"
[reference]
outputs = { y = "x" }
[variants.tied]
title = "Tied"
teaches = "Square blocks."
constraints = [{ rule = "block_x == block_y", because = "its tile is square" }]
[[variants.tied.launch]]
source = "k.cu"
entry = "k"
block = [16, 16]
grid = ["ceil_div(N, block_x)", "ceil_div(N, block_y)"]
args = ["x", "y", "N"]
""",
        files={"k.cu": "__global__ void k(const real* x, real* y, int N) {}"},
    )
)


def experiment(workloads: dict[str, Workload] | None = None) -> Experiment:
    return Experiment(workloads or WORKLOADS, DeviceList(devices=(CPU,)))


def test_it_starts_with_the_textbook_product() -> None:
    config = experiment().config()
    assert (config.workload, config.variant, config.size) == ("matmul", "naive", {"N": 512})
    assert (config.block, config.precision, config.device) == ((16, 16, 1), "fp32", "opencl:0")


def test_knobs_that_nobody_moved_follow_what_was_tuned_for_the_device() -> None:
    knobs = Experiment(WORKLOADS)
    knobs.set_variant("panels")
    assert (knobs.knobs.block, knobs.knobs.tunables["COLS"]) == ((16, 16, 1), 2)
    wide = msgspec.structs.replace(CPU, features=("opencl", "lanes_16"))
    knobs.set_devices(DeviceList(devices=(wide,)))
    assert (knobs.knobs.block, knobs.knobs.tunables["COLS"]) == ((16, 64, 1), 4)
    knobs.set_precision("fp64")
    assert (knobs.knobs.block, knobs.knobs.tunables["COLS"]) == ((16, 64, 1), 2)
    knobs.set_variant("naive")
    assert knobs.knobs.block == (16, 16, 1)
    knobs.set_block((32, 8, 1))
    knobs.set_precision("fp32")
    knobs.set_variant("panels")
    assert (knobs.knobs.block, knobs.knobs.tunables["COLS"]) == ((32, 8, 1), 4)


def test_knobs_that_nobody_moved_follow_what_was_tuned_for_the_size() -> None:
    wide = msgspec.structs.replace(CPU, features=("opencl", "lanes_16", "intel_cpu"))
    knobs = Experiment(WORKLOADS, DeviceList(devices=(wide,)))
    knobs.set_variant("cache_blocked")
    knobs.set_precision("fp64")
    assert knobs.knobs.block == (16, 2, 16)
    knobs.set_size("N", 2048)
    assert knobs.knobs.block == (16, 1, 16)
    knobs.set_axis(2, 8)
    knobs.set_size("N", 512)
    assert knobs.knobs.block == (16, 1, 8)


def test_before_devices_are_known_knobs_can_be_turned_already() -> None:
    early = Experiment(WORKLOADS)
    early.set_axis(0, 32)
    assert early.knobs.block == (32, 16, 1)
    early.set_axis(0, 128)
    assert early.knobs.block == (64, 16, 1)


def test_an_axis_stops_at_the_limit_and_offers_to_make_room() -> None:
    knobs = experiment()
    knobs.set_axis(0, 256)
    assert knobs.knobs.block == (64, 16, 1)
    assert knobs.note is not None
    assert "256 × 16 = 4096 threads" in knobs.note.text
    assert "1024" in knobs.note.text
    assert knobs.note.knobs is not None
    assert knobs.note.knobs.block == (256, 4, 1)
    knobs.set_knobs(knobs.note.knobs)
    assert knobs.config().block == (256, 4, 1)
    assert knobs.note is None


def test_the_reason_for_a_stop_is_told_before_one_runs_into_it() -> None:
    knobs = experiment()
    assert knobs.room.legal(0) == 64
    assert knobs.room.limit(0) == 1024
    assert "128 × 16 = 2048" in (knobs.room.reason(0) or "")
    knobs.set_axis(1, 1)
    assert knobs.room.legal(0) == 1024
    assert knobs.room.reason(0) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 5000)), min_size=1, max_size=12))
def test_whatever_is_moved_the_configuration_can_be_launched(moves: list[tuple[int, int]]) -> None:
    knobs = experiment()
    for axis, value in moves:
        knobs.set_axis(axis, value)
        block = knobs.config().block
        assert block is not None
        assert math.prod(block) <= 1024
        if block[axis] != value:
            assert knobs.note is not None


def test_tied_axes_follow_and_say_why() -> None:
    knobs = experiment({"square": TIED})
    knobs.set_axis(0, 32)
    assert knobs.knobs.block == (32, 32, 1)
    assert knobs.note is not None
    assert "y followed to 32" in knobs.note.text
    assert "its tile is square" in knobs.note.text


def test_a_size_that_does_not_fit_stops_at_one_that_does() -> None:
    knobs = experiment()
    knobs.set_size("N", 16384)  # 3 × 1 GiB of fp32, and the host's copies, where there is 1 GiB
    assert knobs.knobs.size["N"] == 4096
    assert knobs.note is not None
    assert "N stays at 4096" in knobs.note.text
    assert knobs.problem() is None


def test_undo_takes_a_whole_drag_back_at_once() -> None:
    knobs = experiment()
    knobs.begin_gesture()
    for value in (32, 64, 32, 8):
        knobs.set_axis(0, value)
    knobs.end_gesture()
    knobs.set_precision("fp64")
    knobs.undo()
    assert knobs.knobs.precision == "fp32"
    assert knobs.knobs.block == (8, 16, 1)
    knobs.undo()
    assert knobs.knobs.block == (16, 16, 1)
    assert not knobs.can_undo
    knobs.redo()
    knobs.redo()
    assert (knobs.knobs.block, knobs.knobs.precision) == ((8, 16, 1), "fp64")
    assert not knobs.can_redo


def test_a_drag_ends_with_its_slider_and_later_changes_are_steps(
    qtbot: QtBot, qapp: QApplication
) -> None:
    make_theme(qapp, "light")
    knobs = experiment()
    panel = ExperimentPanel(knobs)
    knobs.on_change = panel.sync
    qtbot.addWidget(panel)
    panel.resize(320, 900)
    panel.show()

    def press(name: str) -> None:
        slider = panel.findChild(SnapSlider, name)
        assert slider is not None and slider.isVisible()
        QTest.mousePress(slider, Qt.MouseButton.LeftButton, pos=slider.rect().center())
        assert slider.isSliderDown()

    def assert_steps() -> None:
        for width in (8, 4):
            knobs.set_axis(0, width)
        knobs.undo()
        assert knobs.knobs.block is not None and knobs.knobs.block[0] == 8

    press("sizeSlider")
    read = {name: Workload(one.source) for name, one in knobs.workloads.items()}
    knobs.set_workloads(read)
    assert_steps()
    press("blockXSlider")
    knobs.set_variant("numpy")
    knobs.set_variant("naive")
    assert_steps()


def test_a_gesture_that_changes_nothing_leaves_nothing_to_undo() -> None:
    knobs = experiment()
    knobs.begin_gesture()
    knobs.set_axis(0, 16)
    knobs.end_gesture()
    assert not knobs.can_undo


def test_what_the_device_lacks_is_offered_greyed_with_the_reason() -> None:
    offers = {o.name: o for o in experiment().precision_offers()}
    assert offers["fp32"].reason is None
    assert "does not offer fp16" in (offers["fp16"].reason or "")


def test_changing_the_variant_keeps_block_and_size() -> None:
    knobs = experiment()
    knobs.set_axis(1, 4)
    knobs.set_size("N", 256)
    knobs.set_variant("uncoalesced")
    assert knobs.config().block == (16, 4, 1)
    assert knobs.config().size == {"N": 256}


def test_devices_that_disappear_leave_a_note_and_a_device_that_is_there() -> None:
    knobs = experiment()
    other = msgspec.structs.replace(CPU, id="cuda:0")
    knobs.set_devices(DeviceList(devices=(CPU, other)))
    knobs.set_device("cuda:0")
    knobs.set_devices(DeviceList(devices=(CPU,)))
    assert knobs.knobs.device == "auto"
    assert knobs.note is not None
    assert "cuda:0" in knobs.note.text


def test_undo_leads_to_no_device_that_is_not_here_any_more() -> None:
    knobs = experiment()
    other = msgspec.structs.replace(CPU, id="cuda:0")
    knobs.set_devices(DeviceList(devices=(CPU, other)))
    knobs.set_device("cuda:0")
    knobs.set_precision("fp64")
    knobs.set_devices(DeviceList(devices=(CPU,)))
    knobs.undo()
    assert (knobs.knobs.precision, knobs.knobs.device) == ("fp32", "auto")
    assert knobs.note is not None and "cuda:0" in knobs.note.text
    knobs.redo()
    assert (knobs.knobs.precision, knobs.problem()) == ("fp64", None)


@pytest.mark.parametrize("field", ["workload", "variant", "precision", "fill"])
def test_remembered_knobs_of_another_version_are_not_restored(field: str) -> None:
    knobs = experiment()
    before = knobs.knobs
    assert not knobs.restore(msgspec.structs.replace(before, **{field: "gone"}))
    assert knobs.knobs == before


def test_transfers_are_a_switch_of_the_configuration() -> None:
    knobs = experiment()
    knobs.set_include_transfers(True)
    assert knobs.config().include_transfers


def test_cold_caches_and_transfers_take_turns() -> None:
    knobs = experiment()
    assert knobs.config().cache == "hot"
    knobs.set_cache("cold")
    assert knobs.config().cache == "cold"
    assert all(offer.reason is None for offer in knobs.cache_offers())
    knobs.set_include_transfers(True)
    assert (knobs.config().cache, knobs.config().include_transfers) == ("hot", True)
    assert [bool(offer.reason) for offer in knobs.cache_offers()] == [False, True]
    knobs.set_cache("cold")
    assert (knobs.config().cache, knobs.config().include_transfers) == ("cold", False)


def test_caches_and_inputs_stay_when_the_workload_changes() -> None:
    knobs = experiment()
    knobs.set_cache("cold")
    knobs.set_fill("zeros")
    knobs.set_workload("stream")
    assert (knobs.config().cache, knobs.config().fill) == ("cold", "zeros")
    knobs.undo()
    assert (knobs.knobs.workload, knobs.knobs.fill) == ("matmul", "zeros")
    knobs.undo()
    assert (knobs.knobs.cache, knobs.knobs.fill) == ("cold", "manifest")


def test_workloads_are_listed_in_groups_with_a_sentence_each(tmp_path: Path) -> None:
    folder = tmp_path / "twice"
    shutil.copytree(shipped_folder() / "vector_add", folder)
    manifest = folder / "workload.toml"
    text = manifest.read_text(encoding="utf-8").replace('"vector_add"', '"twice"', 1)
    manifest.write_text(text, encoding="utf-8")
    offers = Experiment(load([folder]), DeviceList(devices=(CPU,))).workload_offers()
    groups = {name: [o.name for o in offers if o.group == name] for name in GROUPS}
    assert list(dict.fromkeys(o.group for o in offers)) == list(GROUPS)
    own = {n for n, w in WORKLOADS.items() if any(v.launch for v in w.manifest.variants.values())}
    assert groups["Kernels"] == sorted(own)
    assert own >= {"histogram", "layer_norm", "matmul", "scan", "softmax", "spmv", "stencil3d"}
    assert groups["Yours"] == ["twice"]
    assert {"mlp", "cnn"} <= set(groups["Models"])
    assert all(o.line == WORKLOADS.get(o.name, WORKLOADS["vector_add"]).manifest.summary
               for o in offers)  # fmt: skip


def test_the_inputs_own_distribution_is_named() -> None:
    knobs = experiment()
    offers = {offer.name: offer.title for offer in knobs.fill_offers()}
    assert list(offers) == ["manifest", "normal", "uniform", "integers", "zeros"]
    assert offers["manifest"] == "The workload's own"
    assert "Normal, N(0, 1)" in knobs.fill_offers()[0].tip
    assert knobs.plan().array("A").fill == "normal"
    knobs.set_fill("integers")
    assert knobs.plan().array("A").fill == "integers"


def test_there_is_no_way_back_to_a_workload_that_is_gone() -> None:
    knobs = experiment({"square": TIED, **WORKLOADS})
    knobs.set_workload("square")
    knobs.set_axis(0, 32)
    knobs.set_workloads(WORKLOADS)
    assert knobs.knobs.workload == "matmul"
    while knobs.can_undo:
        knobs.undo()
        assert knobs.knobs.workload == "matmul"


def test_a_run_leads_back_to_its_knobs() -> None:
    knobs = experiment()
    knobs.set_variant("tiled")
    knobs.set_axis(0, 8)
    before, config = knobs.knobs, knobs.config()
    knobs.set_workload("vector_add")
    assert knobs.restore_run(config)
    assert knobs.knobs == msgspec.structs.replace(before, device="opencl:0")
    assert not knobs.restore_run(msgspec.structs.replace(config, workload="gone"))
    assert knobs.knobs.workload == "matmul"


def test_what_would_be_launched_is_worked_out_once_for_each_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    knobs = experiment()
    made: list[object] = []

    def counted(workload: Workload, config: RunConfig, device: DeviceInfo) -> Plan:
        made.append(config)
        return make_plan(workload, config, device)

    monkeypatch.setattr("gpuexplorer.gui.model.experiment.make_plan", counted)
    knobs.set_axis(0, 8)
    assert knobs.config() == knobs.plan().config and knobs.problem() is None
    assert len(made) == 1
    knobs.set_devices(DeviceList(devices=knobs.devices.devices if knobs.devices else ()))
    assert knobs.problem() is None and len(made) == 2
