"""What was asked of the engine: the latest request wins, and a lost engine's is asked once more."""

from __future__ import annotations

from gpuexplorer.gui.model.asked import Asked
from tests.support.results import made_config

FIRST, SECOND = made_config(block=(8, 8, 1)), made_config(block=(16, 16, 1))


def test_the_first_word_of_a_request_takes_it_and_all_older_ones() -> None:
    asked = Asked()
    first, second = asked.ask(FIRST), asked.ask(SECOND)
    assert second > first and asked.wanted == SECOND and asked.waiting
    assert asked.begun(second) == SECOND
    assert asked.begun(second) is None and asked.begun(first) is None and not asked.waiting


def test_tickets_for_runs_of_elsewhere_are_nobody_else_s() -> None:
    asked = Asked()
    reserved = asked.take_tickets(10)
    assert asked.ask(FIRST) == reserved + 10


def test_only_the_latest_request_answers_a_knob_and_once() -> None:
    asked = Asked()
    assert asked.impatient
    asked.moved()
    before = asked.moved_at
    asked.moved()
    assert asked.moved_at == before, "moves before the answer are one"
    old, latest = asked.ask(FIRST), asked.ask(SECOND)
    assert not asked.is_answer(old) and asked.is_answer(latest)
    assert asked.answered(old) is None
    took = asked.answered(latest)
    assert took is not None and took >= 0 and asked.answered(latest) is None


def test_what_ended_an_engine_is_asked_once_more_and_no_more() -> None:
    asked = Asked()
    asked.ask(FIRST)
    assert asked.resume_once(possible=True)
    assert asked.take_resume() and not asked.take_resume()
    assert not asked.resume_once(possible=True), "it ended the second engine too"
    asked.resume_once(possible=True)
    asked.start_afresh()
    assert asked.resume_once(possible=True)
    asked.forget()
    assert not asked.take_resume() and not asked.resume_once(possible=False)
