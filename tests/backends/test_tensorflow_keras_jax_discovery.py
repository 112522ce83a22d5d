"""What the frameworks offer is known without importing them; their GPUs are the driver's."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.backends import frameworks, registry
from gpuexplorer.backends.cuda import driver as cuda
from gpuexplorer.backends.jax import backend as jax_backend
from gpuexplorer.backends.models import MODEL_NAMES
from gpuexplorer.backends.tensorflow import backend as tensorflow_backend
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.errors import WorkFailed

TITLES = {"tensorflow": "TensorFlow", "keras": "Keras", "jax": "JAX"}
FACTS = cuda.DeviceFacts(
    index=0,
    name="Some GPU",
    uuid="GPU-00000000-0000-0000-0000-000000000001",
    memory_B=2**34,
    attributes={
        cuda.MULTIPROCESSORS: 80,
        cuda.L2_CACHE_B: 2**25,
        cuda.CAPABILITY[0]: 7,
        cuda.CAPABILITY[1]: 5,
    },
)
CUDA_BUILD = "build_info = dict([('cuda_version', '12.5.1'), ('is_cuda_build', True)])\n"
CPU_BUILD = "build_info = dict([('is_cuda_build', False), ('is_rocm_build', False)])\n"


class OneGpu:
    """A driver library with one GPU, for CUDA 13."""

    version = (13, 0)

    def __init__(self, library: object) -> None:
        pass

    @staticmethod
    def load() -> object:
        return object()

    def devices(self) -> list[cuda.DeviceFacts]:
        return [FACTS]


class FailingDriver(OneGpu):
    """A driver library that cannot be used."""

    def __init__(self, library: object) -> None:
        raise cuda.DriverError(100, "CUDA_ERROR_NO_DEVICE")


class NoDriver(OneGpu):
    """No driver library."""

    @staticmethod
    def load() -> object | None:
        return None


Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Let folders stand for the installed packages; nothing else is there, and no GPU."""

    def only(*names: str, build: str = CPU_BUILD, driver: type[OneGpu] = NoDriver) -> None:
        for name in names:
            (tmp_path / name / "python" / "platform").mkdir(parents=True)
        if "tensorflow" in names:
            info = tmp_path / "tensorflow" / "python" / "platform" / "build_info.py"
            info.write_text(build, encoding="utf-8")

        def find_spec(name: str) -> ModuleSpec | None:
            origin = str(tmp_path / name / "__init__.py")
            return ModuleSpec(name, None, origin=origin) if name in names else None

        def version(name: str) -> str:
            if name.removesuffix("-cpu") in names:
                return "9.9"
            raise importlib.metadata.PackageNotFoundError(name)

        monkeypatch.setattr(importlib.util, "find_spec", find_spec)
        monkeypatch.setattr(importlib.metadata, "version", version)
        monkeypatch.setattr(cuda, "Driver", driver)

    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    return only


def found(name: str) -> tuple[DeviceInfo, ...]:
    devices = registry.create(name, 2).discover()
    assert not isinstance(devices, Unavailable), devices
    return devices


def refused(name: str) -> Unavailable:
    answer = registry.create(name, 2).discover()
    assert isinstance(answer, Unavailable)
    return answer


@pytest.mark.parametrize("name", TITLES)
def test_one_that_is_not_installed_says_how_to_install_it(install: Install, name: str) -> None:
    install()
    answer = refused(name)
    assert answer.backend == name and answer.reason == f"{TITLES[name]} is not installed"
    assert f"{sys.executable} -m pip install {name}" in answer.remedy
    assert registry.create(name, 2).versions() == {}


def test_a_machine_with_a_gpu_is_told_of_the_builds_for_it(install: Install) -> None:
    install(driver=OneGpu)
    assert refused("jax").remedy.endswith("-m pip install 'jax[cuda13]'")
    if sys.platform == "linux":
        assert refused("tensorflow").remedy.endswith("-m pip install 'tensorflow[and-cuda]'")


def test_a_program_in_one_piece_points_to_another_python(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "pip install jax in a Python of your own, chosen with --python" in refused("jax").remedy


@pytest.mark.parametrize("name", ["tensorflow", "jax"])
def test_the_cpu_has_every_model_and_the_types_that_models_have(
    install: Install, name: str
) -> None:
    install("tensorflow", "jax", "jaxlib")
    (device,) = found(name)
    assert (device.id, device.kind, device.threads) == (f"{name}:cpu", "cpu", 2)
    assert device.hardware_id == found_numpy().hardware_id
    assert device.libraries == tuple(f"{name}.{model}" for model in MODEL_NAMES)
    assert device.precisions == ("fp64", "fp32", "bf16", "fp16")
    assert device.driver == f"{TITLES[name]} 9.9"
    assert not device.runs_kernels
    assert registry.create(name, 2).versions() == {name: "9.9"}


def found_numpy() -> DeviceInfo:
    return found("numpy")[0]


@pytest.mark.parametrize(
    ("name", "packages"),
    [("tensorflow", ["tensorflow"]), ("jax", ["jax", "jaxlib", "jax_cuda13_plugin"])],
)
def test_a_build_for_cuda_has_the_drivers_gpus(
    install: Install, name: str, packages: Iterable[str]
) -> None:
    install(*packages, build=CUDA_BUILD, driver=OneGpu)
    cpu, gpu = found(name)
    assert (cpu.id, gpu.id) == (f"{name}:cpu", f"{name}:cuda:0")
    assert gpu.hardware_id == FACTS.uuid and gpu.kind == "gpu" and gpu.threads is None
    assert "for CUDA 1" in gpu.driver
    assert "tf32" not in gpu.precisions  # before Ampere there are no tensor cores for it
    assert gpu.libraries == cpu.libraries


@pytest.mark.parametrize("driver", [FailingDriver, NoDriver])
def test_a_build_for_cuda_without_a_usable_driver_has_the_cpu(
    install: Install, driver: type[OneGpu]
) -> None:
    install("tensorflow", build=CUDA_BUILD, driver=driver)
    assert [d.id for d in found("tensorflow")] == ["tensorflow:cpu"]


def test_what_an_uninstalled_package_left_behind_is_no_package(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: ModuleSpec(name, None))
    assert refused("jax").reason == "JAX is not installed"


def test_a_cpu_without_avx_is_refused_before_the_import_would_end_the_engine(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install("tensorflow", "jax", "jaxlib")
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu sse2 sse4_2\n", encoding="utf-8")
    monkeypatch.setattr(frameworks, "_CPUINFO", cpuinfo)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert "AVX" in refused("tensorflow").reason
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu sse2 avx avx2\n", encoding="utf-8")
    assert [d.id for d in found("tensorflow")] == ["tensorflow:cpu"]


# ---- Keras


def test_keras_runs_on_tensorflow_where_nobody_chose(install: Install) -> None:
    install("keras", "tensorflow", "jax", "jaxlib")
    (device,) = found("keras")
    assert device.driver == "Keras 9.9 on TensorFlow 9.9"
    assert registry.create("keras", 2).versions() == {
        "keras": "9.9 on tensorflow",
        "tensorflow": "9.9",
    }


def test_the_settings_file_chooses_and_the_environment_chooses_before_it(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install("keras", "tensorflow", "jax", "jaxlib", "torch")
    (tmp_path / "keras.json").write_text(json.dumps({"backend": "torch"}), encoding="utf-8")
    assert found("keras")[0].driver == "Keras 9.9 on PyTorch 9.9"
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert found("keras")[0].driver == "Keras 9.9 on JAX 9.9"
    assert found("keras")[0].precisions == ("fp32", "bf16", "fp16")
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")  # on the others fp64 would be fp32
    assert found("keras")[0].precisions == ("fp64", "fp32", "bf16", "fp16")


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_settings_file_that_cannot_be_read_chooses_nothing(
    install: Install, tmp_path: Path, text: str
) -> None:
    install("keras", "tensorflow")
    (tmp_path / "keras.json").write_text(text, encoding="utf-8")
    assert "on TensorFlow" in found("keras")[0].driver


def test_keras_without_the_framework_that_it_is_set_to_names_the_others(install: Install) -> None:
    install("keras", "jax", "jaxlib")
    answer = refused("keras")
    assert answer.reason == "Keras is set to TensorFlow, which is not installed"
    assert "pip install tensorflow" in answer.remedy
    assert answer.remedy.endswith("or set KERAS_BACKEND to jax")


def test_keras_on_something_that_trains_nothing_is_refused(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("keras", "tensorflow")
    monkeypatch.setenv("KERAS_BACKEND", "openvino")
    answer = refused("keras")
    assert "'openvino'" in answer.reason and "tensorflow, torch, jax" in answer.remedy


def test_keras_has_the_gpus_of_the_framework_below(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("keras", "jax", "jaxlib", "jax_cuda12_plugin", driver=OneGpu)
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert [d.id for d in found("keras")] == ["keras:cpu", "keras:cuda:0"]


# ---- imports


def test_a_broken_installation_is_one_sentence_with_its_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> Any:
        raise ImportError("libthing.so.7: cannot open shared object file\nmore lines")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(WorkFailed) as caught:
        frameworks.import_framework("jax", "JAX", "jax")
    assert caught.value.what == (
        "JAX cannot be imported: libthing.so.7: cannot open shared object file"
    )
    assert "pip install --force-reinstall jax" in caught.value.remedy
    assert "Traceback" in caught.value.detail


def test_finding_devices_imports_no_framework() -> None:
    program = (
        "import sys\n"
        "from gpuexplorer.backends import registry\n"
        "for name in ('tensorflow', 'keras', 'jax'):\n"
        "    registry.create(name, 1).discover()\n"
        "    registry.create(name, 1).versions()\n"
        "print(sorted({'torch', 'tensorflow', 'keras', 'jax', 'jaxlib'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_package_of_each_build_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "Driver", NoDriver)
    assert jax_backend.jax_package() == "jax"
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    assert tensorflow_backend.tensorflow_package() == "tensorflow"
