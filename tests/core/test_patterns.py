"""A regular expression is compiled when it is first used."""

from __future__ import annotations

import re

import pytest

from gpuexplorer.core.patterns import later


def test_a_pattern_is_compiled_when_it_is_first_asked_for_and_once() -> None:
    broken = later("(")
    with pytest.raises(re.error):
        broken()
    word = later("[a-z]+", re.IGNORECASE)
    assert word().findall("One two") == ["One", "two"]
    assert word() is word()
