"""One act of the user has one word, in whatever the product says (CONTRIBUTING.md, "Words")."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_IN_USE = re.compile(
    r"(?<!-)\bresum(e|es|ed|ing)\b|\b(go|goes|going|gone|went) on\b|\bmore rounds\b|\babort|\bhalt",
    re.IGNORECASE,
)
"""``--resume`` keeps its name: commands that users have written hold it."""
NAMES_ITS_SUCCESSOR = re.compile(r"\*Resume\*, \*Go on\* and \*More rounds\* are \*Continue\* now")
TEXTS = [
    *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CHANGELOG.md")),
    *sorted((ROOT / "resources" / "help").glob("*.md")),
]


def is_visible(text: str) -> bool:
    """Return whether a literal is for the user's eyes: several words, or a button's one."""
    return " " in text.strip() or text.lstrip("&")[:1].isupper()


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each literal of a module that is not a documentation string."""
    tree = ast.parse(source)
    described = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in described:
            if isinstance(node.value, str) and is_visible(node.value):
                yield node.lineno, node.value


@pytest.mark.parametrize(
    "text", ["Resume", "&Go on", "the sweep goes on", "More rounds", "Abort", "was resumed"]
)
def test_a_word_that_is_not_in_use_is_found(text: str) -> None:
    assert [found for _, found in literals(f"say({text!r})")] == [text]
    assert NOT_IN_USE.search(text)


@pytest.mark.parametrize("text", ["Continue", "--resume", "an amount of 1", "sweep --resume"])
def test_a_word_that_is_in_use_is_left_alone(text: str) -> None:
    assert not NOT_IN_USE.search(text)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_what_is_written_for_users_has_one_word_for_an_act(path: Path) -> None:
    text = NAMES_ITS_SUCCESSOR.sub("", path.read_text(encoding="utf-8"))
    wrong = [f"{path.name}: {match.group()}" for match in NOT_IN_USE.finditer(text)]
    assert not wrong


def test_what_the_program_says_has_one_word_for_an_act() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text!r}"
        for path in sorted((ROOT / "gpuexplorer").rglob("*.py"))
        for line, text in literals(path.read_text(encoding="utf-8"))
        if NOT_IN_USE.search(text)
    ]
    assert not wrong, "\n".join(wrong)
