"""A process that works is told from one that rests."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from gpuexplorer.engine.idle import core_waits_s, cpu_time_s, wait_until_idle

WORKS = "print('up', flush=True)\nwhile True:\n    pass\n"
RESTS = "print('up', flush=True)\nimport sys\nsys.stdin.read()\n"


def started(code: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


def test_one_that_works_is_busy_and_one_that_rests_is_not() -> None:
    with started(RESTS) as resting, started(WORKS) as working:
        try:
            assert wait_until_idle([resting.pid], at_most_s=30.0)
            assert not wait_until_idle([resting.pid, working.pid], at_most_s=0.2)
            used = cpu_time_s(working.pid)
            assert used is not None
            limit = time.monotonic() + 30
            while (cpu_time_s(working.pid) or 0.0) <= used:
                assert time.monotonic() < limit
        finally:
            resting.kill()
            working.kill()


def test_a_process_that_is_gone_keeps_nobody_waiting() -> None:
    with started(RESTS) as process:
        process.kill()
        process.wait()
        assert cpu_time_s(process.pid) is None
        assert wait_until_idle([process.pid], at_most_s=30.0)
    assert wait_until_idle([])
    assert (cpu_time_s(os.getpid()) or 0.0) > 0.0
    assert core_waits_s(process.pid) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long a thread waits")
def test_what_shares_its_core_is_seen_to_wait_for_it() -> None:
    core = {min(os.sched_getaffinity(0))}
    with started(WORKS) as first, started(WORKS) as second:
        try:
            for process in (first, second):
                os.sched_setaffinity(process.pid, core)
            before = sum(core_waits_s(first.pid).values())
            limit = time.monotonic() + 30
            while sum(core_waits_s(first.pid).values()) < before + 0.05:
                assert time.monotonic() < limit
        finally:
            first.kill()
            second.kill()
