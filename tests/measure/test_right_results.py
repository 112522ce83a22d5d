"""What a Python function returned is taken for every output, or refused."""

from __future__ import annotations

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.measure.right_results import _by_name


def test_an_output_that_a_function_leaves_out_is_not_taken_for_checked() -> None:
    assert _by_name({"D": 2, "C": 1}, ["C", "D"], "right()") == {"C": 1, "D": 2}
    with pytest.raises(InputError, match=r"without D, which would not be checked"):
        _by_name({"C": 1}, ["C", "D"], "right()")
