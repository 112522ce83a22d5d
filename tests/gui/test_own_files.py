"""Model files in the window: asked about, run in the engine alone, measured like any workload."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.code import drafts
from gpuexplorer.gui.drops import dropped_file
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.panels.operators import OperatorsView
from gpuexplorer.gui.settings import Settings
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import is_own_file, keep_manifest
from gpuexplorer.workloads.own_model import read_model
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until
from tests.support.own_kernels import FORMS, TEXTBOOK
from tests.support.own_models import GOOD, write

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


@pytest.fixture(autouse=True)
def nothing_agreed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_agreed", set())


def quiet(open_window: OpenWindow, *argv: str) -> MainWindow:
    window = open_window(*argv)
    window.session.live_at_start = False
    return window


def test_a_new_file_is_asked_about_and_not_run_without_a_yes(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    path = write(tmp_path, GOOD)
    window.own_files.open(path)
    dialog = window.own_files.dialog
    assert dialog is not None and dialog.isVisible()
    model = read_model(path)
    assert find(window, "trustPath", QLabel).text() == str(path)
    assert find(window, "trustHash", QLabel).text() == model.sha256
    assert dialog.cancel_button.isDefault() and not dialog.run_button.isDefault()
    dialog.cancel_button.click()
    until(qtbot, lambda: window.own_files.dialog is None)
    assert "model" not in window.session.experiment.workloads
    assert not trust.is_trusted(model.sha256)


@needs_torch
def test_a_file_becomes_a_workload_and_is_measured(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.own_files.open(write(tmp_path, GOOD))
    dialog = window.own_files.dialog
    assert dialog is not None
    dialog.run_button.click()
    until(qtbot, lambda: window.session.experiment.workload.name == "model")
    assert window.session.experiment.knobs.size == {"batch": 8, "width": 32}
    window.session.set_live(True)
    live = window.session.live_model
    until(qtbot, lambda: bool(live.current and live.current.prepared and live.current.trace.total))
    prepared = live.current.prepared if live.current else None
    assert prepared is not None and prepared.verification is not None
    assert prepared.verification.ok and prepared.config.workload == "model"
    window.session.set_live(False)

    # Its operators, and those of a shipped model that PyTorch runs.
    window.panels.places.show_view(window.panels.operators)
    view = window.panels.operators.view
    assert isinstance(view, OperatorsView)
    for name in ("model", "softmax"):
        window.session.experiment.set_workload(name)
        window.session.experiment.set_variant("torch")
        until(qtbot, lambda: view.record_button.isEnabled())
        view.record_button.click()
        until(qtbot, lambda: view.shown is not None and window.session.jobs.current is None)
        recorded, view.shown = view.shown, None
        assert recorded is not None and recorded.profile.config.workload == name
        wanted = {"model": "aten::addmm", "softmax": "aten::_softmax"}[name]
        assert wanted in {o.name for o in recorded.profile.operators}
        assert len(recorded.flame.row) == recorded.profile.calls_total

    window.session.experiment.set_workload("model")
    window.panels.places.show_view(window.panels.kernel)
    until(qtbot, lambda: "def build(batch=8" in window.panels.kernel.source.toPlainText())
    assert window.panels.kernel.code.title.text() == str(tmp_path / "model.py")

    # A changed file is asked about again before anything of it runs.
    write(tmp_path, f"{GOOD}\n# changed\n")
    window.kernels.reload()
    again = window.own_files.dialog
    assert again is not None
    again.run_button.click()
    until(qtbot, lambda: window.own_files.dialog is None)
    source = window.session.experiment.workloads["model"].source
    assert "# changed" in source.files["model.py"]


def test_a_file_with_a_mistake_is_told_without_a_question(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    window.own_files.open(write(tmp_path, "def build(\n"))
    assert window.own_files.dialog is None
    assert "model.py:1:" in window.panels.banner.text


def test_a_file_named_at_the_start_is_asked_about(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window, "--kernels", str(write(tmp_path, GOOD)))
    until(qtbot, lambda: window.own_files.dialog is not None)
    dialog = window.own_files.dialog
    assert dialog is not None
    dialog.cancel_button.click()
    until(qtbot, lambda: window.own_files.dialog is None)


def test_a_python_file_can_be_dropped_on_the_window(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(write(tmp_path, GOOD)))])
    action, buttons = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    keys = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPointF(5, 5).toPoint(), action, data, buttons, keys)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(5, 5), action, data, buttons, keys)
    QApplication.sendEvent(window, drop)
    dialog = window.own_files.dialog
    assert dialog is not None
    dialog.cancel_button.click()
    until(qtbot, lambda: window.own_files.dialog is None)


def test_a_cuda_file_is_asked_about_once_and_measured(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    path = tmp_path / "product.cu"
    path.write_text(TEXTBOOK, encoding="utf-8")
    window.own_files.open(path)
    sheet = window.own_files.sheet
    assert sheet is not None and sheet.isVisible()
    assert not sheet.open_button.isEnabled() and "What C should be" in sheet.words.text()
    assert find(window, "kernelSheetSize_N", QLineEdit).text() == "192"
    assert find(window, "kernelSheetUse_C", QComboBox).currentText() == "is written"
    result: QLineEdit = find(window, "kernelSheetResult_C", QLineEdit)
    assert result is sheet.focusWidget()
    QTest.keyClicks(result, "A @ D")
    assert "uses 'D'" in sheet.words.text() and not sheet.open_button.isEnabled()
    result.selectAll()
    QTest.keyClicks(result, "A @ B")
    assert "product.toml" in sheet.words.text()
    QTest.keyClick(result, Qt.Key.Key_Return)
    until(qtbot, lambda: window.session.experiment.workload.name == "product")
    assert path.with_suffix(".toml").is_file() and window.own_files.sheet is None
    window.session.set_live(True)
    live = window.session.live_model
    until(qtbot, lambda: bool(live.current and live.current.prepared and live.current.trace.total))
    prepared = live.current.prepared if live.current else None
    assert prepared is not None and prepared.verification is not None
    assert prepared.verification.ok and prepared.config.variant == "matrixMul"
    window.session.set_live(False)
    window.own_files.open(path)  # which has its manifest now
    assert window.own_files.sheet is None
    check = "def product(A, B):\n    return A @ B\n"
    (tmp_path / "check.py").write_text(check, encoding="utf-8")
    manifest = path.with_suffix(".toml").read_text(encoding="utf-8")
    said = 'outputs = { C = "A @ B" }\ncheck = "freivalds"'
    assert said in manifest
    manifest = manifest.replace(said, 'python = "check.py:product"')
    path.with_suffix(".toml").write_text(manifest, encoding="utf-8")
    until(qtbot, lambda: window.own_files.dialog is not None)  # it is read again once it is saved
    dialog = window.own_files.dialog
    assert dialog is not None and find(window, "trustPath", QLabel).text().endswith("check.py")
    assert "a right result" in find(window, "trustUse", QLabel).text()
    assert window.session.experiment.workload.manifest.reference.python is None
    dialog.run_button.click()
    asked = window.session.experiment
    until(qtbot, lambda: asked.workload.manifest.reference.python == "check.py:product")


def test_a_source_that_was_copied_elsewhere_is_asked_about(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUEXPLORER_DATA_DIR", str(tmp_path / "data"))
    window, clipboard = quiet(open_window), QGuiApplication.clipboard()
    paste = window.commands.paste_source

    def asked_of() -> str:
        """Return the title of the sheet that pasting opens, and close that."""
        paste.trigger()
        sheet = window.own_files.sheet
        assert sheet is not None
        title = sheet.windowTitle()
        sheet.reject()
        return title

    clipboard.setText(TEXTBOOK.replace("\n", "\r\n"))
    assert asked_of() == asked_of() == "Open matrixMul.cu"
    clipboard.setText(f"{TEXTBOOK}// another\n")
    assert asked_of() == "Open matrixMul-2.cu"
    kept = {path.name: path.read_text("utf-8") for path in (tmp_path / "data").rglob("*.cu")}
    assert kept == {"matrixMul.cu": TEXTBOOK, "matrixMul-2.cu": f"{TEXTBOOK}// another\n"}
    (tmp_path / "there.cu").write_text(TEXTBOOK, encoding="utf-8")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "there.cu"))])
    clipboard.setMimeData(data)
    assert asked_of() == "Open there.cu"
    clipboard.setText("nothing of the kind")
    paste.trigger()
    assert window.own_files.sheet is None
    assert window.banner.text.startswith("The clipboard holds no CUDA source; copy a text")


def test_an_odd_cuda_file_is_one_sentence_or_runs(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    session = window.session
    until(qtbot, lambda: session.experiment.devices is not None)

    def opened(name: str, data: bytes) -> str:
        """Return what the banner says of a file that is opened, and not verified."""
        path = tmp_path / name
        path.write_bytes(data)
        window.own_files.open(path)
        sheet = window.own_files.sheet
        if sheet is not None:
            sheet.unchecked_box.setChecked(True)
            assert sheet.open_button.isEnabled()
            sheet.accept()
            until(qtbot, lambda: window.own_files.sheet is None)
        return window.banner.text

    source = TEXTBOOK.encode()
    for name, data, words in (
        ("binary.cu", bytes(range(256)), "not UTF-8 text; save it as UTF-8"),
        ("wide.cu", TEXTBOOK.encode("utf-16"), "not UTF-8 text; save it as UTF-8"),
        ("large.cu", source + b"/" * (10 << 20), "not a kernel source"),
        ("empty.cu", b"", "no __global__ function here"),
    ):
        assert words in opened(name, data)
    many = "".join(f"__global__ void k{n}(int *a) {{ a[0] = {n}; }}\n" for n in range(10_000))
    for name, data in (
        ("with spaces.cu", source.replace(b"\n", b"\r\n")),
        ("many.cu", many.encode()),
    ):
        assert opened(name, data).startswith("Loaded ")
        assert session.experiment.workload.source.origin == str(tmp_path / name)
    opened("secret.cu", b'#include "/etc/passwd"\n' + source)
    session.set_live(True)
    refused = "secret.cu:1: '/etc/passwd' does not lie beside the source"
    until(qtbot, lambda: window.banner.text.startswith(refused))


def test_of_two_files_of_one_name_the_hidden_one_is_told(
    open_window: OpenWindow, tmp_path: Path
) -> None:
    paths = [tmp_path / place / "mine.cu" for place in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(TEXTBOOK, encoding="utf-8")
        keep_manifest(path, Answers(unchecked=True))
    window = quiet(open_window, "--kernels", str(paths[0]))
    window.kernels.open(paths[1])
    assert window.session.experiment.workloads["mine"].source.origin == str(paths[1])
    assert f"the name of {paths[0]}, which is hidden" in window.banner.text
    window.kernels.open(paths[0])
    assert f"the name of {paths[1]}, which is hidden" in window.banner.text


def test_a_file_that_is_gone_keeps_no_other_from_being_opened_and_read_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    gone, mine, new = (tmp_path / name for name in ("gone.cu", "mine.cu", "new.cu"))
    for path in (gone, mine, new):
        path.write_text(TEXTBOOK, encoding="utf-8")
        keep_manifest(path, Answers(unchecked=True))
    settings = Settings()
    settings.kernel_folders = [gone, mine]
    settings.sync()
    gone.unlink()
    window = quiet(open_window)
    assert "gone.cu: cannot be read" in window.banner.text
    experiment = window.session.experiment
    window.own_files.open(new)
    assert experiment.knobs.workload == "new" and "Loaded new" in window.banner.text
    assert window.kernels.folders == [mine, new]
    experiment.set_workload("mine")
    until(qtbot, lambda: window.kernels.watches(mine))
    other = TEXTBOOK.replace("k = 0", "k = 0 + 0")
    mine.write_text(other, encoding="utf-8")
    until(qtbot, lambda: experiment.workload.source.files["mine.cu"] == other)
    assert "gone" not in window.banner.text
    new.write_text(other, encoding="utf-8")
    new.with_suffix(".toml").write_text("nothing", encoding="utf-8")
    gone.write_text(TEXTBOOK, encoding="utf-8")
    window.commands.reload_kernels.trigger()
    assert "gone" in experiment.workloads and "new.cu: not valid TOML" in window.banner.text
    assert experiment.workloads["new"].source.files["new.cu"] == TEXTBOOK
    assert window.kernels.folders == [gone, mine, new]


def test_a_remembered_file_that_is_gone_is_written_anew_from_its_edits_or_forgotten(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    gone, there = tmp_path / "gone.cu", tmp_path / "there.cu"
    for path in (gone, there):
        path.write_text(TEXTBOOK, encoding="utf-8")
        keep_manifest(path, Answers(unchecked=True))
    edited = f"{TEXTBOOK}// edited\n"
    drafts.keep_draft(drafts.Draft(path=str(gone), text=edited, saved=TEXTBOOK))
    settings = Settings()
    settings.kernel_folders = [gone, there]
    settings.sync()
    gone.unlink()

    def offered(window: MainWindow) -> dict[str, QPushButton]:
        """Return the buttons of the banner, by their words."""
        buttons = window.banner.findChildren(QPushButton)
        return {b.text(): b for b in buttons if not b.isHidden()}

    def complained(window: MainWindow) -> bool:
        return "gone.cu: cannot be read" in window.banner.text

    window = quiet(open_window)
    assert complained(window)
    assert "Edits of gone.cu that were not saved are kept." in window.banner.text
    offered(window)["Write it anew"].click()
    assert gone.read_text(encoding="utf-8") == edited
    assert "gone" in window.session.experiment.workloads
    assert not complained(window) and drafts.find_draft(gone) is None
    window.session.experiment.set_workload("gone")
    until(qtbot, lambda: window.kernels.watches(gone))
    gone.unlink()
    until(qtbot, lambda: complained(window))
    assert list(offered(window)) == ["Forget it"]
    window.commands.reload_kernels.trigger()
    assert complained(window) and list(offered(window)) == ["Forget it"]
    offered(window)["Forget it"].click()
    assert not complained(window)
    assert "gone" not in window.session.experiment.workloads
    assert "there" in window.session.experiment.workloads
    window.close()
    again = quiet(open_window)
    assert not complained(again) and again.settings.kernel_folders == [there]


def test_a_sheet_follows_the_kernel_and_what_is_written(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = quiet(open_window)
    path = tmp_path / "forms.cu"
    path.write_text(FORMS, encoding="utf-8")
    window.own_files.open(path)
    sheet = window.own_files.sheet
    assert sheet is not None
    sheet.kernel_box.setCurrentText("gemm")
    until(qtbot, lambda: sheet.findChild(QLineEdit, "kernelSheetScalar_alpha") is not None)
    assert find(window, "kernelSheetShape_A", QLineEdit).text() == "M, K"
    uses = find(window, "kernelSheetUse_B", QComboBox)
    uses.setCurrentIndex(uses.findData("out"))
    extra = find(window, "kernelSheetResult_B", QLineEdit)
    until(qtbot, lambda: extra.isVisibleTo(sheet))
    uses.setCurrentIndex(uses.findData("in"))
    assert not extra.isVisibleTo(sheet)
    shape = find(window, "kernelSheetShape_A", QLineEdit)
    shape.clear()
    QTest.keyClicks(shape, " ")
    assert "how large a is, is not said yet" in sheet.words.text().lower()
    QTest.keyClicks(shape, "M, K")
    sheet.unchecked_box.click()
    alpha = find(window, "kernelSheetScalar_alpha", QLineEdit)
    alpha.selectAll()
    QTest.keyClicks(alpha, "much")
    assert "Alpha is 'much'" in sheet.words.text()
    alpha.selectAll()
    QTest.keyClicks(alpha, "3")
    assert sheet.open_button.isEnabled()
    assert sheet.answers.unchecked and sheet.answers.scalars["alpha"] == 3
    sheet.reject()
    until(qtbot, lambda: window.own_files.sheet is None)
    assert not path.with_suffix(".toml").exists()
    path.write_text("int main() { return 0; }", encoding="utf-8")
    window.own_files.open(path)
    assert window.own_files.sheet is None and "no __global__ function" in window.banner.text


def test_only_one_local_file_of_ones_own_counts_as_dropped() -> None:
    one = QUrl.fromLocalFile("/a/model.py")
    assert dropped_file([one], is_own_file) == Path("/a/model.py")
    assert dropped_file([QUrl.fromLocalFile("/a/b.cu")], is_own_file) == Path("/a/b.cu")
    assert dropped_file([one, one], is_own_file) is None
    assert dropped_file([QUrl("https://example.org/model.py")], is_own_file) is None
    assert dropped_file([QUrl.fromLocalFile("/a/bench.gpux")], is_own_file) is None


def test_a_kernel_that_is_saved_in_an_editor_is_measured_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "mine.cu"
    path.write_text(TEXTBOOK, encoding="utf-8")
    keep_manifest(path, Answers(reference={"": "A @ B"}, sizes={"N": 64}))
    window = quiet(open_window)
    session, live = window.session, window.session.live_model
    until(qtbot, lambda: session.experiment.devices is not None)
    window.own_files.open(path)
    session.set_live(True)

    def measured() -> str | None:
        """The source of the run that has samples, once it is verified."""
        prepared = live.current.prepared if live.current and live.current.trace.total else None
        if prepared is None or prepared.verification is None or not prepared.verification.ok:
            return None
        return prepared.environment.source_sha256

    until(qtbot, lambda: measured() == session.experiment.workload.sha256)
    first = measured()
    until(qtbot, lambda: window.kernels.watches(path))
    torn = path.with_suffix(".new")
    torn.write_text(TEXTBOOK.replace("float sum = 0.0f", "float total = 0.0f"), encoding="utf-8")
    torn.replace(path)
    until(qtbot, lambda: "use of undeclared identifier 'sum'" in window.banner.text)
    path.write_text(TEXTBOOK.replace("sum = 0.0f", "sum = 0"), encoding="utf-8")
    until(qtbot, lambda: measured() not in (None, first))
    assert measured() == session.experiment.workload.sha256
    assert "undeclared" not in window.banner.text
