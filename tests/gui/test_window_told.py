"""Whatever a widget is given to show goes through ``tr``, or says by ``as_is`` that it is a name.

A walk over the syntax of ``gpuexplorer/gui``: the calls by which a text gets on the screen take
one of the two. What is drawn by hand is looked at in the made-up language (``test_language``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.words.sentences import ROOT

SHOWS = {
    "setText": 0, "setToolTip": -1, "setAccessibleName": 0, "setAccessibleDescription": 0,
    "setPlaceholderText": 0, "setPlainText": 0, "setWindowTitle": 0, "setStatusTip": 0,
    "setSpecialValueText": 0, "setSuffix": 0, "showMessage": 0, "showText": 1,
    "getExistingDirectory": 1, "getOpenFileName": 1, "getOpenFileNames": 1, "getSaveFileName": 1,
    "QLabel": 0, "QPushButton": 0, "QCheckBox": 0, "QRadioButton": 0, "QAction": 0, "QMenu": 0,
    "QStandardItem": 0, "QTableWidgetItem": 0, "QListWidgetItem": 0, "addTab": 0, "addItem": 0,
    "addAction": 0, "addMenu": 0, "addRow": 0, "addButton": 0,
}  # fmt: skip
"""Calls that show a text, and which of their arguments it is."""
OF_WIDGETS = {
    "addItem",
    "addAction",
    "addMenu",
    "addRow",
    "addButton",
    "QLabel",
    "QMenu",
    "QAction",
}
"""Calls that take a widget or a parent as well: a name alone is not known for a text there."""
TEXTS = re.compile(r"(words|title|text|tip|name|explanation)$")
TOLD = ("tr", "as_is", "about", "told_apart")
TELLS = re.compile(rf"\b({'|'.join(TOLD)})\(")
THROUGH = {"plain_tip", "visible", "escape"}
"""What makes a text fit for its place, in which the language has its say."""
WORDS = ("widgets/words.py",)
"""A label of our own, to which others give what is told already."""


def is_told(node: ast.expr, told: set[str]) -> bool:
    """Whether a text goes through the language, or has no word in it."""
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, str) or not re.search("[A-Za-z]", node.value)
    if isinstance(node, ast.IfExp):
        return is_told(node.body, told) and is_told(node.orelse, told)
    if isinstance(node, ast.BoolOp):
        return all(is_told(value, told) for value in node.values)
    if isinstance(node, ast.Name):
        return node.id in told
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return name in TOLD or (name in THROUGH and is_told(node.args[0], told))
    return False


def is_text(node: ast.expr) -> bool:
    """Whether an argument that could be a widget is a text."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    if isinstance(node, ast.Name | ast.Attribute):
        return bool(TEXTS.search(node.id if isinstance(node, ast.Name) else node.attr))
    return isinstance(node, ast.JoinedStr | ast.IfExp | ast.BoolOp | ast.Call) and not (
        isinstance(node, ast.Call)
        and re.match("_?[a-z]+_menu|_item|Q[A-Z]", ast.unparse(node.func))
    )


def told_names(function: ast.AST) -> set[str]:
    """Return the variables of a function that were told when they were set."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and TELLS.search(ast.unparse(node.value)):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                found |= {name.id for name in names if isinstance(name, ast.Name)}
    return found


def untold(source: str) -> Iterator[str]:
    """Yield each call of a module that shows a text in no language."""
    tree = ast.parse(source)
    within: dict[int, set[str]] = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            told = told_names(function)
            within |= {id(node): told for node in ast.walk(function)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or "clipboard" in ast.unparse(node.func):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = node.func.id if isinstance(node.func, ast.Name) else called
        at = SHOWS.get(called)
        if at is None or len(node.args) <= max(at, 0):
            continue
        given = node.args[at]
        if called in OF_WIDGETS and not is_text(given):
            continue
        if not is_told(given, within.get(id(node), set())):
            yield f"{node.lineno}: {ast.unparse(node)[:120]}"


@pytest.mark.parametrize(
    "source",
    [
        'label.setText("Open")',
        'label.setText(f"{n} of {total} runs")',
        "label.setText(words)",
        'label.setText(tr("Open") if on else "Close")',
        "button = QPushButton(title)",
        'menu.addAction("Open")',
        "box.addItem(kind.title, kind)",
        "label.setToolTip(plain_tip(words))",
        'item.setToolTip(0, "Open it")',
    ],
)
def test_a_text_in_no_language_is_found(source: str) -> None:
    assert list(untold(source))


@pytest.mark.parametrize(
    "source",
    [
        'label.setText(tr("Open"))',
        "label.setText(as_is(path.name))",
        'label.setText("")',
        'label.setText("▾")',
        'label.setText(tr("Open") if on else "")',
        "def f():\n    told = tr(words)\n    label.setText(told)",
        "menu.addAction(action)",
        "box.addItem(item)",
        "row = QLabel(self)",
        "label.setToolTip(plain_tip(tr(words)))",
        "QApplication.clipboard().setText(words)",
    ],
)
def test_what_is_told_or_no_text_is_left_alone(source: str) -> None:
    assert not list(untold(source))


def test_everything_that_the_window_shows_is_told() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{one}"
        for path in sorted((ROOT / "gui").rglob("*.py"))
        if not path.as_posix().endswith(WORDS)
        for one in untold(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)
