"""Errors in overrides of Qt's virtual methods, which must not end the process.

Before Python 3.12 an error that the interpreter raises itself, such as an index out of range, is no
exception yet but a message beside a type, until it is caught. PySide 6 up to 6.10 takes it
for an exception when it leaves an override, and crashes. So every override of this program catches
what passes through it and raises it again; then it is shown like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, MethodDescriptorType
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtGui import QStandardItem
from PySide6.QtWidgets import QGraphicsItem, QGraphicsLayoutItem, QTableWidgetItem

BASES: tuple[Any, ...] = (
    QObject, QGraphicsItem, QGraphicsLayoutItem, QStandardItem, QTableWidgetItem,
)  # fmt: skip
NEEDED = sys.version_info < (3, 12)


def install() -> None:
    """Have every class made from now on raise whole exceptions from its overrides."""
    if not NEEDED:
        return
    for base in BASES:
        base.__init_subclass__ = classmethod(_made_after(base))


def _made_after(base: Any) -> Callable[..., None]:
    def made(cls: type, **words: Any) -> None:
        super(base, cls).__init_subclass__(**words)
        for name, found in [*vars(cls).items()]:
            if isinstance(found, FunctionType) and _overrides(cls, name):
                setattr(cls, name, raising_whole(found))

    return made


def _overrides(cls: type, name: str) -> bool:
    return any(isinstance(vars(b).get(name), MethodDescriptorType) for b in cls.__mro__[1:])


def raising_whole(method: FunctionType) -> Callable[..., Any]:
    """Return a method whose errors are whole exceptions.

    One of one or two arguments stays so: how many a slot takes, PySide asks of the function.
    """
    code = method.__code__
    if hasattr(method, "__wrapped__"):
        return method
    others = code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    count = 0 if others or method.__defaults__ else code.co_argcount

    def of_none(self: Any) -> Any:
        try:
            return method(self)
        except BaseException:
            raise

    def of_one(self: Any, argument: Any) -> Any:
        try:
            return method(self, argument)
        except BaseException:
            raise

    def of_any(*arguments: Any, **words: Any) -> Any:
        try:
            return method(*arguments, **words)
        except BaseException:
            raise

    shapes: dict[int, Callable[..., Any]] = {1: of_none, 2: of_one}
    return wraps(method)(shapes.get(count, of_any))
