"""What users read stands where a translation can take it: whole sentences with named fields.

A walk over the syntax of ``gpuexplorer/``: no sentence may be put together from pieces, and each
literal with fields must give a template in which every field has a name of its own, as ngettext
and ``str.format`` need it (CONTRIBUTING.md, "Words"). Code that is written for a compiler, a
database or a page is no sentence; its modules are named here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from string import Formatter

import pytest

from tests.words.sentences import (
    CODE,
    MARKS,
    ROOT,
    is_plural,
    is_said,
    not_said,
    shown,
    template,
)

BEGINS = re.compile(r" (?! )|[,;)]|: |· ")
ENDS = re.compile(r"[^ \n] $|[,;(]$")
PLAIN = re.compile(r"(?<![\w.:])[A-Za-z]{2,}(?![\w.:(])")
"""A word, and not a part of a name such as ``torch.nn``."""


def has_alternatives(node: ast.AST) -> bool:
    """Whether an expression chooses between words inside a sentence."""
    return any(
        is_word(branch)
        for part in ast.walk(node)
        if isinstance(part, ast.IfExp)
        for branch in (part.body, part.orelse)
    )


def is_word(node: ast.AST) -> bool:
    """Whether a node is text with a letter, if only of an ending."""
    text = shown(node)
    return text is not None and bool(re.search(r"[A-Za-z]", text))


def chosen_words(function: ast.AST) -> set[str]:
    """Return the variables of a function that hold one of two phrases."""
    held = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp):
            phrases = [shown(node.value.body), shown(node.value.orelse)]
            if None not in phrases and any(PLAIN.search(phrase or "") for phrase in phrases):
                held |= {one.id for one in node.targets if isinstance(one, ast.Name)}
    return held


def stuck_in(function: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of each phrase that a function chooses and sticks into a sentence."""
    held = chosen_words(function)
    for node in ast.walk(function):
        if isinstance(node, ast.JoinedStr) and is_said(node):
            for value in node.values:
                named = value.value if isinstance(value, ast.FormattedValue) else None
                if isinstance(named, ast.Name) and named.id in held:
                    yield node.lineno, named.id


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and fault of every text of a module that a translation could not take."""
    tree = ast.parse(source)
    inner = not_said(tree)
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, ast.expr | ast.stmt):
            continue
        if isinstance(node, ast.IfExp):
            ends = {shown(node.body), shown(node.orelse)}
            if "" in ends and any(re.fullmatch("e?s|ies|y|en?", end or "") for end in ends):
                yield node.lineno, "an ending that depends on a number"
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        parts = [node.value] if isinstance(node, ast.AugAssign) else parts
        parts += [
            end for one in parts if isinstance(one, ast.IfExp) for end in (one.body, one.orelse)
        ]
        if isinstance(getattr(node, "op", None), ast.Add) and any(map(is_said, parts)):
            yield node.lineno, "a sentence that is added to"
        if isinstance(node, ast.FunctionDef):
            for line, name in stuck_in(node):
                yield line, f"one of two phrases in a sentence: {name}"
        text = shown(node) or ""
        if text in MARKS or not (is_said(node) or isinstance(node, ast.JoinedStr)):
            continue
        if BEGINS.match(text):
            yield node.lineno, f"begins in the middle: {text!r}"
        if ENDS.search(text):
            yield node.lineno, f"ends in the middle: {text!r}"
        if not isinstance(node, ast.JoinedStr):
            continue
        fields = [value for value in node.values if isinstance(value, ast.FormattedValue)]
        if is_said(node) and any(has_alternatives(one.value) for one in fields):
            yield node.lineno, f"a choice of words within a sentence: {text!r}"
        if is_said(node) and re.search(r"[a-z]\{\}|\{\}[a-z]", text):
            yield node.lineno, f"a word that is put together: {text!r}"
        if is_said(node) and template(node) is None:
            yield node.lineno, f"a field without a name of its own: {ast.unparse(node)}"


def plural_faults(call: ast.Call) -> Iterator[str]:
    """Yield what keeps a call of ``plural`` from being extracted: its phrases, or their fields."""
    given = {one.arg for one in call.keywords} | {"number"}
    used: set[str | None] = set()
    for phrase in call.args[1:]:
        for part in ast.walk(phrase):
            if isinstance(part, ast.JoinedStr):
                yield f"a phrase of plural is put together: {ast.unparse(part)}"
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                used |= {name for _, name, _, _ in Formatter().parse(part.value)} - {None}
    if used and not used <= given <= used | {"number"}:
        yield f"fields of plural that do not agree: {sorted(map(str, used ^ given))}"


def all_faults(source: str) -> list[str]:
    """Return each fault of a module with its line."""
    calls = (node for node in ast.walk(ast.parse(source)) if is_plural(node))
    found = [*faults(source)]
    found += [(c.lineno, f) for c in calls if isinstance(c, ast.Call) for f in plural_faults(c)]
    return [f"{line}: {fault}" for line, fault in sorted(found)]


@pytest.mark.parametrize(
    "source",
    [
        """say(f"{number} run{'s' if number > 1 else ''}")""",
        """ending = "es" if launches != 1 else ""\nsay(f"{launches} launch{ending}")""",
        """say(f"Some {what}s have no block")""",
        """words = f"; the step is {share} of it" if share else ''""",
        """words = ", the largest tried" """,
        """words = f" with {threads} threads" """,
        """say(f"{path} ({kind}, {number} ")""",
        """say(f"From file {name}. " + rest)""",
        """say("The clock is held down" + more)""",
        """say(title + ("" if known else "  (not known)"))""",
        """words += f"and {more} others" """,
        """say(" and ".join(names))""",
        """say(f"as fast as {'the first' if one else 'the second'}")""",
        """def f(n):\n    verb = "is" if n == 1 else "are"\n    say(f"{n} {verb} kept")""",
        """say(f"{len(found) - len(shown)} more reasons")""",
        """say(f"{a.name} and {f(b).name} differ from {a.name + x}")""",
        """say(f"{first(one)} of {second(one)} are there")""",
        """say(plural(n, "{number} run of {path}", "{number} runs of {path}"))""",
        """say(plural(n, f"{number} run", f"{number} runs"))""",
    ],
)
def test_a_sentence_in_pieces_is_found(source: str) -> None:
    assert all_faults(source)


@pytest.mark.parametrize(
    "source",
    [
        """say(f"{shown} of {total} runs; {quantity(free_B, 'B')} are free")""",
        """say("one" if number == 1 else f"{number} of them")""",
        """say(" · ".join([name, f"{threads} CPU threads"]))""",
        """say(plural(n, "{number} run of {path}", "{number} runs of {path}", path=path))""",
        """say(plural(n, "The run is back.", "{number} runs are back."))""",
        """say(f"{first.name} and {second.name} differ")""",
        """say(f"{value:.{digits}f} is {size >> 20} MiB")""",
        """say(f"  {number} more lines")""",
        """text.removeprefix("block ")""",
    ],
)
def test_a_whole_sentence_is_left_alone(source: str) -> None:
    assert not all_faults(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("""f"{count(len(runs))} runs of {row.path}" """, "{runs} runs of {path}"),
        ("""f"{a.name} and {b.name} at {a.name}" """, "{a_name} and {b_name} at {a_name}"),
        ("""f"{size_B >> 20} MiB of {kept['all']}" """, "{size_B} MiB of {kept}"),
        ("""f"{f() + g()} runs" """, None),
    ],
)
def test_a_template_with_named_fields_follows_from_a_literal(
    source: str, expected: str | None
) -> None:
    literal = ast.parse(source.strip(), mode="eval").body
    assert isinstance(literal, ast.JoinedStr)
    assert template(literal) == expected


def test_what_the_program_says_can_be_translated() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(CODE):
            wrong += [f"{place}:{one}" for one in all_faults(path.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)
