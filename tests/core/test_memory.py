"""The parts of a peak add up to it, and a prediction says how far it lies from the peak."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.core.memory import PARTS, MemoryParts, MemoryUse


def test_parts_add_up_and_come_in_order() -> None:
    parts = MemoryParts.of({"weights": 8.0, "inputs": 2.0, "activations": 4.0})
    assert parts.total_B == 14.0
    assert parts.named() == [("weights", 8.0), ("activations", 4.0), ("inputs", 2.0)]
    assert set(parts.__struct_fields__) == {f"{name}_B" for name in PARTS} | {"total_B"}


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="cache"):
        MemoryParts.of({"cache": 1.0})


def test_the_error_of_a_prediction_is_a_share_of_the_peak() -> None:
    predicted = MemoryParts.of({"weights": 110.0})
    use = MemoryUse(predicted=predicted, peak_B=100.0, counter="a counter")
    assert use.relative_error == pytest.approx(0.1)
    assert MemoryUse(predicted=predicted).relative_error is None
    assert MemoryUse(peak_B=100.0, counter="a counter").relative_error is None


def test_a_run_of_an_older_version_has_no_memory() -> None:
    decoded = msgspec.json.decode(b'{"peak_B": 3}', type=MemoryUse)
    assert decoded == MemoryUse(peak_B=3.0)
