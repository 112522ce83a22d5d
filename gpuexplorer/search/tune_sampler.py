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
    from optuna.trial import Trial

SAMPLERS = {
    "tpe": "Optuna's tree of Parzen estimators: tries more where it was fast (default)",
    "random": "Optuna's random sampler",
    "grid": "every configuration once, in shuffled order",
    "cmaes": "Optuna's CMA-ES; needs the package cmaes",
    "qmc": "Optuna's quasi-random sequence, spread evenly; needs the package scipy",
}
NEEDS = {"cmaes": "cmaes", "qmc": "scipy"}
"""Packages that some samplers need and that are not installed with this program."""


class Sampler(Protocol):
    """Proposes places, and is told what came of each, in any order."""

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
        self._trials: dict[Place, Trial] = {}
        """What Optuna proposed and has not been told the outcome of."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that some samplers are experimental is no news here
            self._study = optuna.create_study(sampler=_optuna_sampler(name, seed, several))

    def ask(self, taken: Collection[Place]) -> Place | None:
        """Return what Optuna proposes, or the nearest to it that is free and can be launched."""
        if len(taken) >= len(self._space.legal):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._study.ask(self._distributions)
        proposed = tuple(int(trial.params[name]) for name in self._space.names)
        place = self._space.nearest(proposed, taken)
        if place is not None and (place == proposed or self._tells_proposal):
            self._trials[place] = trial
        else:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return place

    def measured(self, place: Place, median_s: float, *, pruned: bool) -> None:
        """Tell Optuna the time, as a pruned trial's last report or as a complete trial's value."""
        states = self._optuna.trial.TrialState
        state = states.PRUNED if pruned else states.COMPLETE
        trial = self._trials.pop(place, None)
        if trial is None:
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=state,
                    params=dict(zip(self._space.names, place, strict=True)),
                    distributions=self._distributions,
                    value=median_s,
                    intermediate_values={0: median_s} if pruned else None,
                )
            )
        elif pruned and not self._tells_proposal:
            trial.report(median_s, step=0)
            self._study.tell(trial, state=state)
        else:
            self._study.tell(trial, median_s)

    def failed(self, place: Place) -> None:
        """Tell Optuna that the configuration failed."""
        trial = self._trials.pop(place, None)
        if trial is not None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.add_trial(
                self._optuna.trial.create_trial(
                    state=self._optuna.trial.TrialState.FAIL,
                    params=dict(zip(self._space.names, place, strict=True)),
                    distributions=self._distributions,
                )
            )

    @property
    def trials(self) -> list[tuple[str, dict[str, Any], float | None]]:
        """What Optuna was told: each trial's state, place by dimension, and time in seconds."""
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
