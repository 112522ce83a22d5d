"""What came of a tuning, as words and as a chart: for the terminal and the window alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Role, series
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.tuning import Evaluation, Finalist, Outcome, Tuning
from gpuexplorer.core.units import plural, quantity, samples_words, speed
from gpuexplorer.core.verdict import verdict_of

LEAST_SHOWN = 10
"""The chart's axis begins with so many, so that the first points stand apart."""
EMPTY_S = (1e-5, 1e-2)
MARGIN = 1.15
OVER = 1.05
"""So many times its budget is what a search takes whose last look or round ends after it."""
DRAWN: dict[Outcome, tuple[str, Role, int]] = {
    "pruned": ("given up early", "pinned", 5),
    "measured": ("measured", "measured", 0),
}
BEST_COLOUR = 1


def standing_words(finalist: Finalist, tuning: Tuning) -> str:
    """Return what a finalist is beside the best, and whether it is chosen or the start."""
    is_best = finalist.config == tuning.best
    parts: list[str] = ["the fastest" if is_best else finalist.verdict or "too few turns"]
    if finalist.config == tuning.chosen:
        parts.append("chosen")
    if finalist.config.key == tuning.start.key:
        parts.append("without tuning")
    return ", ".join(parts)


def conclusions(tuning: Tuning) -> list[str]:
    """Return who is named and why, what it gains, how many are tied, and what was tried."""
    lines = []
    if tuning.chosen is not None:
        lines.append(f"Use {knob_words(tuning.chosen)}: {tuning.why}.")
        lines += _gain(tuning)
        lines += [tuning.not_verified] if tuning.not_verified else []
        others = len(tuning.tied) - 1
        if others:
            lines.append(
                plural(
                    others,
                    "{number} other cannot be told from the best.",
                    "{number} others cannot be told from the best.",
                )
            )
        lines += _shorter(tuning)
        if tuning.untested:
            lines.append(
                f"{tuning.untested} more were as near in the search and not measured again."
            )
    else:
        lines.append("Nothing is named.")
    measured, pruned = tuning.count("measured"), tuning.count("pruned")
    counted = [f"{measured} measured", f"{pruned} given up early"]
    if failed := tuning.count("failed"):
        counted.append(f"{failed} failed")
    facts = [
        f"Tried {tuning.tried} of {tuning.space.configurations} configurations in "
        f"{tuning.search_s:.1f} s: {', '.join(counted)}"
    ]
    if tuning.final_s:
        facts.append(f"the final took {tuning.final_s:.1f} s")
    lines.append(f"{'; '.join(facts)}.")
    lines += _over_budget(tuning)
    if len(tuning.cards) > 1:
        lines.append(
            f"{len(tuning.cards)} cards of this hardware searched at a time; the turns of each "
            "round stood on one of them."
        )
    return lines


def _over_budget(tuning: Tuning) -> list[str]:
    """Say why it took clearly longer than it might, where the smallest final does."""
    seconds = tuning.budget.seconds
    if seconds is None or not tuning.search_s < seconds or len(tuning.finalists) > 2:
        return []
    if tuning.search_s + tuning.final_s < OVER * seconds:
        return []
    return [
        f"That is more than the budget of {seconds:g} s: two finalists take eight turns each at "
        "the least."
    ]


def _shorter(tuning: Tuning) -> list[str]:
    """Say why the fastest is not one whose median is shorter, where there is such a one."""
    best = next((one for one in tuning.finalists if one.config == tuning.best), None)
    found = [
        one for one in tuning.finalists
        if best is not None and one.median_s < best.median_s and one.ratio is not None
    ]  # fmt: skip
    if not found:
        return []
    one = min(found, key=lambda one: one.median_s)
    beside = speed(one.ratio, one.ci95_low, one.ci95_high, one.verdict)
    return [
        f"{knob_words(one.config)} has a shorter median, {quantity(one.median_s, 's')}, over turns "
        f"at other times; turn by turn, beside the fastest: {beside}, which decides."
    ]


def _gain(tuning: Tuning) -> list[str]:
    """Say what tuning gained, as far as the interval bears it out."""
    ratio, low, high = tuning.start_ratio, tuning.start_ci95_low, tuning.start_ci95_high
    start = knob_words(tuning.start)
    if tuning.start_refused is not None:
        return [f"Without tuning it cannot be launched here: {tuning.start_refused}."]
    if tuning.chosen is not None and tuning.chosen.key == tuning.start.key:
        return ["That is what one gets without tuning."]
    if ratio is None or low is None or high is None:
        looked_at = {e.config.key: e.median_s for e in tuning.evaluations if e.median_s}
        found_s = looked_at.get(tuning.start.key)
        chosen_s = looked_at.get(tuning.chosen.key) if tuning.chosen is not None else None
        if found_s is None or chosen_s is None:
            return [f"Without tuning one gets {start}, which was not measured."]
        beside = speed(found_s / chosen_s)  # of looks: the final may have had another machine
        return [f"Without tuning one gets {start}, which was {beside} in the search."]
    if verdict_of(ratio, low, high) != "slower":
        return [f"That cannot be told from {start}, which one gets without tuning."]
    return [f"Without tuning one gets {start}, which is {speed(ratio, low, high)}."]


def failures(tuning: Tuning, most: int | None) -> list[str]:
    """Return the reasons of failures, the most frequent first, with how often each came."""
    last = {e.config.key: e for e in tuning.evaluations}
    counted: Counter[str] = Counter()
    example: dict[str, RunConfig] = {}
    for evaluation in last.values():
        if evaluation.outcome == "failed" and evaluation.reason:
            counted[evaluation.reason] += 1
            example.setdefault(evaluation.reason, evaluation.config)
    lines = []
    for reason, times in counted.most_common(most):
        config, more = example[reason], times - 1
        lines.append(
            f"failed: {knob_words(config)} and {more} more: {reason}"
            if more
            else f"failed: {knob_words(config)}: {reason}"
        )
    left = len(counted) - len(lines)
    return lines + ([f"{left} more reasons; -v says which"] if left else [])


def tuning_chart(evaluations: Sequence[Evaluation], *, title: str = "") -> ChartSpec:
    """Return the times of all measurements in order; keys are their numbers.

    A configuration that is looked at again is measured, and counted, again.
    Those that failed have no time and no point.
    """
    timed = [(e, e.median_s) for e in evaluations if e.median_s]
    drawn = []
    for outcome, (name, role, colour) in DRAWN.items():
        found = [(e, median_s) for e, median_s in timed if e.outcome == outcome]
        drawn.append(
            series(
                name, "points", role, colour=colour,
                x=[e.number for e, _ in found], y=[median_s for _, median_s in found],
                keys=tuple(str(e.number) for e, _ in found),
            )
        )  # fmt: skip
    numbers, times_s = best_so_far(evaluations)
    drawn.append(
        series("the best so far", "line", "model", x=numbers, y=times_s, colour=BEST_COLOUR)
    )
    times = [median_s for _, median_s in timed] or EMPTY_S
    low, high = min(times), max(times)
    panel = Panel(
        x=Axis(
            label="measurements, in order", low=0.5,
            high=max(LEAST_SHOWN, len(evaluations)) + 0.5,
        ),
        y=Axis(
            label="time per launch", unit="s", scale="log", low=low / MARGIN,
            high=max(high, 1.5 * low) * MARGIN,
        ),
        series=tuple(drawn),
    )  # fmt: skip
    return ChartSpec(title=title, rows=((panel,),))


def best_so_far(evaluations: Sequence[Evaluation]) -> tuple[list[float], list[float]]:
    """Return the line of the best so far as steps: numbers of measurements and seconds."""
    x: list[float] = []
    y: list[float] = []
    for evaluation in evaluations:
        if evaluation.outcome == "measured" and evaluation.median_s:
            if not y or evaluation.median_s < y[-1]:
                if y:
                    x.append(float(evaluation.number))
                    y.append(y[-1])
                x.append(float(evaluation.number))
                y.append(evaluation.median_s)
    if y:
        x.append(float(evaluations[-1].number))
        y.append(y[-1])
    return x, y


def evaluation_words(evaluation: Evaluation) -> str:
    """Return one configuration that was tried in words."""
    samples = samples_words(evaluation.samples)
    lines = [
        f"{evaluation.number}: {knob_words(evaluation.config)}",
        f"{quantity(evaluation.median_s, 's')}, median of {samples}",
    ]
    return "\n".join(lines + ([evaluation.reason] if evaluation.reason else []))
