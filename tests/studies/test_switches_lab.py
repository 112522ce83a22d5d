"""What switches buy, on a machine that knows what each does."""

from __future__ import annotations

import math
from typing import Any

import pytest

from gpuexplorer.charts.studies_switches import waterfall_chart
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.studies import SwitchesStudy
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.results.study import switches_sheet
from gpuexplorer.studies.choices import with_switches
from gpuexplorer.studies.running import How
from gpuexplorer.studies.switches import SwitchesLab, finding
from tests.support.studies import SHIPPED, StudyMachine, asked, cpu, devices, torch_cpu

CNN = SHIPPED["cnn"]
TRAINING = SHIPPED["mlp_training"]
HOW = How(rounds=10, seconds=0.1, seed=1)
BASE_S = 1e-3


def lab(
    workload: str = "cnn", *, baseline: dict[str, Any] | None = None, **more: Any
) -> SwitchesLab:
    return SwitchesLab(
        asked(workload, variant="torch", switches=baseline or {}),
        SHIPPED[workload], devices(torch_cpu()), HOW, **more,
    )  # fmt: skip


def effect_of(config: RunConfig) -> float:
    """Compiling halves the time; channels-last takes a fifth, and nothing on top of compiling."""
    factor = 1.0
    compiled = config.switches.get("compile") == "default"
    if compiled:
        factor *= 0.5
    if config.switches.get("channels_last"):
        factor *= 1.0 if compiled else 0.8
    if config.switches.get("in_place"):
        factor *= 0.9
    if config.switches.get("grad_mode") == "grad":
        factor *= 1.2
    if config.switches.get("one_by_one"):
        factor *= 6.0
    return factor


def machine(**changes: Any) -> StudyMachine:
    said: dict[str, Any] = {"noise": 1e-4, **changes}
    return StudyMachine(lambda c: BASE_S * effect_of(c), **said)


def alone(study: SwitchesStudy, switch: str, value: object) -> Any:
    return next(o for o in study.alone if (o.switch, o.value) == (switch, value))


def test_each_by_itself_has_the_effect_the_machine_gives_it() -> None:
    study = lab().run(machine())
    assert study.baseline is not None
    assert study.baseline.time_s == pytest.approx(BASE_S, rel=0.01)
    expected = {
        ("compile", "default"): 0.5, ("channels_last", True): 0.8, ("in_place", True): 0.9,
        ("grad_mode", "grad"): 1.2, ("grad_mode", "no_grad"): 1.0, ("one_by_one", True): 6.0,
    }  # fmt: skip
    for (switch, value), ratio in expected.items():
        effect = alone(study, switch, value).effect
        assert effect.ratio == pytest.approx(ratio, rel=0.005)
        verdict = "same" if ratio == 1 else "faster" if ratio < 1 else "slower"
        assert effect.verdict == verdict
    assert all(one.effect is not None or one.skipped for one in study.alone)


def test_those_not_offered_say_why() -> None:
    study = lab().run(machine())
    assert "GPU" in study.not_offered["CUDA graph"]
    assert "mlp_training" in study.not_offered["Gradient checkpointing"]
    assert (
        "not timed" in study.not_offered["Pinned memory"]
        or "GPU" in (study.not_offered["Pinned memory"])
    )
    assert not any(one.title in study.not_offered for one in study.alone)
    assert not any("jax" in title.lower() for title in study.not_offered)


def test_the_combination_keeps_what_still_pays() -> None:
    study = lab(switches=["compile=default", "channels_last", "in_place", "grad_mode"]).run(
        machine()
    )
    assert study.order == "greedy" and study.stopped_by == "done"
    assert [(a.switch, a.kept) for a in study.added] == [
        ("compile", True), ("channels_last", False), ("in_place", True),
    ]  # fmt: skip
    assert "does nothing" in study.added[1].reason
    assert study.combination == {"compile": "default", "in_place": True}
    assert study.total is not None and study.total.ratio == pytest.approx(0.45, rel=0.005)
    assert study.combining is not None and study.combining.verdict == "same"
    together = study.run(study.together)
    assert together is not None
    assert together.config.switches == {"compile": "default", "in_place": True}


def test_a_stated_order_combines_what_does_not_pay_as_well() -> None:
    study = lab(
        switches=["compile=default", "channels_last"], order=["channels_last", "compile"]
    ).run(machine())
    assert [(a.switch, a.kept) for a in study.added] == [
        ("channels_last", True), ("compile", True),
    ]  # fmt: skip
    assert study.order == "stated"
    assert study.total is not None and study.total.ratio == pytest.approx(0.5, rel=0.005)
    # alone they come to 0.4, together to 0.5: combining lost a quarter
    assert study.combining is not None
    assert study.combining.ratio == pytest.approx(0.5 / 0.4, rel=0.005)
    assert study.combining.verdict == "slower"
    shares = {share.switch: share.effect.ratio for share in study.shares if share.effect}
    assert math.prod(shares.values()) * study.combining.ratio == pytest.approx(
        study.total.ratio, rel=0.002
    )


def test_a_stated_order_is_combined_after_few_rounds_too() -> None:
    """Too few to tell what each buys; that they are combined was asked for."""
    few = SwitchesLab(
        asked("cnn", variant="torch"), CNN, devices(torch_cpu()), How(rounds=3, seed=1, exact=True),
        switches=["compile=default", "grad_mode"], order=["grad_mode", "compile"],
    )  # fmt: skip
    study = few.run(machine())
    assert [(a.switch, a.value, a.kept) for a in study.added] == [
        ("grad_mode", "no_grad", True), ("compile", "default", True),
    ]  # fmt: skip
    assert study.total is None and study.together is not None
    assert study.together.time_s == pytest.approx(BASE_S / 2, rel=0.01)
    assert waterfall_chart(study).rows


def test_a_switch_that_is_named_twice_is_looked_at_once() -> None:
    study = lab(switches=["in_place", "in_place=on", "in_place=on"]).run(machine())
    assert [(one.switch, one.value) for one in study.alone] == [("in_place", True)]


def test_a_single_switch_that_pays_is_the_combination() -> None:
    study = lab(switches=["in_place", "grad_mode"]).run(machine())
    assert study.combination == {"in_place": True}
    assert study.total is not None and study.total.ratio == pytest.approx(0.9, rel=0.005)
    assert study.combining is None
    assert [share.switch for share in study.shares] == ["in_place"]


def test_nothing_pays_and_there_is_no_combination() -> None:
    study = lab(switches=["grad_mode"]).run(machine())
    assert study.combination == {} and study.together is None and study.added == []


def test_a_time_that_cannot_be_true_pays_nothing_and_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beats = "it beats the roof"
    monkeypatch.setattr(
        RunRecord, "suspect",
        lambda record, _: beats if record.prepared.config.switches.get("compile") else None,
    )  # fmt: skip
    study = lab(switches=["compile=default", "in_place"]).run(machine())
    compiled = alone(study, "compile", "default")
    assert compiled.measured.suspect == beats and compiled.effect is None
    assert study.combination == {"in_place": True}
    assert f"torch.compile: default cannot be true: {beats}." in study.notes
    row = next(row for row in switches_sheet(study).rows if row.title == compiled.title)
    assert row.cells["effect"].text == "cannot be true"
    assert row.cells["remarks"].text == f"cannot be true: {beats}"
    assert "Too few" not in row.tip
    drawn = waterfall_chart(study)
    words = [note.text for line in drawn.rows for panel in line for note in panel.annotations]
    assert "cannot be true" in words and "too few rounds" not in words
    stated = lab(switches=["compile=default", "in_place"], order=["compile", "in_place"])
    study = stated.run(machine())
    assert study.together is not None and study.total is None and study.combining is None
    assert finding(study).endswith("What they come to together cannot be told.")


def test_what_cannot_be_true_on_top_of_the_others_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        RunRecord, "suspect",
        lambda record, _: "it beats the roof" if len(record.prepared.config.switches) > 1 else None,
    )  # fmt: skip
    study = lab(switches=["compile=default", "in_place"]).run(machine())
    assert [step.kept for step in study.added] == [True, False]
    reason = "a time on top of the others cannot be true: it beats the roof"
    assert study.added[1].reason == reason and study.added[1].effect is None


NONE_PAYS = "No switch pays by itself, so there is nothing to combine."
NOT_SURE = "No switch is sure to make it faster here."


def told(study: SwitchesStudy) -> tuple[str, bool]:
    """Return the finding, and whether the table says that no switch pays."""
    return finding(study), NONE_PAYS in switches_sheet(study).notes


def test_that_no_switch_pays_is_said_where_each_has_a_verdict() -> None:
    assert told(lab(switches=["grad_mode"]).run(machine())) == (NOT_SURE, True)
    spread = lab(switches=["grad_mode=no_grad"]).run(machine(noise=0.3))
    assert [one.effect.verdict for one in spread.alone if one.effect] == ["can't tell"]
    assert told(spread) == (NOT_SURE, False)
    one_fails = machine(
        fails=lambda c: WorkFailed("no compiler") if c.switches.get("compile") else None
    )
    assert told(lab(switches=["compile=default", "grad_mode"]).run(one_fails)) == (NOT_SURE, False)
    all_fail = machine(fails=lambda c: WorkFailed("no compiler") if c.switches else None)
    study = lab(switches=["compile=default"]).run(all_fail)
    assert told(study) == ("No switch could be measured beside the baseline.", False)


def test_an_order_of_which_nothing_could_be_measured_says_nothing_of_the_others() -> None:
    study = lab(switches=["compile=default", "channels_last"], order=["channels_last"]).run(
        machine(
            fails=lambda c: (
                WorkFailed("no such format") if c.switches.get("channels_last") else None
            )
        )
    )
    assert alone(study, "compile", "default").effect.verdict == "faster"
    assert told(study) == ("1 switch measured beside the baseline.", False)


def test_the_baselines_own_switches_can_be_taken_away() -> None:
    study = lab(baseline={"grad_mode": "grad", "one_by_one": True}, switches=["one_by_one"]).run(
        machine()
    )
    only = alone(study, "one_by_one", False)
    assert only.effect.ratio == pytest.approx(1 / 6, rel=0.01)
    run = study.run(only.measured)
    assert run is not None and run.config.switches == {"grad_mode": "grad"}
    assert "off" in only.title


def test_one_that_fails_has_its_reason_and_the_baseline_must_not() -> None:
    study = lab(switches=["compile=default", "in_place"]).run(
        machine(fails=lambda c: WorkFailed("no compiler") if c.switches.get("compile") else None)
    )
    assert alone(study, "compile", "default").skipped == "no compiler"
    assert study.combination == {"in_place": True}
    with pytest.raises(WorkFailed, match="no memory"):
        lab().run(machine(fails=lambda c: WorkFailed("no memory") if not c.switches else None))


def test_a_wrong_result_is_no_gain() -> None:
    study = lab(switches=["compile=default", "in_place"]).run(
        machine(error=lambda c: 1.0 if c.switches.get("compile") else 1e-7)
    )
    assert "wrong" in (alone(study, "compile", "default").skipped or "")
    assert study.combination == {"in_place": True}


def test_memory_stands_beside_the_time() -> None:
    study = lab("mlp_training", switches=["checkpointing"]).run(
        StudyMachine(
            lambda c: 1e-3 * (1.3 if c.switches.get("checkpointing") else 1.0),
            memory_B=lambda c: 4e6 if c.switches.get("checkpointing") else 1e7,
        )
    )
    assert study.baseline is not None and study.baseline.memory_B == 1e7
    assert study.baseline.memory_counter == "a counter"
    assert alone(study, "checkpointing", True).measured.memory_B == 4e6


def test_threads_are_tried_as_a_switch() -> None:
    study = lab(switches=["in_place"], threads=[1, 2, 4]).run(
        StudyMachine(lambda c: 4e-3 / (c.threads or 1), noise=1e-4)
    )
    assert [one.value for one in study.alone if one.switch == "threads"] == [1, 2]
    assert alone(study, "threads", 1).effect.ratio == pytest.approx(4, rel=0.01)
    assert study.config.threads == 4


def test_what_has_no_switches_is_refused() -> None:
    with pytest.raises(InputError, match="no switch to turn"):
        SwitchesLab(asked("matmul", variant="naive"), SHIPPED["matmul"], devices(cpu()), HOW)
    with pytest.raises(InputError, match="no switch 'compil'"):
        lab(switches=["compil"])
    with pytest.raises(InputError, match="no switch 'sdpa' to combine"):
        lab(order=["sdpa"])
    with pytest.raises(InputError, match="named twice"):
        lab(order=["compile", "compile"])


def test_stopped_after_the_first_part_there_is_no_combination() -> None:
    one = lab(switches=["compile=default", "in_place"])
    first = 3 * (1 + HOW.rounds)
    study = one.run(machine(), lambda step: one.cancel() if step.done == first + 3 else None)
    assert study.stopped_by == "user"
    assert alone(study, "in_place", True).effect is not None
    assert study.combination == {"compile": "default"}  # what was kept by then
    assert study.rounds == HOW.rounds


def test_the_default_is_left_out_of_a_configuration() -> None:
    config = RunConfig(
        workload="cnn", variant="torch", size={}, precision="fp32", device="torch:cpu",
        switches={"in_place": True, "grad_mode": "grad"},
    )  # fmt: skip
    changed = with_switches(config, {"in_place": False, "threads": 2, "compile": "default"})
    assert changed.switches == {"grad_mode": "grad", "compile": "default"}
    assert changed.threads == 2


def test_a_combination_that_fails_in_the_end_is_told() -> None:
    seen = {"both": 0}

    def fails(config: RunConfig) -> WorkFailed | None:
        if not {"compile", "in_place"} <= set(config.switches):
            return None
        seen["both"] += 1  # once alone and in ten rounds on the way to the combination
        return WorkFailed("out of memory") if seen["both"] > 11 else None

    study = lab(switches=["compile=default", "in_place"]).run(machine(fails=fails))
    assert study.combination == {"compile": "default", "in_place": True}
    assert study.together is None
    assert any("out of memory" in note for note in study.notes)
    assert [one.label for one in study.dropped] == []  # it failed in its first run


@pytest.mark.parametrize(("turn", "label"), [(4, "with In place"), (15, "combination")])
def test_what_drops_out_on_the_way_to_the_combination_is_kept(turn: int, label: str) -> None:
    seen = 0

    def fails(config: RunConfig) -> WorkFailed | None:
        nonlocal seen
        if not {"compile", "in_place"} <= set(config.switches):
            return None
        seen += 1  # eleven times on the way: once alone and in ten rounds
        return WorkFailed("out of memory") if seen == turn else None

    study = lab(switches=["compile=default", "in_place"]).run(machine(fails=fails))
    (one,) = study.dropped
    assert (one.label, one.reason, one.rounds) == (label, "out of memory", 2)
    assert study.run(one.measured) is not None
    left = [step.before for step in study.added if not step.kept]
    assert len(left) == (label != "combination") and all(study.run(one) for one in left)
