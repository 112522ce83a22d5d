"""A self-test goes through its sections, says what came of each check, and can be stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pytest

from gpuexplorer.core.device import DeviceList, Unavailable
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.result import Environment
from gpuexplorer.selftest import run
from gpuexplorer.selftest.cases import plan_groups
from gpuexplorer.selftest.context import SelfTestContext, SelfTestOptions
from gpuexplorer.selftest.report import SCHEMA, CheckResult, SectionResult, SelfTestReport, sum_up
from gpuexplorer.selftest.task import Found, Interrupted, Skipped, Task
from gpuexplorer.workloads.loader import load
from tests.support.problems import device


class MadeContext:
    """A context that needs no engine."""

    def __init__(
        self, options: SelfTestOptions, stop_asked: Callable[[], bool], log: object = None
    ) -> None:
        self.options, self.device = options, device()
        self.environment = Environment(gpuexplorer="1", python="3.11")
        self._stop_asked = stop_asked

    def __enter__(self) -> MadeContext:
        return self

    def __exit__(self, *what: object) -> None: ...

    def check_stop(self) -> None:
        if self._stop_asked():
            raise Interrupted


class Followed:
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        self.total = 0
        self.begun: list[str] = []
        self.ended: list[str] = []

    def planned(self, sections: Sequence[SectionResult]) -> None:
        self.total = sum(s.planned for s in sections)
        assert not any(s.tried for s in sections)

    def running(self, section: str, name: str) -> None:
        self.begun.append(f"{section}: {name}")

    def done(self, result: CheckResult) -> None:
        self.ended.append(result.status)


def good() -> Found:
    return Found("all is well", {"measured_s": 1.5})


def bad() -> Found:
    raise WorkFailed("it is broken", remedy="mend it", detail="line 3")


def away() -> Found:
    raise Skipped("there is none")


def buggy() -> Found:
    raise KeyError("a mistake in the check")


def stop() -> Found:
    raise KeyboardInterrupt


Ran = Callable[..., tuple[SelfTestReport, Followed]]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    monkeypatch.setattr(run, "SelfTestContext", MadeContext)

    def go(
        *sections: list[Callable[[], Found]], stop_asked: Callable[[], bool] = lambda: False
    ) -> tuple[SelfTestReport, Followed]:
        def section(index: int, checks: list[Callable[[], Found]]) -> run.Section:
            def plan(context: SelfTestContext) -> list[Task]:
                return [Task(do.__name__, do, f"command of {do.__name__}") for do in checks]

            return run.Section(f"part{index}", f"Part {index}", plan)

        made = tuple(section(i, checks) for i, checks in enumerate(sections))
        monkeypatch.setattr(run, "SECTIONS", made)
        followed = Followed()
        return run.run_selftest(SelfTestOptions(device="opencl:0"), followed, stop_asked), followed

    return go


def test_what_passes_fails_and_is_skipped_is_told_apart(ran: Ran) -> None:
    report, followed = ran([good, bad, away], [buggy, good])
    assert [c.status for c in report.checks] == ["passed", "failed", "skipped", "failed", "passed"]
    assert not report.ok
    first, second = report.sections
    assert (first.planned, first.passed, first.failed, first.skipped) == (3, 1, 1, 1)
    assert (second.planned, second.passed, second.failed, second.skipped) == (2, 1, 1, 0)
    assert first.reasons == ("there is none",)
    broken, mistaken = report.failures
    assert broken.found == "it is broken; mend it"
    assert broken.detail == "line 3"
    assert broken.command == "command of bad"
    assert "KeyError" in mistaken.found
    assert "test_run.py" in mistaken.detail
    assert report.checks[0].figures == {"measured_s": 1.5}
    assert followed.total == 5
    assert followed.begun[1] == "part0: bad"
    assert followed.ended == [c.status for c in report.checks]


def test_the_document_can_be_read_back(ran: Ran) -> None:
    report, _ = ran([good, bad, away])
    document = msgspec.json.encode(report)
    assert msgspec.json.decode(document, type=SelfTestReport) == report
    plain = msgspec.json.decode(document)
    assert plain["schema"] == SCHEMA
    assert plain["device"]["driver"]
    assert plain["environment"]["gpuexplorer"]
    assert plain["checks"][1] | {"time_s": 0} == {
        "section": "part0", "name": "bad", "status": "failed", "time_s": 0,
        "found": "it is broken; mend it", "figures": {}, "missing": None, "detail": "line 3",
        "command": "command of bad",
    }  # fmt: skip


def test_nothing_but_skipped_checks_is_no_success(ran: Ran) -> None:
    report, _ = ran([away], [away])
    assert not report.ok
    assert not report.failures


def test_ctrl_c_keeps_what_was_done(ran: Ran) -> None:
    report, _ = ran([good, stop, good], [good])
    assert report.interrupted
    assert not report.ok
    assert [c.status for c in report.checks] == ["passed"]
    assert [(s.planned, s.tried) for s in report.sections] == [(3, 1), (1, 0)]


def test_a_check_that_is_stopped_has_not_failed(ran: Ran) -> None:
    def stopped() -> Found:
        raise Interrupted

    report, _ = ran([good, stopped, good])
    assert report.interrupted and not report.failures
    assert [c.status for c in report.checks] == ["passed"]


def test_another_thread_can_stop_it(ran: Ran) -> None:
    report, followed = ran([good] * 5, stop_asked=lambda: len(followed_so_far) >= 2)
    assert report.interrupted
    assert len(report.checks) == 2
    assert followed.total == 5


followed_so_far: list[int] = []


@pytest.fixture(autouse=True)
def count_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    followed_so_far.clear()
    done = Followed.done

    def counting(self: Followed, result: CheckResult) -> None:
        followed_so_far.append(1)
        done(self, result)

    monkeypatch.setattr(Followed, "done", counting)


def test_sections_are_chosen_by_name() -> None:
    assert [s.name for s in run.chosen_sections(("timing", "kernels"))] == ["kernels", "timing"]
    assert run.chosen_sections(()) == run.SECTIONS
    with pytest.raises(InputError, match="no section 'timings'; did you mean 'timing'"):
        run.chosen_sections(("timings",))


def test_a_command_repeats_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    options = SelfTestOptions(device="opencl:0", quick=True, threads=2, python="/my python")
    assert options.command("timing") == (
        "gpuexplorer selftest --device opencl:0 --quick --section timing --threads 2 "
        "--python '/my python'"
    )
    monkeypatch.setenv("GPUEXPLORER_OPENCL_CPU", "pocl")
    assert options.command().startswith("GPUEXPLORER_OPENCL_CPU=pocl gpuexplorer selftest ")


def test_sums_of_nothing() -> None:
    assert sum_up("a", "A", 3, []).tried == 0


def test_a_framework_that_is_not_here_is_one_line(ran: Ran) -> None:
    jax = Unavailable(backend="jax", reason="JAX is not installed", remedy="install it with pip")

    def without(words: str) -> Callable[[], Found]:
        def do() -> Found:
            raise Skipped(words, missing=jax)

        return do

    report, _ = ran([without("mlp fp32"), good, without("mlp fp16"), away])
    (section,) = report.sections
    assert (section.skipped, section.reasons) == (3, ("there is none",))
    assert section.why_skipped == (
        "JAX is not installed here: 2 checks left out; install it with pip", "there is none",
    )  # fmt: skip
    assert [c.found for c in report.checks if c.missing == jax] == ["mlp fp32", "mlp fp16"]
    read = msgspec.json.decode(msgspec.json.encode(report), type=SelfTestReport)
    assert read.sections[0].why_skipped == section.why_skipped


def test_what_each_framework_leaves_out_is_known_of_every_case() -> None:
    jax = Unavailable(backend="jax", reason="JAX is not installed", remedy="install it with pip")
    on = device()
    groups = plan_groups([load()["mlp"]], DeviceList(devices=(on,), unavailable=(jax,)), on)
    lacks = {(g.variant, g.precision) for g in groups if g.missing == jax}
    assert lacks == {("jax", p) for p in load()["mlp"].precisions_of("jax")}
    assert all(g.skipped for g in groups if g.missing is not None)
    others = [g for g in groups if g.variant == "torch"]
    assert others and not any(g.missing for g in others)
