"""Values that a user's file returns: tensors are found in them, and changed, wherever they are."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from gpuexplorer.backends.torch.own_model_file import mapped, tensors_in


class Tensor:
    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensor) and self.value == other.value


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Batch:
    ids: Any
    mask: Any = None
    name: str = "batch"


TORCH = SimpleNamespace(Tensor=Tensor)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Tensor(1), Tensor(11)),
        ([Tensor(1), "word", 3], [Tensor(11), "word", 3]),
        (Pair(Tensor(1), None), Pair(Tensor(11), None)),
        (OrderedDict(x=Tensor(1), y=(Tensor(2),)), {"x": Tensor(11), "y": (Tensor(12),)}),
        (Batch([Tensor(1)], Tensor(2)), Batch([Tensor(11)], Tensor(12))),
        (Batch, Batch),
        ("word", "word"),
    ],
)
def test_every_tensor_that_is_found_is_changed(value: Any, expected: Any) -> None:
    before = [tensor.value for tensor in tensors_in(TORCH, value)]
    changed = mapped(TORCH, value, lambda tensor: Tensor(tensor.value + 10))
    assert changed == expected
    assert [tensor.value for tensor in tensors_in(TORCH, changed)] == [v + 10 for v in before]
    assert [tensor.value for tensor in tensors_in(TORCH, value)] == before
