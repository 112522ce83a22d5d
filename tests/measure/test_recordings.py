"""How long recordings may take: as long as the user says, and no less than is usual."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from gpuexplorer.core.accesses import AccessLook
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.measure.recordings import count_accesses, record_operators
from tests.support.problems import device, made, plan_of

PLAN = plan_of(made())


class Empty:
    """Stands for a laboratory whose runner records nothing."""

    def release(self) -> None:
        pass

    def device(self, _: str) -> Any:
        return device()

    @contextmanager
    def held(self, *_: object) -> Iterator[Any]:
        nothing = Mock(side_effect=CannotRunHere("nothing tells it"))
        yield SimpleNamespace(plan=PLAN, accesses=nothing, operators=nothing)


@pytest.mark.parametrize(
    ("said", "accesses_s", "operators_s"),
    [(None, 120.0, 300.0), ("200", 200.0, 300.0), ("1000", 1000.0, 1000.0)],
)
def test_a_slow_machine_is_given_what_is_said(
    said: str | None, accesses_s: float, operators_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BUILD_DEADLINE_VARIABLE, raising=False)
    if said is not None:
        monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, said)
    laboratory, told = cast(Laboratory, Empty()), dict[str, float | None]()
    sink = Mock(stage=told.__setitem__)
    with pytest.raises(CannotRunHere):
        count_accesses(laboratory, made(), PLAN.config, sink, AccessLook())
    with pytest.raises(CannotRunHere):
        record_operators(laboratory, made(), PLAN.config, sink, shapes=False)
    assert (told["accesses"], told["operators"]) == (accesses_s, operators_s)
