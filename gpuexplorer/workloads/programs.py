"""Python files of the user's: read and looked over here, run in the engine alone once agreed to."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError

SUFFIX = ".py"


class Program(msgspec.Struct, frozen=True):
    """A Python file by its path on this machine and its text."""

    path: Path
    text: str

    @property
    def sha256(self) -> str:
        """The fingerprint of the file, as ``sha256sum`` gives it."""
        return text_sha256(self.text)


def text_sha256(text: str) -> str:
    """Return the fingerprint of a file's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def parsed(text: str, path: Path | str) -> ast.Module:
    """Return a file's syntax tree; InputError with file and line for what is no Python."""
    try:
        return ast.parse(text.encode(), filename=str(path))
    except SyntaxError as error:
        shown = (error.text or "").rstrip()
        caret = f"\n{' ' * (max(1, error.offset or 1) - 1)}^" if shown else ""
        raise InputError(
            f"{path}:{error.lineno or 1}: {error.msg}",
            remedy="correct the file",
            detail=f"{shown}{caret}".strip("\n"),
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{path}: not a Python file: {str(error) or 'nested too deeply'}",
            remedy="correct the file",
        ) from None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield what runs when the file is imported, also under ``if`` and ``try``."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from statements(getattr(statement, part, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)


def bound(name: str, found_statements: list[ast.stmt]) -> ast.AST | None:
    """Return what a name at the top of the file is bound to last; None when it is not."""
    found: ast.AST | None = None
    for statement in found_statements:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                if statement.name == name:
                    found = statement
            case ast.Assign(targets=targets, value=value):
                if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                    found = value
            case ast.AnnAssign(target=ast.Name(id=target), value=value) if value is not None:
                if target == name:
                    found = value
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                if any((a.asname or a.name) == name for a in names):
                    found = statement
            case _:
                pass
    return found


def imports_all(found_statements: list[ast.stmt]) -> bool:
    """Return whether names come that the text does not tell."""
    return any(
        isinstance(s, ast.ImportFrom) and any(a.name == "*" for a in s.names)
        for s in found_statements
    )
