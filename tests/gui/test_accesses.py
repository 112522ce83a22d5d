"""The Accesses view: counted through the window's engine, drawn again as knobs move."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gpuexplorer.core import language
from gpuexplorer.core.accesses import AccessProfile
from gpuexplorer.gui.model.live import Run
from gpuexplorer.gui.panels.accesses import AccessesJob, AccessesView
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import keep_manifest
from tests.backends.opencl_support import device
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")


def counted(qtbot: QtBot, view: AccessesView, block: tuple[int, int, int]) -> AccessProfile:
    """Wait until the view shows the accesses of a block."""
    until(qtbot, lambda: view.shown is not None and view.shown.block == block)
    assert view.shown is not None
    return view.shown


def test_a_warp_is_counted_and_drawn_again_as_the_block_moves(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    session = window.session
    session.live_at_start = False
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_workload("matmul")
    session.experiment.set_variant("naive")
    session.experiment.set_size("N", 64)
    session.experiment.set_block((32, 8, 1))
    window.panels.places.show_view(window.panels.accesses)
    view = window.panels.accesses.view
    assert isinstance(view, AccessesView)
    until(qtbot, view.count_button.isEnabled)
    QTest.mouseClick(view.count_button, Qt.MouseButton.LeftButton)
    job = session.jobs.current
    counted(qtbot, view, (32, 8, 1))
    assert isinstance(job, AccessesJob) and job._receiver is None  # it holds no profile any more
    assert view.warp.shown is not None
    assert "1 sector of 32 B" in view.request_words.text()
    assert "every lane has a thread" in view.place.text()

    again = open_window()  # as after a change of language or of the text's size
    again.session.live_at_start = False
    kept = window.panels.accesses
    again.panels.accesses.show_held(kept.decode(kept.encode(kept.held()), ""))
    other = again.panels.accesses.view
    assert isinstance(other, AccessesView) and view.shown is not None and other.shown is not None
    assert other.shown.rows == view.shown.rows and other.origin == ""
    again.panels.places.show_view(again.panels.accesses)
    until(qtbot, other.count_button.isEnabled)
    assert again.session.jobs.current is None, "it stays until the knobs move"
    knobs = again.session.experiment
    knobs.set_workload("matmul")
    knobs.set_variant("naive")
    knobs.set_size("N", 64)
    knobs.set_block((8, 8, 1))
    again.session.knobs_changed.emit()
    counted(qtbot, other, (8, 8, 1))

    QTest.keyClick(view.warp, Qt.Key.Key_Right)
    assert view.scrubber.value() == 1
    assert (
        "read of array B" in view.request_words.text() and "4 sectors" in view.request_words.text()
    )
    assert view.table.key == "1"
    view.table.show_key("2")
    assert "write of array C" in view.request_words.text()
    language.use("zh_CN")
    try:
        view._show_request(0)
        assert view.request_words.text().startswith("第 1 个请求，共 ")
    finally:
        language.use(language.ENGLISH)

    session.experiment.set_block((1, 64, 1))
    session.knobs_changed.emit()
    profile = counted(qtbot, view, (1, 64, 1))
    assert profile.rows[0].sectors_per_request == 32
    assert "swap x and y of the block" in view.notes.text()
    until(qtbot, lambda: "Compiled for sm_90" in view.notes.text())
    assert view.shown is not None and view.shown.compiled is not None
    assert "STG.E" in " ".join(one.opcode for one in view.shown.compiled.found)
    QTest.keyClick(view.grid, Qt.Key.Key_Down)
    until(qtbot, lambda: view.shown is not None and view.shown.look.warp == 1)
    view.grab()
    QTest.mouseClick(view.grid, Qt.MouseButton.LeftButton, pos=QPoint(view.grid.width() // 4, 8))
    until(qtbot, lambda: view.shown is not None and view.shown.look.block[0] > 0)

    for suffix in view.exported().formats:
        view.exported().write(tmp_path / f"a.{suffix}", suffix, "dark")
    written = msgspec.json.decode((tmp_path / "a.json").read_bytes())
    assert written["schema"] == "gpuexplorer/accesses/1"
    assert "C[row * N + col]" in (tmp_path / "a.csv").read_text(encoding="utf-8")


def test_what_a_file_brings_stays_until_a_knob_moves(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    session, knobs = window.session, window.session.experiment
    session.live_at_start = False
    until(qtbot, lambda: knobs.devices is not None)
    knobs.set_workload("matmul")
    knobs.set_variant("naive")
    knobs.set_size("N", 64)
    knobs.set_block((32, 8, 1))
    window.panels.places.show_view(window.panels.accesses)
    view = window.panels.accesses.counting()
    until(qtbot, view.count_button.isEnabled)
    view.count()
    counted(qtbot, view, (32, 8, 1))
    until(qtbot, lambda: view.shown is not None and view.shown.compiled is not None)
    file = tmp_path / "a.gpux"
    window.sessions.write(file)
    until(qtbot, lambda: window.sessions.path == file)
    knobs.set_block((8, 8, 1))
    session.knobs_changed.emit()
    counted(qtbot, view, (8, 8, 1))
    until(qtbot, lambda: session.jobs.current is None)

    counts: list[object] = []
    count = view.count

    def noted() -> None:
        counts.append(knobs.knobs.block)
        count()

    monkeypatch.setattr(view, "count", noted)
    window.sessions.may_close = lambda: True  # type: ignore[method-assign]
    window.sessions.open(file)
    until(qtbot, lambda: view.origin == "a.gpux")
    until(qtbot, lambda: not view._recount.isActive())
    assert view.shown is not None and view.shown.block == (32, 8, 1) and not counts
    assert "requests of" in view.status.text()
    window.sessions.back()
    until(qtbot, lambda: view.origin == "" and not view._recount.isActive())
    assert view.shown.block == (8, 8, 1) and not counts
    window.sessions.open(file)
    until(qtbot, lambda: view.origin == "a.gpux")
    window.panels.places.show_view(window.panels.compare)
    knobs.set_block((16, 4, 1))
    session.knobs_changed.emit()
    assert not counts
    window.panels.places.show_view(window.panels.accesses)
    counted(qtbot, view, (16, 4, 1))
    assert counts == [(16, 4, 1)] and view.origin == ""


ROWS = """
__global__ void addOne(const float *A, float *B, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N) for (int k = 0; k < N; k++) B[row * N + k] = A[row * N + k] + 1;
}
"""


def test_what_no_manifest_says_is_shown_with_the_run_as_it_was_counted(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(ROWS, encoding="utf-8")
    keep_manifest(path, Answers(reference={"": "A + 1"}, sizes={"N": 256}))
    window = open_window("--kernels", str(path))
    session, panels = window.session, window.panels

    def measured(block: int) -> Run | None:
        """Return the present run once it is measured with a block of that width."""
        run = session.live_model.current
        if run is None or run.config.workload != "rows" or run.summary is None:
            return None
        return run if run.config.block == (block, 1, 1) else None

    session.live_at_start = False
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_workload("rows")
    session.knobs_changed.emit()
    session.set_live(True)
    until(qtbot, lambda: measured(256) is not None)
    run = measured(256)
    assert run is not None and "requested" not in run.traffic
    until(qtbot, lambda: "Accesses counts it" in panels.traffic.legend["requested_read"].toolTip())
    panels.places.show_view(panels.accesses)
    view = panels.accesses.view
    assert isinstance(view, AccessesView)
    until(qtbot, view.count_button.isEnabled)
    QTest.mouseClick(view.count_button, Qt.MouseButton.LeftButton)

    until(qtbot, lambda: (now := measured(256)) is not None and "requested" in now.traffic)
    now = measured(256)
    assert now is not None and now.record is not None
    assert now.traffic["requested"].read_B == 256 * 256 * 4
    result = now.record.result()
    assert [t.source for t in result.traffic if t.kind == "requested"] == ["counted"]
    panels.places.show_view(panels.live)
    until(qtbot, lambda: "as counted" in panels.traffic._note.text())
    cards = panels.insight.advice.cards
    until(qtbot, lambda: any("Line 5 fetches" in card.evidence.text() for card in cards))
    session.experiment.set_block((64, 1, 1))
    session.knobs_changed.emit()
    until(qtbot, lambda: measured(64) is not None)
    other = measured(64)
    assert other is not None and "requested" not in other.traffic


def test_another_source_is_counted_again_and_what_was_counted_of_the_last_one_is_dim(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(ROWS, encoding="utf-8")
    keep_manifest(path, Answers(reference={"": "A + 1"}, sizes={"N": 256}))
    window = open_window("--kernels", str(path))
    session, panels = window.session, window.panels
    session.live_at_start = False
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_workload("rows")
    session.experiment.set_block((64, 1, 1))
    panels.places.show_view(panels.accesses)
    view = panels.accesses.view
    assert isinstance(view, AccessesView)
    until(qtbot, view.count_button.isEnabled)
    against = session.experiment.config()
    session.experiment.set_block((256, 1, 1))
    view.hold_against(against)
    view.count()
    counted(qtbot, view, (256, 1, 1))
    until(qtbot, lambda: session.jobs.current is None)
    assert not view.caption.moved

    def read_again(text: str) -> str:
        """Have another text in the file while another view is shown; return its SHA-256."""
        panels.places.show_view(panels.live)
        path.write_text(text, encoding="utf-8")
        window.commands.reload_kernels.trigger()
        panels.places.show_view(panels.accesses)
        return session.experiment.workload.sha256

    source = read_again(ROWS.replace("A[row * N + k] + 1", "1 + A[k * N + row]"))
    until(qtbot, lambda: view.shown is not None and view.shown.environment.source_sha256 == source)
    assert view.beside is not None and view.beside.environment.source_sha256 == source
    assert not view.caption.moved
    assert view.shown is not None and "A[k * N + row]" in str(view.shown.rows)

    with qtbot.waitSignal(view.counted, timeout=60_000) as failed:
        read_again(ROWS.replace("A[row * N + k] + 1", "nothing"))
    assert not isinstance(failed.args[0], AccessProfile), "it does not compile"
    until(qtbot, lambda: view.caption.moved)
    assert "another source of rows" in view.caption.words.text()
    assert view.shown.environment.source_sha256 == source


def test_what_cannot_be_counted_says_why(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    session = window.session
    session.live_at_start = False
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_workload("matmul")
    session.experiment.set_variant("numpy")
    window.panels.places.show_view(window.panels.accesses)
    view = window.panels.accesses.view
    assert isinstance(view, AccessesView)
    until(qtbot, lambda: "This variant is no kernel" in view.empty.text)
    assert not view.count_button.isEnabled()
