"""What a tuning has tried, while it goes on and afterwards, and how a session file holds it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpuexplorer.charts.tuning import evaluation_words, tuning_chart
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.tuning import TUNING_SCHEMA, Evaluation, Tuning, tuning_json
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.model.part_file import check_config, decode_part
from gpuexplorer.results.tuning import sheet_of, tried_sheet


class Tried(msgspec.Struct, frozen=True):
    """What a tuning has tried so far, and what came of it; None before it ended."""

    evaluations: tuple[Evaluation, ...]
    tuning: Tuning | None = None
    error: str = ""

    @property
    def runs(self) -> Sequence[Evaluation]:
        """What was tried."""
        return self.evaluations

    @property
    def notes(self) -> Sequence[str]:
        """What was tried, in a sentence."""
        if self.tuning is not None:
            return sheet_of(self.tuning).notes[-1:]
        return (self.error, "Nothing is named.") if self.error else ("Nothing is named.",)

    @property
    def stopped_by(self) -> str:
        """``done`` once something is named."""
        named = self.tuning is not None and self.tuning.chosen is not None
        return "done" if named else "user"

    def config_of(self, key: str) -> RunConfig | None:
        """Return the configuration of an evaluation by its number, or of a finalist by its key."""
        if (evaluation := self.evaluation(key)) is not None:
            return evaluation.config
        finalists = self.tuning.finalists if self.tuning is not None else ()
        return next((one.config for one in finalists if one.config.key == key), None)

    def evaluation(self, key: str) -> Evaluation | None:
        """Return an evaluation by its number."""
        return next((one for one in self.evaluations if str(one.number) == key), None)


def encode(held: Held[Tried]) -> bytes:
    """Return a tuning that has ended as JSON."""
    if held.result.tuning is None:
        raise InputError("the tuning has not ended", remedy="let the leaders decide first")
    return tuning_json(held.result.tuning)


def decode(data: bytes, origin: str) -> Held[Tried]:
    """Return the tuning that a file holds; InputError when it does not hold together."""
    tuning = decode_part(data, Tuning, TUNING_SCHEMA, "the tuning")
    configs = [tuning.start, *(one.config for one in tuning.evaluations)]
    configs += [one.config for one in tuning.finalists]
    configs += [one for one in (tuning.best, tuning.chosen) if one is not None]
    for config in configs:
        check_config(config)
    try:  # as they are shown
        sheet_of(tuning)
        tried_sheet(tuning)
        tuning_chart(tuning.evaluations)
        for one in tuning.evaluations:
            evaluation_words(one)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise InputError(f"the tuning cannot be shown: {error}") from None
    return Held(Tried(tuning.evaluations, tuning), origin=origin)
