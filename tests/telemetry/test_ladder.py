"""Several sources as one: the best word on each field, and every reason said once."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import FIELD_TITLES
from gpuexplorer.telemetry.base import Refusal, TelemetrySource
from gpuexplorer.telemetry.ladder import SOURCES, Ladder, climb, survey
from tests.telemetry.stand_ins import gpu


class Made(TelemetrySource):
    """A source whose readings are given."""

    answers: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        self.left = list(self.answers)
        self.closed = 0

    @classmethod
    def open(cls, device: DeviceInfo) -> TelemetrySource | Refusal | None:
        return cls()

    def read(self) -> Reading:
        answer = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(answer, Exception):
            raise answer
        return Reading(t_ns=7, source=self.name, **answer)

    def close(self) -> None:
        self.closed += 1


def made(name: str, *answers: Any, offers: tuple[str, ...] = ()) -> type[Made]:
    return type(
        f"Made_{name}",
        (Made,),
        {"name": name, "title": name.upper(), "answers": list(answers), "offers": offers},
    )


def refusing(name: str, refusal: Refusal | Exception, *offers: str) -> type[Made]:
    def open_(cls: Any, device: DeviceInfo) -> Any:
        if isinstance(refusal, Exception):
            raise refusal
        return refusal

    kind = made(name, {}, offers=offers)
    kind.open = classmethod(open_)  # type: ignore[method-assign, assignment]
    return kind


def ladder(*kinds: type[Made]) -> Ladder:
    return Ladder(*climb(gpu(), kinds))


def test_each_field_comes_from_the_best_rung_that_has_it() -> None:
    best = made("best", {"occupancy": 0.5, "power_W": None, "interval_s": 0.25})
    middle = made("middle", {"occupancy": 0.4, "dram_B_per_s": 3e12, "interval_s": 0.1})
    broad = made("broad", {"power_W": 300.0, "sm_clock_Hz": 1e9, "occupancy": 0.1})
    reading = ladder(best, middle, broad).read()
    assert reading.source == "broad"
    assert (reading.occupancy, reading.dram_B_per_s) == (0.5, 3e12)
    assert (reading.power_W, reading.sm_clock_Hz) == (300.0, 1e9)
    assert reading.sources == {"occupancy": "best", "dram_B_per_s": "middle"}
    assert reading.interval_s == 0.25
    assert reading.missing == {}


def test_a_rungs_own_word_on_whose_a_field_is_stays() -> None:
    best = made("best", {"occupancy": 0.5, "sources": {"occupancy": "another"}})
    broad = made("broad", {"power_W": 300.0, "load": 0.5, "sources": {"power_W": "the whole GPU"}})
    reading = ladder(best, broad).read()
    assert reading.sources == {"occupancy": "another", "power_W": "the whole GPU"}


def test_why_a_field_is_missing_is_said_once_with_what_enables_it() -> None:
    closed = refusing("closed", Refusal("not permitted", "ask root"), "occupancy", "dram_B_per_s")
    broken = refusing("broken", RuntimeError("a library is torn"), "occupancy")
    broad = made("broad", {"power_W": 1.0, "missing": {"temperature_C": "no sensor"}}, {})
    both = ladder(closed, broken, broad)
    first, second = both.read(), both.read()
    assert first.missing["temperature_C"] == "no sensor"
    assert first.missing["dram_B_per_s"] == "CLOSED: not permitted; ask root"
    assert "CLOSED: not permitted; ask root" in first.missing["occupancy"]
    assert "BROKEN: it failed: a library is torn" in first.missing["occupancy"]
    assert second.missing == {}


def test_a_field_that_a_working_rung_gives_later_is_not_missing() -> None:
    closed = refusing("closed", Refusal("not permitted"), "occupancy")
    slow = made("slow", {}, {"occupancy": 0.7}, offers=("occupancy",))
    both = ladder(closed, slow, made("broad", {}))
    assert both.read().missing == {}
    assert both.read().occupancy == 0.7


def test_a_rung_that_fails_is_left_out_and_the_others_go_on() -> None:
    fails = made("fails", {"occupancy": 0.5}, RuntimeError("lost"), offers=("occupancy",))
    rungs, refused = climb(gpu(), [fails, made("broad", {"power_W": 1.0})])
    both = Ladder(rungs, refused)
    assert both.read().occupancy == 0.5
    second = both.read()
    assert second.occupancy is None
    assert second.power_W == 1.0
    assert "lost" in second.missing["occupancy"]
    assert rungs[0].closed == 1  # type: ignore[attr-defined]
    assert both.read().missing == {}


def test_the_last_rungs_error_is_raised() -> None:
    with pytest.raises(RuntimeError, match="lost"):
        ladder(made("only", RuntimeError("lost"))).read()


def test_closing_closes_every_rung() -> None:
    rungs, _ = climb(gpu(), [made("a", {}), made("b", {})])
    Ladder(rungs).close()
    assert [rung.closed for rung in rungs] == [1, 1]  # type: ignore[attr-defined]


def test_a_survey_says_of_each_source_what_it_gives_or_why_not() -> None:
    closed = refusing("closed", Refusal("not permitted", "ask root"), "occupancy")
    slow = made("slow", {}, {"occupancy": 0.7, "missing": {"power_W": "no meter"}})
    fails = made("fails", RuntimeError("lost"))
    states = {s.source: s for s in survey(gpu(), [closed, slow, fails])}
    assert list(states) == ["closed", "slow", "fails", "ncu"]
    assert bool(states["ncu"].gives) is not bool(states["ncu"].remedy)
    assert states["closed"].remedy == "ask root"
    assert states["closed"].gives == ()
    assert states["slow"].gives == ("occupancy",)
    assert states["slow"].missing == {"power_W": "no meter"}
    assert "lost" in states["fails"].reason


def test_every_source_names_itself_and_offers_fields_there_are() -> None:
    assert len({kind.name for kind in SOURCES}) == len(SOURCES)
    for kind in SOURCES:
        assert kind.title
        assert kind.offers
        assert set(kind.offers) <= set(FIELD_TITLES)
    fields = set(Reading.__struct_fields__)
    assert set(FIELD_TITLES) <= fields
