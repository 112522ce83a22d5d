"""How an engine ended is told from the system's own count, not guessed."""

from __future__ import annotations

import signal
import sys

import pytest

from gpuexplorer.engine import death

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        (3, 4, "ended by the system (SIGKILL), most likely for want of memory"),
        (3, 3, "from outside, and not for want of memory"),
        (None, 3, "by hand or by the system for want of memory"),
        (3, None, "by hand or by the system for want of memory"),
    ],
)
def test_a_killed_engine(
    monkeypatch: pytest.MonkeyPatch, before: int | None, now: int | None, words: str
) -> None:
    monkeypatch.setattr(death, "killed_for_memory", lambda: now)
    assert words in death.how_it_ended(-signal.SIGKILL, before)


def test_a_library_that_gave_up_for_want_of_memory() -> None:
    said = ["terminate called after throwing an instance of 'std::bad_alloc'", "  what(): ..."]
    assert "for want of memory" in death.how_it_ended(-signal.SIGABRT, 0, said)
    assert "found its memory damaged" in death.how_it_ended(-signal.SIGABRT, 0, ["abort"])
    assert death.for_memory(-signal.SIGABRT, said)
    assert not death.for_memory(-signal.SIGABRT, ["abort"])
    assert not death.for_memory(-signal.SIGSEGV, said)


def test_other_ends() -> None:
    assert "SIGSEGV" in death.how_it_ended(-signal.SIGSEGV, 0)
    assert "status 3" in death.how_it_ended(3, 0)
    assert "had to be ended" in death.how_it_ended(None, 0)


def test_what_the_engine_noted_before_it_died_is_said() -> None:
    said = [
        "gpuexplorer: the kernel wrote outside array B: 1,001 elements behind it",
        "Stack dump:",
    ]
    sentence = death.how_it_ended(-signal.SIGSEGV, 0, said, "verify")
    assert sentence.startswith("the kernel wrote outside array B: 1,001 elements behind it, until")
    assert "array B" not in death.how_it_ended(-signal.SIGTERM, 0, said, "verify")


def test_a_compiler_that_crashed_is_not_called_a_kernel_out_of_bounds() -> None:
    assert "the compiler crashed (SIGSEGV)" in death.how_it_ended(-signal.SIGSEGV, 0, (), "build")
    assert "bounds" not in death.what_to_do(-signal.SIGSEGV, "build", True)
    assert "another way" in death.what_to_do(-signal.SIGSEGV, "build", True)


@pytest.mark.parametrize(
    ("status", "stage", "kernel", "bounds"),
    [
        (-signal.SIGSEGV, "verify", True, True),
        (-signal.SIGBUS, "measure", True, True),
        (-signal.SIGSEGV, "measure", False, False),
        (-signal.SIGSEGV, "upload", True, False),
        (-signal.SIGKILL, "measure", True, False),
        (-signal.SIGABRT, "measure", True, False),
        (1, "measure", True, False),
        (None, "measure", True, False),
    ],
)
def test_bounds_are_blamed_where_a_kernel_touched_what_is_not_its_own(
    status: int | None, stage: str, kernel: bool, bounds: bool
) -> None:
    assert ("bounds" in death.what_to_do(status, stage, kernel)) is bounds


@pytest.mark.parametrize(
    ("status", "outside"),
    [
        (-signal.SIGKILL, True),
        (-signal.SIGTERM, True),
        (-signal.SIGHUP, True),
        (-signal.SIGSEGV, False),
        (-signal.SIGFPE, False),
        (-signal.SIGABRT, False),
        (3, False),
        (None, False),
    ],
)
def test_who_ended_it(status: int | None, outside: bool) -> None:
    assert death.from_outside(status) is outside


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has signals without a name")
def test_a_signal_without_a_name_has_its_number() -> None:
    assert "the engine died (signal 40)" in death.how_it_ended(-40, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts")
def test_linux_counts_what_it_ends() -> None:
    found = death.killed_for_memory()
    assert found is None or found >= 0
