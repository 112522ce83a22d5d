"""How long an engine has to leave its step, and what is said of one that does not come back."""

from __future__ import annotations

import pytest

from gpuexplorer.engine.deadlines import Deadlines


def test_only_a_launch_is_ended_at_once_and_what_serves_the_next_run_is_waited_for() -> None:
    deadlines = Deadlines(1.0)
    grace_s = {}
    for stage in ("measure", "build", "inputs"):
        deadlines.begin(stage, None)
        replaced_s = deadlines.grace_s(cancelled=False)
        grace_s[stage] = (replaced_s, deadlines.grace_s(cancelled=True))
    assert grace_s == {"measure": (0.25, 0.25), "build": (15.0, 2.0), "inputs": (2.0, 2.0)}


def test_an_engine_that_waits_for_a_core_has_so_much_longer_to_stop() -> None:
    """Beside busy programs a launch of a millisecond may take half a second."""
    deadlines = Deadlines(1.0)
    deadlines.begin("measure", None)

    def has_s() -> float:
        due, since = deadlines.due(ready=True, cancelled=False), deadlines.stopping_since
        assert since is not None
        return due - since

    deadlines.stop()
    began = deadlines.stopping_since
    assert began is not None and has_s() == pytest.approx(0.05), "it is looked at"
    assert deadlines.is_kept_waiting({"1": 5.0, "2": 7.0})
    assert has_s() == pytest.approx(0.25)
    assert deadlines.is_kept_waiting({"1": 5.01, "2": 7.2, "3": 9.0})
    assert deadlines.stopping_since == pytest.approx(began + 0.2)
    assert not deadlines.is_kept_waiting({"1": 5.01, "2": 7.2}), "it has had its time"
    assert deadlines.is_kept_waiting({"1": 99.0})
    assert deadlines.stopping_since == pytest.approx(began + 2.0), "never more than so much in all"
    assert not deadlines.is_kept_waiting({"1": 999.0})
    deadlines.done()
    deadlines.stop()
    assert has_s() == pytest.approx(0.05), "the next one is looked at anew"
    assert deadlines.is_kept_waiting({}) and not deadlines.is_kept_waiting({})


@pytest.mark.parametrize(
    ("stage", "allow_long", "reason", "remedy"),
    [
        ("predict", False, "a part of one launch did not end within 10 s", "--yes"),
        ("predict", True, "a launch did not end within 10 s", "--deadline"),
        ("measure", False, "a launch did not end within 10 s", "--deadline"),
        ("build", False, "while the engine was at 'build'", "--deadline"),
        ("memory", False, "while the engine was at 'memory'", "--deadline"),
        ("accesses", False, "while the engine was at 'accesses'", "--deadline"),
        ("operators", False, "while the engine was at 'operators'", "--deadline"),
        ("check", False, "looking for devices did not end within 10 s", "--deadline"),
        ("upload", False, "while the engine was at 'upload'", ""),
    ],
)
def test_what_did_not_come_back_is_told_with_what_would_help(
    stage: str, allow_long: bool, reason: str, remedy: str
) -> None:
    deadlines = Deadlines(1.0)
    deadlines.begin(stage, 10.0)
    words, help_ = deadlines.hang(running=True, agreed=allow_long)
    assert reason in words
    assert remedy in help_ and bool(remedy) == bool(help_)
    assert ("kernel" in words) == (stage in ("predict", "measure"))
