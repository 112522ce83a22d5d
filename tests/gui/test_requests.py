"""What was asked of the engine: the latest request wins, and a lost engine's is asked once more."""

from __future__ import annotations

from gpuexplorer.gui.model.requests import Requests
from tests.support.results import made_config

FIRST, SECOND = made_config(block=(8, 8, 1)), made_config(block=(16, 16, 1))


def test_the_first_word_of_a_request_takes_it_and_all_older_ones() -> None:
    requests = Requests()
    first, second = requests.ask(FIRST), requests.ask(SECOND)
    assert second > first and requests.wanted == SECOND and requests.waiting
    assert requests.begun(second) == SECOND
    assert requests.begun(second) is None and requests.begun(first) is None and not requests.waiting


def test_tickets_for_runs_of_elsewhere_are_nobody_else_s() -> None:
    requests = Requests()
    reserved = requests.take_tickets(10)
    assert requests.ask(FIRST) == reserved + 10


def test_only_the_latest_request_answers_a_knob_and_once() -> None:
    requests = Requests()
    assert requests.impatient
    requests.moved()
    before = requests.moved_at
    requests.moved()
    assert requests.moved_at == before, "moves before the answer are one"
    old, latest = requests.ask(FIRST), requests.ask(SECOND)
    assert not requests.is_answer(old) and requests.is_answer(latest)
    assert requests.answered(old) is None
    took = requests.answered(latest)
    assert took is not None and took >= 0 and requests.answered(latest) is None


def test_a_run_that_was_prepared_again_answers_under_its_own_ticket() -> None:
    requests = Requests()
    requests.moved()
    asked = requests.ask(FIRST)
    again = requests.take_tickets(1)
    assert requests.is_answer(asked), "its samples come under that of its request"
    assert requests.answered(again) is not None


def test_what_ended_an_engine_is_asked_once_more_and_no_more() -> None:
    requests = Requests()
    requests.ask(FIRST)
    assert requests.resume_once(possible=True)
    assert requests.take_resume() and not requests.take_resume()
    assert not requests.resume_once(possible=True), "it ended the second engine too"
    requests.resume_once(possible=True)
    requests.start_afresh()
    assert requests.resume_once(possible=True)
    requests.forget()
    assert not requests.take_resume() and not requests.resume_once(possible=False)
