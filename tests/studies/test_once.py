"""``gpuexplorer.study``: a study in one call, and engines for each number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pytest

import gpuexplorer
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.studies import SwitchesStudy
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.engines import Several
from gpuexplorer.studies import KINDS
from gpuexplorer.studies.once import OWN
from gpuexplorer.studies.precision import PrecisionStudy
from gpuexplorer.studies.running import StudyStep
from gpuexplorer.studies.speedup import SpeedupStudy
from tests.support.studies import SHIPPED, StudyMachine, cpu, devices, gpu, torch_cpu

QUICK: dict[str, Any] = {"rounds": 6, "seconds": 0.006}


class Engine:
    """A session without a process, which knows how many CPU threads it has."""

    started: list[int | None]

    def __init__(self, *, threads: int | None = None, **_: object) -> None:
        self.threads = threads or 4
        self.started.append(threads)
        self._machine = StudyMachine(lambda c: 1e-3 / (c.threads or 1) / (1 + len(c.switches)))
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True

    def devices(self) -> DeviceList:
        on = {"threads": self.threads}
        return devices(cpu(**on), gpu(), torch_cpu(**on))

    def measure(self, config: RunConfig, *arguments: Any, **choices: Any) -> RunRecord:
        assert config.threads in (None, self.threads) and not self.closed
        assert set(choices) <= {"on_progress"}
        return self._machine.measure(config, *arguments)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    monkeypatch.setattr(Engine, "started", [], raising=False)
    monkeypatch.setattr("gpuexplorer.studies.once.EngineSession", Engine)
    return Engine


def test_each_kind_is_measured_told_and_kept(engines: type[Engine], tmp_path: Path) -> None:
    steps: list[StudyStep] = []
    history = tmp_path / "h.sqlite"
    lab = gpuexplorer.study(
        "precision", "attention", variant="torch", precisions=["fp32", "bf16"],
        history=history, on_step=steps.append, **QUICK,
    )  # fmt: skip
    assert isinstance(lab, PrecisionStudy) and len(lab.runs) == 2
    assert len(steps) == 2 * 7
    bought = gpuexplorer.study(
        "switches", "cnn", variant="torch", look_at=["in_place"], switches={"grad_mode": "grad"},
        **QUICK,
    )  # fmt: skip
    assert isinstance(bought, SwitchesStudy) and bought.config.switches == {"grad_mode": "grad"}
    both = gpuexplorer.study("speedup", "matmul", sizes=[16, 32], **QUICK)
    assert isinstance(both, SpeedupStudy) and [p.value for p in both.points] == [16, 32]
    with Store.open_to_read(history) as store:
        (group,) = store.groups("study")
        assert store.count(Query(group=group.id)) == 2
    with pytest.raises(InputError, match="no study 'astrology'"):
        gpuexplorer.study("astrology", "matmul")  # type: ignore[arg-type]


def test_each_number_of_threads_has_an_engine_of_its_own(engines: type[Engine]) -> None:
    bought = gpuexplorer.study(
        "switches", "cnn", variant="torch", look_at=["in_place"], try_threads=[1, 2], **QUICK
    )
    assert isinstance(bought, SwitchesStudy)
    effects = {one.value: one.effect for one in bought.alone if one.switch == "threads"}
    assert effects[1] is not None and effects[1].ratio == pytest.approx(4, rel=0.02)
    assert engines.started == [None, 1, 2]


def test_engines_end_together(engines: type[Engine]) -> None:
    made: list[Engine] = []

    def opened(threads: int | None) -> Any:
        made.append(Engine(threads=threads))
        return made[-1]

    with Several(opened, None) as several:
        config = RunConfig(
            workload="cnn", variant="torch", size={}, precision="fp32", device="torch:cpu",
            threads=2,
        )  # fmt: skip
        several.measure(config, SHIPPED["cnn"], RunOptions(seconds=0.001, samples=1))
        assert [engine.threads for engine in made] == [4, 2]
    assert all(engine.closed for engine in made)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("scaling", {"precisions": ["fp16"]}, "precisions is not for the study 'scaling'"),
        ("scaling", {"include_transfers": True}, "include_transfers is not for"),
        ("scaling", {"size": 64}, "varies size N; give its values as sizes"),
        ("scaling", {"size": {"N": 64}, "symbol": "N"}, "varies size N"),
        ("scaling", {"variant": "uncoalesced", "variants": ["naive"]}, "is none of variants"),
        ("ladder", {"sizes": [256]}, "sizes is not for the study 'ladder'; leave it out"),
        ("ladder", {"block": (32, 8)}, "block is not for the study 'ladder'"),
        ("ladder", {"tunables": {"TILE": 8}}, "tunables is not for"),
        ("ladder", {"switches": {"compile": "default"}}, "switches is not for"),
        ("speedup", {"device": "cpu"}, "device is not for the study 'speedup'; give devices"),
        ("speedup", {"include_transfers": True}, "include_transfers is not for"),
        ("precision", {"precision": "fp16"}, "precision is not for .* give precisions"),
        ("precision", {"try_threads": [2]}, "try_threads is not for"),
        ("switches", {"variants": ["torch"]}, "variants is not for"),
    ],
)
def test_an_argument_that_a_study_would_ignore_is_refused_before_an_engine_starts(
    engines: type[Engine], kind: Any, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        gpuexplorer.study(kind, "matmul", **given)
    assert not engines.started


def test_what_says_nothing_is_not_refused(engines: type[Engine]) -> None:
    study = gpuexplorer.study(
        "ladder", "matmul", size=64, variants=["torch"], variant="torch", precisions=None,
        try_threads=[], switches={}, block=None, include_transfers=False, **QUICK,
    )  # fmt: skip
    assert len(study.runs) == 1
    grows = gpuexplorer.study(
        "scaling", "softmax", symbol="D", sizes=[32, 64], size=16, variants=["naive"], **QUICK
    )
    assert {run.config.size["B"] for run in grows.runs} == {16}


def test_every_argument_of_its_own_reaches_the_study() -> None:
    """Those that a kind has are those that its command has, and sizes."""
    for name, kind in KINDS.items():
        theirs = {choice.name for choice in kind.choices}
        theirs |= {"symbol", "sizes"} if kind.over_sizes else set()
        assert set(OWN[name].values()) == theirs
