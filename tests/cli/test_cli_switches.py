"""``--switch`` on the command line: read, refused, swept, compared, and run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.parser import parse
from gpuexplorer.cli.sweep import space_of
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.search.contestants import read_configuration, words_of
from gpuexplorer.workloads.loader import load
from tests.support.cli import assert_one_sentence, run_cli
from tests.support.results import made_config

WORKLOADS = load()
MLP = WORKLOADS["mlp"]


def test_switches_are_read_by_name_and_value() -> None:
    words = ["run", "mlp", "--switch", "compile=default", "--switch", "in_place",
             "--include-transfers"]  # fmt: skip
    assert request_of(parse(words)).switches == {
        "compile": "default", "in_place": True, "include_transfers": True,
    }  # fmt: skip
    assert request_of(parse(["run", "mlp", "--switch", "in_place=off"])).switches == {
        "in_place": False
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--switch", "complie=default"], "--switch: no switch 'complie'; did you mean 'compile'"),
        (["--switch", "compile=fast"], "--switch: switch 'compile' cannot be 'fast'"),
        (["--switch", "compile=off", "--switch", "compile=default"], "compile is given twice"),
    ],
)
def test_a_wrong_switch_is_refused(words: list[str], said: str) -> None:
    with pytest.raises(InputError) as caught:
        request_of(parse(["run", "mlp", *words]))
    assert said in str(caught.value)


def test_a_sweep_has_one_value_as_a_setting_and_several_as_an_axis() -> None:
    words = ["sweep", "mlp", "--variant", "torch", "--switch", "compile=off,default",
             "--switch", "in_place=on", "--size", "B=1,8"]  # fmt: skip
    space = space_of(parse(words), MLP.manifest)
    assert space.base.switches == {"in_place": True}
    assert {a.name: a.values for a in space.axes} == {
        "size.B": (1, 8), "switch.compile": ("off", "default"),
    }  # fmt: skip
    with pytest.raises(InputError, match="in_place is given twice"):
        space_of(parse([*words, "--switch", "in_place=off"]), MLP.manifest)
    with pytest.raises(InputError, match="names no switch"):
        parse(["sweep", "mlp", "--switch", "compile"])


def test_a_word_of_a_comparison_sets_switches() -> None:
    base = RunRequest(workload="mlp", variant="torch", switches={"in_place": True})

    def switches(word: str) -> dict[str, object]:
        return dict(read_configuration(word, base, WORKLOADS)[0].switches)

    assert switches("torch") == {"in_place": True}
    assert switches("torch,compile=default") == {"in_place": True, "compile": "default"}
    assert switches("torch,in_place=off,transfers=on") == {"include_transfers": True}
    assert switches("jax,jit=on") == {"jit": True}  # which has no such switch
    with pytest.raises(InputError, match="'torch,jit=on': no 'jit' to set"):
        switches("torch,jit=on")
    with pytest.raises(InputError, match="'torch,compile=fast': switch 'compile' cannot be"):
        switches("torch,compile=fast")
    config = made_config(
        workload="mlp", variant="torch", block=None, size={"B": 8}, device="torch:cpu",
        switches={"compile": "default", "include_transfers": True},
    )  # fmt: skip
    word = words_of(config, "mlp")
    assert "compile=default" in word and "transfers=on" in word
    found, _ = read_configuration(word, RunRequest(workload="mlp"), WORKLOADS)
    assert found.switches == config.switches


@pytest.mark.torch
def test_a_model_runs_with_its_switches(tmp_path: Path) -> None:
    done = run_cli(
        "run", "mlp", "--variant", "torch", "--size", "B=4,D=16,H=16,C=4", "--precision", "bf16",
        "--switch", "in_place=on", "--seconds", "0.05", "--no-history", "--json", "-",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = msgspec.json.decode(done.stdout.encode(), type=RunResult)
    assert result.config.switches == {"in_place": True}
    assert (result.config.device, result.config.precision) == ("torch:cpu", "bf16")
    assert result.config.block is None and result.config.grid is None
    check = result.verification
    assert check is not None and check.ok and check.rms_rel_error is not None
    assert 1e-4 < check.rms_rel_error < check.tolerance  # the rounding of bf16 shows
    assert result.arithmetic is not None and result.arithmetic.asked == "bf16"


def test_a_kernel_has_no_switches(tmp_path: Path) -> None:
    done = run_cli("run", "matmul", "--variant", "naive", "--switch", "compile=default",
                   cwd=tmp_path)  # fmt: skip
    sentence = assert_one_sentence(done, 2)
    assert sentence == (
        "variant 'naive' has no switch 'compile'; switches belong to frameworks' models; leave "
        "--switch out"
    )


def test_one_workload_shows_its_frameworks_and_switches(tmp_path: Path) -> None:
    done = run_cli("workloads", "mlp", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    for framework in ("torch", "tensorflow", "keras", "jax"):
        assert f"model {framework}.mlp:" in text
    assert "--switch compile=off|default|reduce-overhead|max-autotune" in text
    assert "Hidden width: H from 16 to 16384" in text
    (one,) = msgspec.json.decode(run_cli("workloads", "mlp", "--json", cwd=tmp_path).stdout)[
        "workloads"
    ]
    assert one["variants"]["jax"]["switches"]["jit"]["default"] is False
    assert one["variants"]["torch"]["model"] == "torch.mlp"
