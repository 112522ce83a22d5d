"""Who says which configuration comes next: one of Optuna's samplers, or a shuffled list of all.

Optuna is asked and told; it never runs anything itself. It knows nothing of what can be launched,
so what it proposes is moved to the nearest configuration that can be and that was not tried yet,
and it is told where that lies and what came of it.
"""

from __future__ import annotations

import importlib.util
import random
import warnings
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.search.tune_space import Place, TuningSpace
from gpuexplorer.workloads.strict import suggestion

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.trial import TrialState

SAMPLERS = {
    "tpe": "Optuna's tree of Parzen estimators: tries more where it was fast (default)",
    "random": "Optuna's random sampler",
    "grid": "every configuration once, in shuffled order",
    "cmaes": "Optuna's CMA-ES; needs the package cmaes",
    "qmc": "Optuna's quasi-random sequence, spread evenly; needs the package scipy",
}
LEARNING = ("tpe", "cmaes")
"""Samplers that go by the times that they are told of."""
NEEDS = {"cmaes": "cmaes", "qmc": "scipy"}
"""Packages that some samplers need and that are not installed with this program."""


class Sampler(Protocol):
    """Proposes places, and is told what came of each, in any order.

    What it is told of a place once more holds from then on, in place of what it was told before.
    """

    def ask(self, taken: Collection[Place]) -> Place | None:
        """Return the next place, none of the taken ones; None when all are."""

    def measured(self, place: Place, median_s: float, *, pruned: bool) -> None:
        """Take in the time of a place that was asked for; ``pruned`` when given up early."""

    def failed(self, place: Place) -> None:
        """Take in that a place that was asked for could not be measured."""


def make_sampler(name: str, space: TuningSpace, seed: int, *, several: bool = False) -> Sampler:
    """Return a sampler over a space; it may be asked for ``several`` places before it is told.

    Raises InputError for an unknown name, CannotRunHere when it needs a package that is missing.
    """
    check_sampler(name)
    if name == "grid":
        return Listed(space, seed)
    return OptunaSampler(name, space, seed, several=several)


def check_sampler(name: str) -> None:
    """Raise what ``make_sampler`` raises, without loading anything."""
    if name not in SAMPLERS:
        raise InputError(f"no sampler '{name}'", remedy=suggestion(name, SAMPLERS))
    if name == "grid":
        return
    for package in (*filter(None, [NEEDS.get(name)]), "optuna"):
        if importlib.util.find_spec(package) is None:
            raise CannotRunHere(
                f"the sampler '{name}' needs the package {package}, which is not installed",
                remedy="'pip install optuna', or take --sampler grid"
                if package == "optuna"
                else f"'pip install {package}', or leave --sampler out",
            )


class Listed:
    """Every place once, in shuffled order: slow blocks stand together, and racing would not pay."""

    def __init__(self, space: TuningSpace, seed: int) -> None:
        self._left = sorted(space.legal, reverse=True)
        random.Random(seed).shuffle(self._left)

    def ask(self, taken: Collection[Place]) -> Place | None:
        """Return the next of the list."""
        while self._left:
            place = self._left.pop()
            if place not in taken:
                return place
        return None

    def measured(self, place: Place, median_s: float, *, pruned: bool) -> None:
        """Nothing to learn."""

    def failed(self, place: Place) -> None:
        """Nothing to learn."""


class OptunaSampler:
    """One of Optuna's samplers over the indices of the dimensions' values, which are in order."""

    def __init__(self, name: str, space: TuningSpace, seed: int, *, several: bool = False) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.CRITICAL)
        self._optuna = optuna
        self._space = space
        self._distributions: dict[str, Any] = {
            name: optuna.distributions.IntDistribution(0, len(values) - 1)
            for name, values in zip(space.names, space.values, strict=True)
        }
        # CMA-ES learns only from what it proposed itself.
        self._tells_proposal = name == "cmaes"
        self._learns = name in LEARNING
        self._trials: dict[Place, int] = {}
        """What Optuna proposed and has not been told the outcome of, as it numbers trials."""
        self._told: dict[Place, int] = {}
        """The trial that each place was told with."""
        self._corrected: dict[int, tuple[TrialState, float | None]] = {}
        """Trials that came out otherwise than they were told."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that some samplers are experimental is no news here
            self._study = optuna.create_study(sampler=_optuna_sampler(name, seed, several))

    def ask(self, taken: Collection[Place]) -> Place | None:
        """Return what Optuna proposes, or the nearest to it that is free and can be launched."""
        if len(taken) >= len(self._space.legal):
            return None
        self._correct()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._study.ask(self._distributions)
        proposed = tuple(int(trial.params[name]) for name in self._space.names)
        place = self._space.nearest(proposed, taken)
        if place is not None and (place == proposed or self._tells_proposal):
            self._trials[place] = trial.number
        else:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return place

    def measured(self, place: Place, median_s: float, *, pruned: bool) -> None:
        """Tell Optuna the time, as a pruned trial's last report or as a complete trial's value."""
        states = self._optuna.trial.TrialState
        pruned = pruned and not self._tells_proposal
        self._tell(place, states.PRUNED if pruned else states.COMPLETE, median_s)

    def failed(self, place: Place) -> None:
        """Tell Optuna that the configuration failed."""
        self._tell(place, self._optuna.trial.TrialState.FAIL, None)

    def _tell(self, place: Place, state: TrialState, median_s: float | None) -> None:
        """Tell Optuna of a place, or that it came out otherwise than it was told."""
        if place in self._told:
            if self._learns:
                self._corrected[self._told[place]] = (state, median_s)
            return
        states, number = self._optuna.trial.TrialState, self._trials.pop(place, None)
        if number is not None and state != states.PRUNED:
            self._study.tell(number, median_s, state=state)
        else:
            if number is not None:
                self._study.tell(number, state=states.FAIL)
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=state,
                    params=dict(zip(self._space.names, place, strict=True)),
                    distributions=self._distributions,
                    value=median_s,
                    intermediate_values=self._reports(state, median_s),
                )
            )
            number = len(self._study.get_trials(deepcopy=False)) - 1
        self._told[place] = number

    def _correct(self) -> None:
        """Have Optuna know what is believed: in another study, as trials that ended never change.

        It proposes the same way, for its sampler is the same.
        """
        if not self._corrected:
            return
        trials = self._study.trials
        for number, (state, median_s) in self._corrected.items():
            trial = trials[number]
            trial.state, trial.value = state, median_s
            trial.intermediate_values = self._reports(state, median_s) or {}
        self._corrected.clear()
        self._study = self._optuna.create_study(sampler=self._study.sampler)
        self._study.add_trials(trials)

    def _reports(self, state: TrialState, median_s: float | None) -> dict[int, float] | None:
        pruned = state == self._optuna.trial.TrialState.PRUNED
        return {0: median_s} if pruned and median_s is not None else None

    @property
    def trials(self) -> list[tuple[str, dict[str, Any], float | None]]:
        """What Optuna was told: each trial's state, place by dimension, and time in seconds."""
        self._correct()
        return [(t.state.name, t.params, t.value) for t in self._study.trials]


def _optuna_sampler(name: str, seed: int, several: bool) -> BaseSampler:
    from optuna import samplers

    if name == "tpe":
        return samplers.TPESampler(seed=seed, multivariate=True, constant_liar=several)
    if name == "random":
        return samplers.RandomSampler(seed=seed)
    if name == "cmaes":
        return samplers.CmaEsSampler(seed=seed)
    return samplers.QMCSampler(seed=seed, scramble=True)
