"""Stand-ins are called as the packages are, in every version that there is a file of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.backends.fakes_fit import check_fake_cuda, check_fake_cupti
from tests.signatures import Signatures, all_of
from tests.signatures.collect import DISTRIBUTIONS, WANTED

CONSTRAINTS = Path(__file__).parents[2] / "packaging"


def ids(one: Signatures) -> str:
    return f"{one.package} {one.version}"


@pytest.mark.parametrize("one", all_of("cupy"), ids=ids)
def test_the_fake_device_is_called_as_cupy_is(one: Signatures) -> None:
    check_fake_cuda(one)


@pytest.mark.parametrize("one", all_of("cupti"), ids=ids)
def test_the_fake_recorder_is_called_as_cupti_is(one: Signatures) -> None:
    check_fake_cupti(one)


def test_there_is_a_file_of_every_version_that_is_pinned() -> None:
    text = "\n".join(file.read_text() for file in CONSTRAINTS.glob("constraints*.txt"))
    for package, names in DISTRIBUTIONS.items():
        pinned = {v for n in names for v in re.findall(rf"^{n}==(\S+)", text, re.MULTILINE)}
        assert pinned
        assert pinned <= {one.version for one in all_of(package)}, (
            f"python -m tests.signatures.collect {package}, where that version is installed"
        )


@pytest.mark.parametrize("package", ["cupy", "cupti"])
def test_every_wanted_name_is_in_some_version(package: str) -> None:
    known = {name for one in all_of(package) for name in one.entries}
    assert known == {*WANTED[package].split()}


@pytest.mark.parametrize(
    ("count", "keywords", "right"),
    [
        (2, (), True), (3, (), True), (1, (), False), (4, (), False), (1, ("b",), True),
        (2, ("c",), True), (2, ("b",), False), (2, ("d",), False), (0, ("a", "b", "c"), True),
    ],
)  # fmt: skip
def test_a_call_that_does_not_fit_is_an_error(
    count: int, keywords: tuple[str, ...], right: bool
) -> None:
    one = Signatures("made", "1", {"f": {"arguments": ["a", "b", "c="]}})
    if right:
        one.check_call("f", count, keywords)
    else:
        with pytest.raises(TypeError, match="f\\(a, b, c=\\)"):
            one.check_call("f", count, keywords)
