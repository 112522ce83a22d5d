"""What each switch buys: every one by itself beside the baseline, then on top of each other.

In three parts, each in turns: the baseline with every value of every switch alone; then the way to
the combination, a switch more at a time; then the baseline, each switch of the combination alone,
and the combination itself, from whose turns the waterfall is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuexplorer.charts.studies_switches import waterfall_chart
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import BY_AXIS
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import Added, Measured, Switched, SwitchesStudy, SwitchValue
from gpuexplorer.core.units import plural
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.results.study import switches_sheet
from gpuexplorer.studies.choices import (
    NO_SWITCH,
    THREADS,
    Choice,
    choices_of,
    legal,
    thread_offers,
    with_switches,
)
from gpuexplorer.studies.kind import Choice as FormChoice
from gpuexplorer.studies.kind import Scene, StudyKind
from gpuexplorer.studies.running import How, Running, turns_words
from gpuexplorer.studies.turns import Entry, InTurns, compared, measured_of, with_dropped
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.switches import COMPILING, read_switch
from gpuexplorer.workloads.workload import Workload

BASELINE = "baseline"
NO_SWITCHES = (
    "Switches belong to models of frameworks. Choose a workload such as MLP forward, or a variant "
    "that a framework computes."
)
GREEDY = "Those that pay by themselves were combined, the best first, each kept if it still paid."
STATED = "They were combined in the order that was asked for."


class SwitchesLab(Running[SwitchesStudy]):
    """Every switch of one model beside a baseline, and their combination.

    Raises InputError when there is nothing to turn, and what ``complete`` raises.
    """

    def __init__(
        self,
        request: RunRequest,
        workload: Workload,
        devices: DeviceList,
        how: How | None = None,
        *,
        switches: Sequence[str] | None = None,
        threads: Sequence[int] = (),
        order: Sequence[str] | None = None,
    ) -> None:
        """The request's own switches are the baseline's.

        ``switches`` are those to look at, by name or as ``NAME=VALUE`` (None: all that are
        offered), ``threads`` numbers of CPU threads to try, for which ``session`` has to have an
        engine for each (``search.engines.Several``). ``order`` names switches to combine in
        this order, whether they pay or not; None combines greedily.
        """
        super().__init__(how)
        self.workload, self._devices = workload, devices
        self.choices = choices_of(request, workload, devices, switches, threads)
        self._order = _read_order(order, self.choices.offered)
        self._device: DeviceInfo = find_device(devices, self.choices.baseline.device)
        self._all: list[InTurns] = []
        self._alone = self._in_turns(
            [Entry(BASELINE, self.choices.baseline)]
            + [Entry(choice.title, choice.config) for choice in self.choices.offered]
        )
        self._added: list[Added] = []
        self._kept: list[Choice] = []
        self._config = self.choices.baseline
        self._last: InTurns | None = None
        self._runs: list[RunResult] = []
        """Of the way to the combination."""

    @property
    def configurations(self) -> int:
        """How many runs in turns: those that pay are measured again."""
        return 1 + 2 * len(self.choices.offered)

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        return plural(
            len(self.choices.offered),
            "The baseline and {number} switch beside it, then those that pay on top of each other.",
            "The baseline and {number} switches beside it, then those that pay on top of each "
            "other.",
        )

    @property
    def compiles(self) -> bool:  # type: ignore[override]
        """Whether a switch has the model compiled anew."""
        return any(choice.switch in COMPILING for choice in self.choices.offered)

    def _in_turns(self, entries: Sequence[Entry]) -> InTurns:
        made = InTurns(entries, self.workload, self.how, self._step, self._expect)
        self._all.append(made)
        return made

    def _measure(self, session: Measures) -> None:
        self._alone.measure(session)
        if 0 in self._alone.failed:
            raise self._alone.failed[0]
        self._combine(session)
        if len(self._kept) > 1:
            entries = [Entry(BASELINE, self.choices.baseline)]
            entries += [Entry(choice.title, choice.config) for choice in self._kept]
            entries.append(Entry("combination", self._config))
            last = self._in_turns(entries)
            self._last = last
            last.measure(session)

    # ---- the way to the combination

    def _combine(self, session: Measures) -> None:
        """Put one switch on top of another."""
        for choice in self._candidates():
            place = self._place(choice)
            if not self._kept:  # the first is what it is by itself
                results = self._alone.results()
                self._keep(
                    choice, choice.config, results.get(0), results.get(place),
                    self._alone.comparison(place),
                )  # fmt: skip
                continue
            wished = with_switches(self._config, {choice.switch: choice.value})
            config, reason = legal(wished, self.workload, self._devices)
            if config is None:
                self._leave(choice, reason)
                continue
            turns = self._in_turns(
                [Entry("before", self._config), Entry(f"with {choice.title}", config)]
            )
            turns.measure(session)
            results = turns.results()
            self._runs += results.values()
            effect, before, run = turns.comparison(1), results.get(0), results.get(1)
            if turns.failed:
                self._leave(choice, next(iter(turns.failed.values())).what, before, run)
                continue
            if self._order is None and not _pays(effect, run):
                self._leave(choice, _why_not_kept(effect, before, run), before, run, effect)
            else:
                self._keep(choice, config, before, run, effect)

    def _candidates(self) -> list[Choice]:
        """Return the switches to combine, in order, each with its best value."""
        results = self._alone.results()
        best: dict[str, tuple[tuple[bool, float], Choice]] = {}
        for choice in self.choices.offered:
            place = self._place(choice)
            effect = self._alone.comparison(place)
            if place not in results or 0 not in results:
                continue
            if self._order is None and not _pays(effect, results[place]):
                continue
            # Which value is the best one can be said after fewer turns than what it is for certain.
            at = results[place].timing.median_s / (results[0].timing.median_s or math.inf)
            possible = results[place].timing.suspect is None
            share = not possible, effect.ratio if effect is not None else at
            wanted = self._order.get(choice.switch) if self._order is not None else None
            if wanted is not None and choice.value != wanted:
                continue
            if choice.switch not in best or share < best[choice.switch][0]:
                best[choice.switch] = (share, choice)
        if self._order is not None:
            return [best[name][1] for name in self._order if name in best]
        return [choice for _, choice in sorted(best.values(), key=lambda found: found[0])]

    def _place(self, choice: Choice) -> int:
        """Return where a choice stands among those that were measured alone."""
        return 1 + self.choices.offered.index(choice)

    def _keep(
        self,
        choice: Choice,
        config: RunConfig,
        before: RunResult | None,
        run: RunResult | None,
        effect: Comparison | None,
    ) -> None:
        self._kept.append(choice)
        self._config = config
        self._added.append(
            Added(
                switch=choice.switch, value=choice.value, title=choice.title,
                before=_figures(before), measured=_figures(run), effect=effect, kept=True,
            )
        )  # fmt: skip

    def _leave(
        self,
        choice: Choice,
        reason: str,
        before: RunResult | None = None,
        run: RunResult | None = None,
        effect: Comparison | None = None,
    ) -> None:
        self._added.append(
            Added(
                switch=choice.switch, value=choice.value, title=choice.title, reason=reason,
                before=_figures(before), measured=_figures(run), effect=effect,
            )
        )  # fmt: skip

    # ---- the document

    def document(self) -> SwitchesStudy:
        """Return the document of what is measured so far."""
        results = self._alone.results()
        runs = [*results.values(), *self._runs]
        shares: list[Switched] = []
        beside: Measured | None = None
        together: Measured | None = None
        total = combining = None
        last = self._last
        if last is not None and last.rounds_done and not last.failed:
            found = last.results()
            runs += found.values()
            end = len(self._kept) + 1
            shares = [self._share(c, i, found, last) for i, c in enumerate(self._kept, start=1)]
            beside, together = _figures(found.get(0)), _figures(found.get(end))
            total = last.comparison(end)
            combining = _combining(last, end)
        elif len(self._kept) == 1:
            only = self._kept[0]
            shares = [self._share(only, self._place(only), results, self._alone)]
            together, total = shares[0].measured, shares[0].effect
        rounds = max(self._alone.rounds_done, last.rounds_done if last is not None else 0)
        notes = [turns_words(rounds, fewer=self._alone.fewer)]
        if len(self._kept) > 1:
            notes.append(GREEDY if self._order is None else STATED)
        suspects = self._alone.suspects() + (last.suspects() if last is not None else [])
        notes += dict.fromkeys(suspects)
        if last is not None and last.failed:
            why = next(iter(last.failed.values())).what
            notes.append(f"The combination beside its switches could not be measured: {why}.")
        study = SwitchesStudy(
            **self._head(f"{self.workload.manifest.title}: what did each switch buy?", rounds),
            device=f"{self._device.name} · {self._device.driver}",
            notes=tuple(notes),
            config=self.choices.baseline,
            baseline=_figures(results.get(0)),
            alone=[self._alone_of(choice, results) for choice in self.choices.offered],
            not_offered=self.choices.not_offered,
            order="greedy" if self._order is None else "stated",
            added=list(self._added),
            combination={choice.switch: choice.value for choice in self._kept},
            beside=beside,
            together=together,
            shares=shares,
            total=total,
            combining=combining,
            runs=list({run.id: run for run in runs}.values()),
        )
        return with_dropped(study, self._all)

    def _alone_of(self, choice: Choice, results: dict[int, RunResult]) -> Switched:
        place = self._place(choice)
        if place in results:
            return self._share(choice, place, results, self._alone)
        error = self._alone.failed.get(place)
        return Switched(
            switch=choice.switch,
            value=choice.value,
            title=choice.title,
            skipped=error.what if error is not None else self._missing,
        )

    def _share(
        self, choice: Choice, place: int, results: dict[int, RunResult], turns: InTurns
    ) -> Switched:
        return Switched(
            switch=choice.switch,
            value=choice.value,
            title=choice.title,
            measured=_figures(results.get(place)),
            effect=turns.comparison(place),
        )


def _figures(run: RunResult | None) -> Measured | None:
    return None if run is None else measured_of(run)


def _pays(effect: Comparison | None, run: RunResult | None) -> bool:
    """Whether something is faster for certain, and its figure can be believed."""
    possible = run is not None and run.timing.suspect is None
    return possible and effect is not None and effect.verdict == "faster"


def _why_not_kept(
    effect: Comparison | None, before: RunResult | None, run: RunResult | None
) -> str:
    both = (one.timing.suspect for one in (run, before) if one is not None)
    if suspect := next(filter(None, both), None):
        return f"a time on top of the others cannot be true: {suspect}"
    if effect is None:
        return "too few rounds to tell what it does on top of the others"
    if effect.verdict == "slower":
        return f"on top of the others it makes it {effect.words}"
    if effect.verdict == "same":
        return "on top of the others it does nothing"
    return f"on top of the others it cannot be told to pay ({effect.interval})"


def _combining(turns: InTurns, end: int) -> Comparison | None:
    """Return the combination's time over what its switches come to by themselves.

    In each round the baseline's time is multiplied by what each switch alone takes over it; all of
    it was measured within one round, so a drift of the machine cancels.
    """
    if turns.suspects():
        return None
    baseline = turns.medians_s(0)
    with np.errstate(all="ignore"):
        expected = baseline.copy()
        for place in range(1, end):
            expected *= turns.medians_s(place) / baseline
    expected[~np.isfinite(expected)] = np.nan
    return compared(expected, turns.medians_s(end))


def _read_order(
    order: Sequence[str] | None, offered: Sequence[Choice]
) -> dict[str, SwitchValue | None] | None:
    """Return the switches to combine in order, with the value asked for (None: the best)."""
    if order is None:
        return None
    known = list(dict.fromkeys(choice.switch for choice in offered))
    read: dict[str, SwitchValue | None] = {}
    for word in order:
        name, equals, text = (part.strip() for part in word.partition("="))
        if name not in known:
            raise InputError(f"no switch '{name}' to combine", remedy=suggestion(name, known))
        if name in read:
            raise InputError(f"switch '{name}' is named twice", remedy="name each once")
        value: SwitchValue | None = None
        if equals:
            value = int(text) if name == THREADS and text.isdigit() else read_switch(name, text)
            if not any(c.switch == name and c.value == value for c in offered):
                raise InputError(f"switch '{word}' is not looked at", remedy="name it as a switch")
        read[name] = value
    return read


def finding(study: SwitchesStudy) -> str:
    """Return what the switches that were kept bought, in a sentence."""
    if study.baseline is None:
        return ""
    kept = [added.title for added in study.added if added.kept]
    if study.total is not None and kept:
        words = study.total.than("the baseline")
        return f"{' + '.join(kept)}: {words}."
    if study.stopped_by == "done" and kept and study.together is not None:
        return f"Kept: {' + '.join(kept)}. What they come to together cannot be told."
    if study.stopped_by == "done" and kept:
        return f"Kept: {' + '.join(kept)}. What they come to together was not measured."
    done = sum(one.measured is not None for one in study.alone)
    if not done and study.stopped_by == "done":
        return "No switch could be measured beside the baseline."
    if study.stopped_by == "done" and study.order == "greedy":
        return "No switch is sure to make it faster here."
    if not done:
        return ""
    return plural(
        done,
        "{number} switch measured beside the baseline.",
        "{number} switches measured beside the baseline.",
    )


def _offers(scene: Scene) -> list[Offer]:
    return [
        Offer(one.name, one.switch.title, one.reason, one.switch.teaches)
        for one in scene.switch_offers()
    ]


def _settle(chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without a switch, numbers of CPU threads alone are tried."""
    if not chosen["switches"] and not chosen["threads"]:
        raise InputError("no switch is ticked", remedy="tick one at least, or choose a model")
    return {**chosen, "switches": chosen["switches"] or (NO_SWITCH,)}


KIND = StudyKind(
    title="Switches",
    heading="What did each switch buy?",
    tip="What each switch of a model's structure buys, by itself and with the others",
    question="What did each switch buy?",
    about="Each switch of the model's structure is turned by itself beside the knobs as they "
    "stand, in turns; those that pay are then put on top of each other.",
    doing="measuring switches",
    command="what each switch buys: by itself, and all that pay together",
    document=SwitchesStudy,
    lab=SwitchesLab,
    sheet=switches_sheet,
    chart=waterfall_chart,
    finding=finding,
    choices=(
        FormChoice(
            "switches", "--switches", "S,..",
            "which switches, by name or as NAME=VALUE, or 'none' with --try-threads "
            "(default: all that are offered)",
            title="Switches to turn", offers=_offers,
            nothing=lambda scene: "" if scene.switch_offers() else NO_SWITCHES,
        ),
        FormChoice(
            "threads", "--try-threads", "T,..",
            "numbers of CPU threads to try as well, such as 1,2,4",
            read=BY_AXIS["threads"].values, title="CPU threads to try",
            offers=thread_offers, ticked=False,
        ),
        FormChoice(
            "order", "--order", "S,..",
            "combine these, in this order, whether they pay or not (default: those that pay, the "
            "best first, each kept if it still pays)",
        ),
    ),
    settle=_settle,
)  # fmt: skip
