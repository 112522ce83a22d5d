"""The figures of a run in words."""

from __future__ import annotations

import msgspec

from gpuexplorer.charts.facts import facts
from gpuexplorer.core.result import Arithmetic, RunResult
from tests.support.exchange import made_run


def row(arithmetic: Arithmetic | None) -> tuple[str, str] | None:
    """Return figure and explanation of the line that tells what was computed in."""
    run: RunResult = msgspec.structs.replace(made_run(1, 20), arithmetic=arithmetic)
    return {name: (figure, words) for name, figure, words in facts(run)}.get("arithmetic")


def test_what_ran_is_told_where_it_is_a_question() -> None:
    told = Arithmetic(asked="bf16", ran="bf16", accumulates_in="fp32", how="weights are bfloat16")
    assert row(told) == ("bf16", "sums in fp32; weights are bfloat16")
    assert row(Arithmetic(asked="fp32", ran="fp32", accumulates_in="fp32", how="so")) is None
    assert row(None) is None


def test_a_fallback_is_told_first() -> None:
    told = Arithmetic(asked="tf32", ran="fp32", fallback="nothing used it")
    assert row(told) == ("fp32", "NOT tf32: nothing used it")


def test_what_nobody_can_tell_is_said_to_be_not_known() -> None:
    told = Arithmetic(asked="tf32", ran=None, how="weights are float32")
    assert row(told) == ("not known", "weights are float32")


def test_what_held_the_clock_is_told_without_a_verdict() -> None:
    run = made_run(1, 20)
    state = msgspec.structs.replace(run.telemetry, throttle_reasons=("power cap", "power brake"))
    shown = {n: w for n, _, w in facts(msgspec.structs.replace(run, telemetry=state))}
    assert shown["device state"].endswith("clock held at times by power cap, power brake")


def test_samples_that_were_lost_are_told_where_that_is_known() -> None:
    def told(dropped: int | None) -> str | None:
        run = made_run(1, 20)
        timing = msgspec.structs.replace(run.timing, dropped=dropped)
        rows = facts(msgspec.structs.replace(run, timing=timing))
        return {name: words for name, _, words in rows}.get("lost")

    why = "lost, because samples came faster than they were taken in"
    assert told(None) is told(0) is None
    assert told(1) == f"1 sample was {why}"
    assert told(4500) == f"4\u202f500 samples were {why}"
