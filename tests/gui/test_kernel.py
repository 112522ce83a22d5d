"""The Kernel view: what the present variant would be on any GPU, compiled beside the window."""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel
from pytestqt.qtbot import QtBot

from gpuexplorer.analysis.instructions import KIND_TITLES
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core import language
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.code.instructions import InstructionsText
from gpuexplorer.gui.code.view import CodeView, scroll_near_top
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.panels import kernel_worker
from gpuexplorer.gui.panels.kernel import KernelPanel
from gpuexplorer.gui.panels.kernel_listing import FAMILIES, MixStrip
from gpuexplorer.gui.panels.kernel_pages import entry_line
from gpuexplorer.gui.panels.kernel_worker import Answer, KernelWorker, Question
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.workloads.loader import load
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.kernels import write_vector


def kernel_view(window: MainWindow) -> KernelPanel:
    """Stop measuring, show the Kernel tab and return it."""
    window.session.set_live(False)
    panel = window.panels.kernel
    window.panels.places.show_view(panel)
    return panel


def shown(panel: KernelPanel, entry: str, arch: str = "sm_90") -> bool:
    return bool(panel.kernels) and (panel.kernels[0].name, panel.kernels[0].arch) == (entry, arch)


def test_nothing_is_compiled_before_somebody_looks(qtbot: QtBot, window: MainWindow) -> None:
    wait_measured(qtbot, window, 1)
    window.session.experiment.set_variant("tiled")
    wait_measured(qtbot, window, 1)
    assert not window.panels.kernel.worker.isRunning()
    assert window.panels.kernel.kernels == []


def test_figures_curve_and_source_of_the_present_variant(qtbot: QtBot, window: MainWindow) -> None:
    panel = kernel_view(window)
    assert find(window, "architectureBox", QComboBox).currentData() == "sm_90"
    until(qtbot, lambda: shown(panel, "matrixMul"))
    kernel = panel.kernels[0]
    figure = find(window, "registersOfKernel", Words).text()
    assert figure == f"{kernel.registers_per_thread} a thread"
    assert find(window, "occupancyOfKernel", Words).text() == "100 % at 16×16"
    assert find(window, "spillsOfKernel", Words).text() == "none"
    assert len(panel.plot.curve) == 32
    assert panel.legend.limiters == ("blocks", "threads")
    assert "nothing was run" in panel.status.text()
    assert panel.caption.words.text().startswith("matmul · naive · N = ")
    assert "sm_90" in panel.caption.words.text() and not panel.caption.moved
    text = panel.source.toPlainText().splitlines()
    assert panel.source.entry_line is not None
    assert "__global__ void matrixMul" in text[panel.source.entry_line]
    assert panel.source.isReadOnly()


def test_another_gpu_variant_and_block(qtbot: QtBot, window: MainWindow) -> None:
    panel = kernel_view(window)
    until(qtbot, lambda: shown(panel, "matrixMul"))
    panel.choose_architecture("sm_89")
    until(qtbot, lambda: shown(panel, "matrixMul", "sm_89"))
    window.session.experiment.set_workload("reduction")
    until(qtbot, lambda: shown(panel, "partialSums", "sm_89"))
    compiled: list[int] = []
    panel.worker.compiling.connect(compiled.append)
    window.session.experiment.set_block((1024, 1, 1))
    until(qtbot, lambda: panel.kernels[0].block == (1024, 1, 1))
    assert compiled == [], "a block alone needs no compiler"
    assert panel.kernels[0].occupancy == pytest.approx(2 / 3)
    box = find(window, "entryBox", QComboBox)
    assert box.isVisible()
    box.setCurrentIndex(1)
    assert "finalSum" in panel.code.title.text()
    assert find(window, "dynamicOfKernel", Words).text().endswith("096 B a block")


def test_the_architecture_is_remembered(qtbot: QtBot, open_window: OpenWindow) -> None:
    first = open_window()
    first.panels.kernel.choose_architecture("sm_120")
    first.close()
    again = open_window()
    until(qtbot, lambda: again.session.experiment.devices is not None)
    assert again.panels.kernel.architecture == "sm_120"


def test_a_click_on_a_bar_chooses_its_block(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    panel = kernel_view(window)
    until(qtbot, lambda: shown(panel, "matrixMul"))
    until(qtbot, lambda: panel.plot.width() > 100)
    at = panel.plot.mapFromScene(panel.plot.box.mapViewToScene(QPointF(512, 10)))
    QTest.mouseClick(panel.plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert window.session.experiment.knobs.block == (16, 32, 1)
    until(qtbot, lambda: panel.kernels[0].block == (16, 32, 1))


def test_a_library_call_has_nothing_to_show(qtbot: QtBot, window: MainWindow) -> None:
    panel = kernel_view(window)
    until(qtbot, lambda: shown(panel, "matrixMul"))
    window.session.experiment.set_variant("numpy")
    message = find(window, "kernelMessage", QLabel)
    assert message.isVisible()
    assert message.text().startswith("The library call numpy.matmul has its own kernels")
    assert not panel.message.button.isVisible()
    assert panel.source.toPlainText() == ""
    window.choices.choose_theme("dark")
    assert message.isVisible()
    window.session.experiment.set_variant("naive")
    until(qtbot, lambda: shown(panel, "matrixMul") and not message.isVisible())


def test_a_source_that_does_not_compile_is_told_with_file_and_line(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    folder = write_vector(tmp_path, "B[i] = oops;")
    window = open_window("--kernels", str(folder))
    panel = kernel_view(window)
    window.session.experiment.set_workload("vector")
    message = find(window, "kernelMessage", QLabel)
    until(qtbot, lambda: "oops" in message.text())
    assert "kernel.cu:4" in message.text()
    assert panel.message.button.isVisible()
    assert "oops" in panel.source.toPlainText()


def test_what_is_said_of_a_source_marks_no_other_source_of_that_name(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    folders = write_vector(tmp_path, "B[i] = oops;"), write_vector(tmp_path, name="other")
    window = open_window(*(word for folder in folders for word in ("--kernels", str(folder))))
    panel = kernel_view(window)
    window.session.experiment.set_workload("vector")
    until(qtbot, lambda: any("oops" in message.words for message in panel.source.messages))
    window.session.experiment.set_workload("other")
    assert "oops" not in panel.source.toPlainText() and not panel.source.messages


def test_without_nvrtc_it_says_how_to_get_it_and_tries_again(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "hidden" / "cuda"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden')\n", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(hidden.parent))
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))
        panel = kernel_view(window)
        message = find(window, "kernelMessage", QLabel)
        until(qtbot, lambda: "pip install 'gpuexplorer[nvrtc]'" in message.text())
        compiled: list[int] = []
        panel.worker.compiling.connect(compiled.append)
        window.session.experiment.set_variant("tiled")
        answers: list[int] = []  # not waitSignal: another answer may come after it has let go
        panel.worker.answered.connect(lambda ticket, _: answers.append(ticket))
        window.session.experiment.set_block((8, 8, 1))
        until(qtbot, lambda: bool(answers))
        assert compiled == [], "it is not asked again and again"
    QTest.mouseClick(panel.message.button, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: shown(panel, "matrixMulTiled"))


def test_nothing_is_compiled_once_nobody_looks(qtbot: QtBot, window: MainWindow) -> None:
    panel = kernel_view(window)
    until(qtbot, lambda: shown(panel, "matrixMul"))
    compiled: list[int] = []
    panel.worker.compiling.connect(compiled.append)
    window.session.experiment.set_workload("transpose")
    window.panels.places.show_view(window.panels.live)
    window.session.experiment.set_workload("stream")
    assert compiled == []
    window.panels.places.show_view(panel)
    until(qtbot, lambda: shown(panel, "streamTriad"))
    assert len(compiled) == 1


def test_the_other_panels_go_on_while_it_is_shown(qtbot: QtBot, window: MainWindow) -> None:
    wait_measured(qtbot, window)
    window.panels.places.show_view(window.panels.kernel)
    window.session.experiment.set_size("N", 96)
    wait_measured(qtbot, window)
    assert window.session.requests.moved_at is None
    until(qtbot, lambda: window.insight.headline.text() != "–")


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_an_outdated_question_ends_its_compiler(qtbot: QtBot, tmp_path: Path) -> None:
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    stuck.chmod(stuck.stat().st_mode | stat.S_IXUSR)
    worker = KernelWorker()
    answers: list[int] = []
    worker.answered.connect(lambda ticket, _: answers.append(ticket))
    request = RunRequest(workload="transpose", variant="naive")

    def question(ticket: int, python: str | None) -> Question:
        return Question(ticket, load()["transpose"], request, "sm_90", python)

    try:
        with qtbot.waitSignal(worker.compiling, timeout=30_000):
            worker.ask(question(1, str(stuck)))
        worker.ask(question(2, None))
        until(qtbot, lambda: bool(answers))
        assert answers == [2]
        worker.ask(question(4, str(stuck)))
        until(qtbot, lambda: answers == [2, 4])  # what is compiled is known, whoever compiled it
        with qtbot.waitSignal(worker.compiling, timeout=30_000):
            worker.forget_failures()
            worker.ask(
                Question(3, load()["matmul"], RunRequest(workload="matmul"), "sm_75", str(stuck))
            )
    finally:
        worker.close()
    assert worker.isFinished()


@pytest.mark.parametrize(
    ("text", "entry", "line"),
    [
        ("__global__ void k(int n) {}", "k", 0),
        (
            "// k(\n__device__ int k(int);\n__global__\nvoid __launch_bounds__(4) k(int n) {}",
            "k",
            3,
        ),
        ("template <int N> __global__ void scale(float *A) {}", "scale<4>", 0),
        ("__global__ void other(int n) {}", "k", None),
    ],
)
def test_the_entry_point_is_found(text: str, entry: str, line: int | None) -> None:
    assert entry_line(text, entry) == line


def test_where_the_engines_python_cannot_compile_the_windows_own_does(
    qtbot: QtBot, tmp_path: Path
) -> None:
    worker = KernelWorker()
    answers: list[object] = []
    worker.answered.connect(lambda _, answer: answers.append(answer))
    request = RunRequest(workload="transpose", variant="naive")
    nowhere = str(tmp_path / "no-python")
    try:
        worker.ask(Question(1, load()["transpose"], request, "sm_90", nowhere))
        until(qtbot, lambda: bool(answers))
    finally:
        worker.close()
    assert not isinstance(answers[0], ExplorerError)


def test_what_is_refused_again_and_again_gathers_no_frames(qtbot: QtBot) -> None:
    worker = KernelWorker()
    errors: list[object] = []
    worker.answered.connect(lambda _, answer: errors.append(answer))
    request = RunRequest(workload="transpose", variant="naive")
    try:
        for ticket in range(3):
            with qtbot.waitSignal(worker.answered, timeout=30_000):
                worker.ask(Question(ticket, load()["transpose"], request, "sm_10", None))
    finally:
        worker.close()
    assert isinstance(errors[0], ExplorerError) and errors[0].__traceback__ is None
    assert errors[1] is errors[0] and errors[2] is errors[0]  # it was not compiled again


@pytest.mark.long
def test_the_instructions_of_a_few_sources_are_kept_and_no_more(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_worker, "LISTED", 2)
    worker = KernelWorker()
    compiled: list[int] = []
    worker.compiling.connect(compiled.append)
    request = RunRequest(workload="transpose", variant="naive")
    try:
        for ticket, arch in enumerate(("sm_80", "sm_86", "sm_90", "sm_86", "sm_80")):
            with qtbot.waitSignal(worker.answered, timeout=60_000) as answered:
                worker.ask(Question(ticket, load()["transpose"], request, arch, None, listed=True))
            answer = answered.args[1]
            assert isinstance(answer, Answer) and isinstance(answer.listings, list)
            assert [listing.arch for listing in answer.listings] == [arch]
    finally:
        worker.close()
    assert set(compiled) == {0, 1, 2, 4}  # sm_86 was kept, sm_80 had gone


# ---- instructions


def listed_view(qtbot: QtBot, window: MainWindow, arch: str = "sm_80") -> KernelPanel:
    """Show the instructions of the present variant on an architecture."""
    panel = kernel_view(window)
    until(qtbot, lambda: panel.isVisible() and hasattr(panel, "listings"))
    panel.choose_architecture(arch)
    QTest.mouseClick(panel.instructions_button, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: bool(panel.listings.column.text.rows))
    return panel


def click_line(text: CodeView | InstructionsText, line: int) -> None:
    """Click on a line, counted from 0, which is brought in sight first."""
    scroll_near_top(text, line)
    block = text.document().findBlockByNumber(line)
    at = text.blockBoundingGeometry(block).translated(text.contentOffset())
    where = QPoint(20, round(at.center().y()))
    QTest.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_a_click_on_a_line_marks_its_instructions_and_back(
    qtbot: QtBot, window: MainWindow
) -> None:
    panel = listed_view(qtbot, window)
    text, source = panel.listings.column.text, panel.source
    assert text.isVisible() and not panel.figures.isVisible()
    lines = source.toPlainText().splitlines()
    summing = next(n for n, line in enumerate(lines) if "sum +=" in line)
    click_line(source, summing)
    assert source.linked == {summing}
    assert text.marked
    assert all(any(p.line == summing + 1 for p in text.rows[n].places) for n in text.marked)
    assert any("LDG.E" in text.rows[n].text for n in text.marked)
    first = text.firstVisibleBlock().blockNumber()
    assert first <= min(text.marked) <= first + 60
    store = next(n for n, row in enumerate(text.rows) if "STG.E" in row.text)
    click_line(text, store)
    assert text.marked == {store}
    (line,) = source.linked
    assert lines[line].strip().startswith("C[")
    QTest.keyClick(text, Qt.Key.Key_Up)
    assert text.marked == {store - 1}


def test_instructions_are_let_go_while_hidden_and_come_back_where_they_were(
    qtbot: QtBot, window: MainWindow
) -> None:
    panel = listed_view(qtbot, window)
    text = panel.listings.column.text
    rows = list(text.rows)
    text.verticalScrollBar().setValue(at := text.verticalScrollBar().maximum() // 2)
    assert at > 0
    window.panels.places.show_view(window.panels.live)
    assert not text.rows and not text.toPlainText()
    window.panels.places.show_view(panel)
    until(qtbot, lambda: text.rows == rows)
    assert text.verticalScrollBar().value() == at


def test_registers_mix_and_remarks_are_those_of_the_listing(
    qtbot: QtBot, window: MainWindow
) -> None:
    panel = listed_view(qtbot, window)
    assert isinstance(panel.answer.listings, list)
    (listing,) = panel.answer.listings
    column = panel.listings.column
    assert column.text.most == listing.most_live_registers
    assert column.text.gutter_width() > 0
    assert sum(column.mix.families.values()) == len(listing.sass)
    figures = column.figures.text()
    assert figures.startswith(f"{panel.kernels[0].registers_per_thread} registers a thread")
    assert panel.listings.remark.text().startswith("Nothing was spilled")
    panel.listings.form_box.setCurrentText("PTX")
    assert column.text.rows[0].text.startswith(".visible .entry")
    assert column.text.gutter_width() == 0
    QTest.mouseClick(panel.occupancy_button, Qt.MouseButton.LeftButton)
    assert panel.figures.isVisible() and not column.text.isVisible()


def test_another_architecture_stands_beside_with_what_differs(
    qtbot: QtBot, window: MainWindow
) -> None:
    panel = listed_view(qtbot, window)
    other = panel.listings.other
    assert not other.isVisible()
    box = panel.listings.beside_box
    assert box.findData("sm_80") < 0, "the one that is shown is not offered beside itself"
    box.setCurrentIndex(box.findData("sm_90"))
    until(qtbot, other.isVisible)
    assert other.kernel is not None and other.kernel.arch == "sm_90"
    ours = panel.listings.column.text
    assert ours.tinted and other.text.tinted
    assert len(ours.tinted) < len(ours.rows)
    lines = panel.source.toPlainText().splitlines()
    click_line(panel.source, next(n for n, line in enumerate(lines) if "sum +=" in line))
    assert ours.marked and other.text.marked
    box.setCurrentIndex(box.findData("variant tiled"))
    until(qtbot, lambda: other.kernel is not None and other.kernel.subject == "matmul tiled")
    assert other.kernel.arch == "sm_80" and other.title.text().endswith("sm_80 · tiled")
    assert any("BAR" in other.text.rows[n].text for n in other.text.tinted)
    assert 0 < len(ours.tinted) < len(ours.rows)
    box.setCurrentIndex(0)
    until(qtbot, lambda: not other.isVisible())
    assert not ours.tinted


@pytest.mark.skipif(sys.platform == "win32", reason="nvdisasm is hidden by an empty package")
def test_without_nvdisasm_the_figures_are_still_there(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "hidden" / "nvidia_cuda_nvdisasm-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: nvidia-cuda-nvdisasm\nVersion: 0\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(info.parent))
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    panel = kernel_view(window)
    until(qtbot, lambda: shown(panel, "matrixMul"))
    QTest.mouseClick(panel.instructions_button, Qt.MouseButton.LeftButton)
    message = find(window, "kernelMessage", QLabel)
    until(qtbot, lambda: "pip install 'nvidia-cuda-nvdisasm'" in message.text())
    assert message.isVisible()
    QTest.mouseClick(panel.occupancy_button, Qt.MouseButton.LeftButton)
    until(qtbot, lambda: panel.figures.isVisible())
    assert not message.isVisible()


def test_the_legend_of_the_instruction_mix_is_told_in_the_language(
    qtbot: QtBot, qapp: QApplication
) -> None:
    make_theme(qapp, "light")
    strip = MixStrip()
    qtbot.addWidget(strip)
    strip.show_mix(dict.fromkeys(KIND_TITLES, 3))
    assert [words.split()[0] for words in strip.legend()] == [*FAMILIES, "control", "other"]
    language.use("zh_CN")
    try:
        assert not any(re.search("[A-Za-z]", words) for words in strip.legend()), strip.legend()
    finally:
        language.use("en")
