"""A model's file is looked over and not run, becomes a workload, and is trusted by its text."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.frameworks import OWN_MODELS
from gpuexplorer.workloads.loader import load, own_workload, pick
from gpuexplorer.workloads.own_model import (
    ITERATIONS,
    TOLERANCES,
    look_over,
    manifest_of,
    read_model,
    workload_name,
)
from gpuexplorer.workloads.programs import Program
from gpuexplorer.workloads.switches import offered
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.own_models import GOOD, workload_of, write

HERE = Path("folder/model.py")
EXAMPLE = Path(__file__).resolve().parents[2] / "resources" / "examples" / "model.py"


@pytest.fixture(autouse=True)
def config_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the user's list of trusted files out of it."""
    folder = tmp_path / "config"
    monkeypatch.setenv(trust.ENVIRONMENT_VARIABLE, str(folder))
    monkeypatch.setattr(trust, "_agreed", set())
    return folder


def test_whole_numbers_that_build_takes_are_sizes() -> None:
    model = look_over("def build(batch=8, rate=0.5, *, width: int = 32, on=True): ...\n", HERE)
    assert model.sizes == {"batch": 8, "width": 32}
    assert not model.has_loss


@pytest.mark.parametrize(
    "text",
    [
        "def build():\n    return net(), x\ndef loss(y):\n    return y.sum()\n",
        "def build():\n    return net(), x, lambda y: y.sum()\n",
        "loss = torch.nn.MSELoss()\ndef build():\n    return net(), x\n",
    ],
)
def test_a_loss_is_found_wherever_it_stands(text: str) -> None:
    assert look_over(text, HERE).has_loss


def test_a_tuple_that_another_function_returns_is_no_loss() -> None:
    text = "def build():\n    def inner():\n        return 1, 2, 3\n    return net(), inner()\n"
    assert not look_over(text, HERE).has_loss


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def build(:\n", "model.py:1:"),
        ("x = 1\n", "model.py: there is no function build()"),
        ("class Net:\n    def build(self): ...\n", "model.py: there is no function build()"),
        ("import os\n\nasync def build(): ...\n", "model.py:3: build() is an async function"),
        ("\ndef build(width): ...\n", "model.py:2: build() takes 'width'"),
        ("def build(*, width): ...\n", "model.py:1: build() takes 'width'"),
        ("TOLERANCE = {'bf17': 0.1}\ndef build(): ...\n", "model.py:1: TOLERANCE names 'bf17'"),
        ("TOLERANCE = {'bf16': 2}\ndef build(): ...\n", "model.py:1: the tolerance 2"),
        ("TOLERANCE = make()\ndef build(): ...\n", "model.py:1: TOLERANCE is neither"),
        ("def build(): ...\0\n", "model.py"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        look_over(text, HERE)
    assert said in str(caught.value)


def test_nothing_of_a_file_is_run_when_it_is_read(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = f"open({str(mark)!r}, 'w').write('ran')\n{GOOD}"
    workload_of(tmp_path, text)
    load([tmp_path / "model.py"])
    assert not mark.exists()


def test_a_build_that_comes_from_elsewhere_is_taken_on_trust() -> None:
    assert look_over("from package import build\n", HERE).sizes == {}
    assert look_over("from package import *\n", HERE).sizes == {}


def test_tolerances_of_the_file_replace_the_usual_ones() -> None:
    some = look_over("TOLERANCE = {'bf16': 0.5}\ndef build(): ...\n", HERE).tolerances
    assert some == {**TOLERANCES, "bf16": 0.5}
    every = look_over("TOLERANCE = 0.25\ndef build(): ...\n", HERE).tolerances
    assert set(every.values()) == {0.25}


def test_a_file_is_a_workload_with_a_variant_for_each_step(tmp_path: Path) -> None:
    workload = workload_of(tmp_path, GOOD, "my net.py")
    assert workload.name == "my-net"
    assert workload.manifest.title == "A little net"
    assert list(workload.manifest.variants) == ["torch", "torch_training"]
    assert {s: spec.default for s, spec in workload.manifest.sizes.items()} == {
        "batch": 8,
        "width": 32,
    }
    assert workload.precisions_of("torch") == list(TOLERANCES)
    assert workload.source.origin == str(tmp_path / "my net.py")


def test_a_file_without_sizes_counts_iterations(tmp_path: Path) -> None:
    workload = workload_of(tmp_path, "def build():\n    return net(), x\n")
    assert list(workload.manifest.sizes) == [ITERATIONS]
    assert list(workload.manifest.variants) == ["torch"]


def test_a_changed_file_is_another_workload(tmp_path: Path) -> None:
    before = workload_of(tmp_path, GOOD).sha256
    assert workload_of(tmp_path, GOOD + "\n# more\n").sha256 != before


def test_a_file_named_like_a_shipped_workload_gets_another_name(tmp_path: Path) -> None:
    assert workload_of(tmp_path, GOOD, "matmul.py").name == "matmul-own"
    assert load([tmp_path / "matmul.py"])["matmul"].manifest.title != "A little net"


def test_the_shipped_example_is_a_model() -> None:
    model = read_model(EXAMPLE)
    assert model.sizes == {"batch": 16, "channels": 32, "blocks": 3}
    assert model.has_loss
    assert own_workload(EXAMPLE).manifest.title == "A small image classifier with a training step"


@given(
    docstring=st.text(max_size=120),
    stem=st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=40),
)
def test_any_title_and_name_make_a_valid_manifest(docstring: str, stem: str) -> None:
    try:
        model = look_over(f"{docstring!r}\ndef build(n=2): ...\n", Path(f"{stem}.py"))
    except InputError:  # a text that Python itself cannot read
        return
    manifest = manifest_of(model, workload_name(model.path))
    workload = Workload(WorkloadSource(manifest=manifest, files={"model.py": model.text}))
    assert workload.name == workload_name(model.path)


def test_a_manifest_cannot_name_a_file_that_is_not_there(tmp_path: Path) -> None:
    manifest = manifest_of(look_over(GOOD, HERE), "model")
    with pytest.raises(InputError, match=r"gpuexplorer run model\.py"):
        Workload(WorkloadSource(manifest=manifest))


def test_a_file_brings_its_own_inputs_and_has_the_switches_that_work(tmp_path: Path) -> None:
    workload = workload_of(tmp_path, GOOD)
    device = DeviceInfo(
        id="torch:cuda:0", hardware_id="GPU-1", name="A GPU", backend="torch", kind="gpu",
        driver="1", compute_units=1, precisions=("fp32",), libraries=OWN_MODELS,
    )  # fmt: skip
    devices = DeviceList(devices=(device,))
    config = complete(RunRequest(workload="model"), workload, devices)
    assert config.size == {"batch": 8, "width": 32} and config.device == "torch:cuda:0"
    with pytest.raises(InputError, match="brings its own inputs"):
        complete(RunRequest(workload="model", fill="zeros"), workload, devices)
    names = [s.name for s in offered(workload.variant("torch_training"), device)]
    assert {"compile", "cuda_graph", "channels_last", "fused_optimizer"} <= set(names)
    assert not {"pinned", "one_by_one", "in_place", "checkpointing", "grad_mode"} & set(names)


# ---- trust


def test_the_fingerprint_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(b"\xef\xbb\xbf# \xc3\xa4\r\ndef build(): ...\r\n")
    assert read_model(path).sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_agreement_is_remembered_for_the_very_text(tmp_path: Path) -> None:
    model = read_model(write(tmp_path, GOOD))
    assert not trust.is_trusted(model.sha256)
    trust.trust(model)
    trust._agreed.clear()  # as in another process
    assert trust.is_trusted(model.sha256)
    changed = read_model(write(tmp_path, GOOD + "\n"))
    assert not trust.is_trusted(changed.sha256)
    trust.forget(model.sha256)
    assert not trust.is_trusted(model.sha256)


def test_what_two_programs_agree_to_at_the_same_time_is_all_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each wrote the list as it had read it, and one agreement of two was lost."""
    monkeypatch.setattr(trust, "_lock", nullcontext())  # which programs do not share
    both = threading.Barrier(2, timeout=60.0)
    words = [[f"{who} {number}" for number in range(20)] for who in ("here", "there")]
    programs = [[Program(HERE, word) for word in some] for some in words]

    def agree(some: list[Program]) -> None:
        for one in some:
            both.wait()
            trust.trust(one)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(agree, programs))
    trust._agreed.clear()
    assert all(trust.is_trusted(one.sha256) for some in programs for one in some)


def test_agreement_for_a_process_is_not_written_down(tmp_path: Path, config_folder: Path) -> None:
    model = read_model(write(tmp_path, GOOD))
    trust.trust(model, remember=False)
    assert trust.is_trusted(model.sha256)
    assert not config_folder.exists()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"schema": "other", "models": {}}'])
def test_a_broken_list_trusts_nothing_and_is_replaced(
    tmp_path: Path, config_folder: Path, data: bytes
) -> None:
    config_folder.mkdir()
    (config_folder / trust.FILE).write_bytes(data)
    model = read_model(write(tmp_path, GOOD))
    assert not trust.is_trusted(model.sha256)
    trust.trust(model)
    trust._agreed.clear()
    assert trust.is_trusted(model.sha256)


def test_a_list_that_cannot_be_written_is_said(tmp_path: Path, config_folder: Path) -> None:
    config_folder.write_text("a file where the folder should be")
    model = read_model(write(tmp_path, GOOD))
    with pytest.raises(InputError, match="cannot write"):
        trust.trust(model)
    assert trust.is_trusted(model.sha256)  # for this process


def test_a_trusted_file_is_named_where_its_workload_is_not_loaded(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD, "nets.py")
    trust.trust(read_model(path))
    with pytest.raises(InputError, match="no workload 'nets'") as caught:
        pick(load(), "nets")
    assert f"--kernels {path}" in str(caught.value)


def test_only_workloads_of_ones_own_need_agreement(tmp_path: Path) -> None:
    workload = workload_of(tmp_path, GOOD)
    assert not trust.agreed(workload)
    trust.trust(read_model(tmp_path / "model.py"), remember=False)
    assert trust.agreed(workload)
    assert trust.agreed(load()["matmul"])
