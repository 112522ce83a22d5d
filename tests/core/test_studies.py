"""Documents of studies: with their runs, and apart from them."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.studies import Study, study_json, without_runs
from gpuexplorer.studies import decode, with_runs
from gpuexplorer.studies.precision import PrecisionLab, PrecisionStudy
from gpuexplorer.studies.running import How
from gpuexplorer.studies.speedup import SpeedupLab
from gpuexplorer.studies.switches import SwitchesLab
from tests.support.studies import SHIPPED, StudyMachine, asked, cpu, devices, gpu, torch_cpu

HOW = How(rounds=6, seconds=0.006, seed=1)


def made() -> list[Study]:
    machine = StudyMachine(lambda c: 1e-3 / (1 + len(c.switches)))
    on = devices(cpu(), gpu(), torch_cpu())
    return [
        PrecisionLab(asked("softmax", variant="torch"), SHIPPED["softmax"], on, HOW).run(machine),
        SwitchesLab(asked("mlp", variant="torch"), SHIPPED["mlp"], on, HOW).run(machine),
        SpeedupLab(
            asked("matmul"), SHIPPED["matmul"], on, HOW, sizes=[16, 32]
        ).run(machine),
    ]  # fmt: skip


@pytest.mark.parametrize("study", made(), ids=lambda s: type(s).__name__)
def test_a_document_survives_json_and_being_apart_from_its_runs(study: Study) -> None:
    assert decode(study_json(study)) == study
    apart = without_runs(study)
    assert "runs" not in apart and apart["schema"] == "gpuexplorer/study/1"
    plain = msgspec.json.decode(msgspec.json.encode(apart))
    assert with_runs(plain, study.runs) == study
    ids = [run.id for run in study.runs]
    assert len(set(ids)) == len(ids) > 0


def test_what_is_no_study_is_refused() -> None:
    with pytest.raises(InputError, match="no study"):
        with_runs({"kind": "astrology"}, [])
    document = without_runs(made()[0])
    with pytest.raises(InputError, match="another version"):
        with_runs({**document, "schema": "gpuexplorer/study/9"}, [])


def test_the_error_is_the_one_that_all_points_have() -> None:
    study = made()[0]
    assert isinstance(study, PrecisionStudy)
    assert study.error_field == "rms_rel_error"
    points = [
        msgspec.structs.replace(
            p, measured=msgspec.structs.replace(p.measured, rms_rel_error=None)
        )
        if p.precision == "fp32" and p.measured is not None else p
        for p in study.points
    ]  # fmt: skip
    study = msgspec.structs.replace(study, points=points)
    assert study.error_field == "max_rel_error"
    assert all(study.error(p) == p.measured.max_rel_error for p in points if p.measured is not None)
