"""Which literals of the program's sources are sentences, and the template of each.

A sentence is a literal of several words, or a word beside a field, in any module but those that
hold code. A field has the name that its expression suggests, with its owner's where two would have
the same one. ``plural`` has both phrases of what depends on a number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from string import Formatter

ROOT = Path(__file__).parents[2] / "gpuexplorer"
CODE = (
    "backends/opencl/build_log.py", "compile/access_sites.py", "compile/arguments.py",
    "compile/assertions.py", "compile/math_names.py",
    "workloads/cuda_source.py", "workloads/instances.py", "core/sharing.py", "history/documents.py",
    "compile/early_returns.py", "compile/printing.py", "compile/shared_arrays.py",
    "compile/device_part.py", "compile/parameters.py", "compile/prelude", "compile/rewriter.py",
    "compile/subscripts.py", "compile/thread_numbers.py", "compile/type_probes.py",
    "history/sql/database.py", "history/sql/migrations.py", "report/html.py", "report/style.py",
    "reproduce.py", "selftest/faulty.py", "workloads/block_numbers.py", "workloads/row_pointers.py",
)  # fmt: skip
"""Modules whose text is CUDA, OpenCL C, a compiler's log, SQL, HTML, a style sheet, Python,
formulas, or words to search for."""
METHODS = {
    "compile", "endswith", "getattr", "glob", "hasattr", "later", "match", "partition",
    "removeprefix", "removesuffix", "replace", "rpartition", "search", "setattr", "setStyleSheet",
    "setSuffix", "split", "startswith", "sub",
}  # fmt: skip
"""Calls whose arguments are patterns, attributes or styles; and the unit in a box of numbers, which
Qt keeps apart from the number."""
WORDS = re.compile(r"[A-Za-z]{3,}|\b(an|as|at|by|in|is|no|of|on|to)\b")
MARKS = {
    "gpuexplorer: ", "gpuexplorer: error: ", "gpuexplorer-profile-failed: ",
    "autograd::engine::evaluate_function: ", " (no directories in search list)", "FATAL: ", "deg ",
}  # fmt: skip
"""What tells lines of another program, or of our own, apart; and a degree in plain letters."""
MACHINES = re.compile(
    r"SELECT |\s*(import|__kernel|// |const static|const_cast|threadIdx|void bool|#\w+ Q\w+)\b|"
    r"__\w+( __\w+)+$|%Y|.*(\\[bwd]|\(\?)|(schema|scheduler|ca|cert|key) = |export \{|\{\{\n|"
    r".*\| None$|tuple\[|bold |offset points|lower left|alignas |__shfl_sync |if for while|"
    r"return else do |model name\||\s*(ArrowItem|BusyCursor|9p acfs|assert\.h|algorithm array) |"
    r"int unsigned |(un)?signed |long( (int|long))*$|#line |block_\{|ceil_div\(|"
    r"\{ROW\} |FROM |Jan Feb |SUBSYSTEM|\"?\$0|<!DOCTYPE|/Library/|C:/|rm -rf |"
    r".*\{\{ return|\s*#define|\s*for python in|\s*\"\w+\": \[|.* --hash=|\n?\{\{|"
    r"pip install (?!\{wanted)|\{\w+\} -m "
)
"""How a literal begins, or what it has, that is for a machine."""
MANIFEST = re.compile(r"[\w{}]+ = (?P<value>.*)", re.DOTALL)
"""A line of a manifest that the program writes."""
MANIFEST_WRITERS = ("workloads/kernel_manifest.py", "workloads/own_model.py")
LOGS = {"debug", "info", "warning", "error", "exception", "critical"}
_TAG = re.compile(r"<[a-z/][^<>]*>|&nbsp;")


def shown(node: ast.AST) -> str | None:
    """Return a literal as it reads, ``{}`` for each field; None for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
    return None


def is_said(node: ast.AST) -> bool:
    """Whether a node is text of several words, or a word beside a field."""
    text = shown(node)
    return text is not None and bool(WORDS.search(text)) and " " in text


def not_said(tree: ast.AST) -> set[int]:
    """Return the nodes that are no text of their own: documentation, formats, pieces, patterns."""
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            inner |= {id(value) for value in node.values}
        elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            inner |= {id(part) for part in ast.walk(node.format_spec)}
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in METHODS or (name in LOGS and getattr(_owner(called), "id", "") == "log"):
                inner |= {id(part) for given in node.args for part in ast.walk(given)}
    return inner


def _owner(called: ast.expr) -> ast.expr | None:
    return called.value if isinstance(called, ast.Attribute) else None


def field_name(node: ast.AST, *, owner: bool = False) -> str | None:
    """Return the name that a field would have: of a variable, an attribute, a function's argument.

    ``owner``: with that of the object whose attribute it is.
    """
    if isinstance(node, ast.Name):
        return node.id if node.id.startswith("__") else node.id.strip("_")
    if isinstance(node, ast.Attribute):
        whose = field_name(node.value, owner=True) if owner else None
        return f"{whose}_{node.attr.strip('_')}" if whose else node.attr.strip("_")
    if isinstance(node, ast.Call):
        names = (field_name(given, owner=owner) for given in node.args)
        return next(filter(None, names), None) or field_name(node.func, owner=owner)
    if isinstance(node, ast.BoolOp):  # a value, or what stands for one that is missing
        return field_name(node.values[0], owner=owner)
    if isinstance(node, ast.BinOp):  # such as a number in another unit
        named = {field_name(side, owner=owner) for side in (node.left, node.right)} - {None}
        return named.pop() if len(named) == 1 else None
    if isinstance(node, ast.UnaryOp):
        return field_name(node.operand, owner=owner)
    if isinstance(node, ast.Subscript):
        whose = field_name(node.value, owner=owner)
        place = str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
        return f"{whose}_{place}" if owner and whose and place else whose
    return None


def template(node: ast.JoinedStr) -> str | None:
    """Return a literal with a name for each field; None where a name is missing or taken twice."""
    for owner in (False, True):
        names: dict[str, str] = {}
        text = ""
        for value in node.values:
            if isinstance(value, ast.Constant):
                text += braced(str(value.value))
                continue
            assert isinstance(value, ast.FormattedValue)
            name, whole = field_name(value.value, owner=owner), ast.unparse(value.value)
            if name is None or names.setdefault(name, whole) != whole:
                break
            text += f"{{{name}}}"
        else:
            return text
    return None


def braced(text: str) -> str:
    """Return text as it stands in a template."""
    return text.replace("{", "{{").replace("}", "}}")


def is_plural(node: ast.AST) -> bool:
    """Whether a node calls ``core.units.plural``."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "plural"


def literals(tree: ast.AST) -> Iterator[str]:
    """Yield the literals of a module that could be said."""
    inner = not_said(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("TypeVar", "cast"):
            inner |= {id(given) for given in node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def sentences(tree: ast.AST, place: str = "") -> Iterator[tuple[int, str, str]]:
    """Yield line, template and, of what depends on a number, the phrase for many, of a module.

    ``place`` is the module's path below ``gpuexplorer/``.
    """
    inner = not_said(tree)
    for node in ast.walk(tree):
        for one, many in _pairs(node):
            yield one.lineno, _as_template(str(one.value)), _as_template(str(many.value))
            inner |= {id(one), id(many)}
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "tr" and node.args:
            word = _text(node.args[0])
            if word is not None and not is_said(node.args[0]) and re.search("[A-Za-z]{2}", word):
                yield node.lineno, braced(word), ""
    for node in ast.walk(tree):
        if id(node) in inner or not isinstance(node, ast.expr) or not is_said(node):
            continue
        if isinstance(node, ast.JoinedStr):
            words = template(node) or ""
        elif (words := shown(node) or "") in MARKS:
            continue
        else:
            words = _as_template(words)
        for text in _TAG.split(words):
            if WORDS.search(re.sub(r"\{\w+\}", "", text)) and not MACHINES.match(text):
                written = MANIFEST.fullmatch(text) if place in MANIFEST_WRITERS else None
                if written is None:
                    yield node.lineno, text.strip(" ") if _TAG.search(words) else text, ""
                elif written["value"].startswith('"') and " " in written["value"]:
                    yield node.lineno, written["value"].strip('"'), ""


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _pairs(node: ast.AST) -> Iterator[tuple[ast.Constant, ast.Constant]]:
    """Yield the phrases for one and for many that stand beside each other."""
    beside: list[ast.expr] = []
    if isinstance(node, ast.Call):
        beside = node.args[1:] if is_plural(node) else node.args
    elif isinstance(node, ast.Tuple | ast.List):
        beside = node.elts
    for one, many in pairwise(beside):
        if isinstance(one, ast.Constant) and isinstance(many, ast.Constant):
            counts = all("{number}" in (_text(phrase) or "") for phrase in (one, many))
            if counts or (is_plural(node) and len(beside) == 2):
                yield one, many


def _as_template(text: str) -> str:
    """Return a literal as a template: one of ``str.format`` already, or text with braces."""
    if "{" not in text:
        return braced(text)
    try:
        parts = [(words, name) for words, name, _, _ in Formatter().parse(text)]
    except ValueError:
        return braced(text)
    if not all(name is None or name == "" or name.isidentifier() for _, name in parts):
        return braced(text)
    return "".join(
        braced(words) + ("" if name is None else f"{{{name or 'value'}}}") for words, name in parts
    )
