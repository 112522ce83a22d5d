"""What a list says of how a run was launched: its block, its switches, or who chose."""

from __future__ import annotations

from typing import Any

import pytest

from gpuexplorer.history.store import Store
from tests.history.conftest import made_run


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"block": (16, 8, 1), "device": "opencl:0"}, "16×8"),
        ({"block": None, "device": "torch:cpu", "variant": "torch"}, "PyTorch"),
        ({"block": None, "device": "jax:cuda:0", "variant": "jax"}, "JAX"),
        ({"block": None, "device": "numpy:cpu", "variant": "numpy"}, "NumPy"),
        ({"block": None, "device": "cuda:0", "variant": "cublas"}, "library"),
        (
            {"block": None, "device": "torch:cpu", "switches": {"compile": "default"}},
            "compile = default",
        ),
        ({"block": None, "device": "cuda:0", "variant": ""}, ""),
    ],
)
def test_the_block_or_who_chose_it(config: dict[str, Any], words: str) -> None:
    with Store.open("sqlite://") as store:
        store.add(made_run(1, **config))
        assert [row.launch_words for row in store.find()] == [words]
