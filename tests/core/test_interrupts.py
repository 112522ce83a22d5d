"""An interrupt waits for a step that has to be whole, a second one does not."""

from __future__ import annotations

import _thread
import signal
import threading

import pytest

from gpuexplorer.core.interrupts import at_once, interrupts_held


def test_an_interrupt_acts_when_the_step_is_over() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        with interrupts_held():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_takes_the_place_of_what_the_step_raised() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, interrupts_held():
        signal.raise_signal(signal.SIGINT)
        raise ValueError
    assert isinstance(caught.value.__context__, ValueError)


def test_a_second_one_acts_at_once() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_within_another_step_a_second_one_acts_at_once_too() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_held(), interrupts_held():
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first"]


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows closes a terminal otherwise")
def test_a_terminal_that_is_closed_waits_where_that_is_handled() -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, _: told.append(number))
    try:
        with interrupts_held():
            signal.raise_signal(signal.SIGHUP)
            assert not told
        assert told == [signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_is_left_alone() -> None:
    handlers = []

    def step() -> None:
        with interrupts_held():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]


def test_what_is_done_at_once_comes_in_order_and_the_first_failure_is_raised() -> None:
    assert at_once(lambda number: number * number, range(50), 4) == [n * n for n in range(50)]
    assert at_once(str, [], 4) == []
    begun, given_up = [], threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError("no")
        assert given_up.wait(60.0)

    with pytest.raises(ValueError, match="no"):
        at_once(work, range(50), 2, given_up.set)
    assert set(begun) <= {0, 1, 2}, "no further one is begun"


def test_an_interrupt_that_wakes_nobody_ends_what_is_done_at_once() -> None:
    """As one does that comes as the wait begins: the wait had no end."""
    given_up = threading.Event()

    def work(_: int) -> bool:
        _thread.interrupt_main()  # noted, without a signal that would end a wait
        return given_up.wait(60.0)

    with pytest.raises(KeyboardInterrupt):
        at_once(work, [1], 1, given_up.set)
    assert given_up.is_set()
