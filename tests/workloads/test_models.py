"""Frameworks' models as variants: their manifests, where they run, and what they are given."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.precision import KERNEL_PRECISIONS, PRECISIONS
from gpuexplorer.workloads import references
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.frameworks import FRAMEWORKS, check_model, family_of, framework_of
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.references import Reference
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.problems import device, model_device, plan_of

SHIPPED = load()
MLP = SHIPPED["mlp"]
OPENCL = device("opencl:0", threads=1)
GPU = device("cuda:0", kind="gpu", hardware_id="GPU-1", name="Some GPU")
NO_JAX = Unavailable(backend="jax", reason="JAX is not installed", remedy="pip install jax")


def manifest(*changes: tuple[str, str], name: str = "mlp") -> Workload:
    text = SHIPPED[name].source.manifest
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return Workload(WorkloadSource(manifest=text, origin="mine.toml"))


def listed(*devices: DeviceInfo, missing: tuple[Unavailable, ...] = ()) -> DeviceList:
    return DeviceList(devices=devices, unavailable=missing)


# ---- manifests


def test_every_model_is_offered_by_every_framework() -> None:
    for name, model in MODELS.items():
        variants = SHIPPED[name].manifest.variants
        assert {v: variants[v].model for v in FRAMEWORKS} == {v: f"{v}.{name}" for v in FRAMEWORKS}
        assert SHIPPED[name].manifest.sizes and model.title


@pytest.mark.parametrize(
    ("change", "key", "remedy"),
    [
        (('model = "torch.mlp"', 'model = "torch.mpl"'), "'variants.torch.model'", "'mlp'?"),
        (('model = "torch.mlp"', 'model = "trch.mlp"'), "'variants.torch.model'", "'torch'?"),
        (('model = "torch.mlp"', 'model = "torch"'), "'variants.torch.model'", "mlp"),
        (('model = "torch.mlp"', ""), "needs either 'library', 'model' or", ""),
        (('model = "torch.mlp"', 'model = "torch.mlp"\nlibrary = "numpy.add"'), "needs either", ""),
        (('model = "torch.mlp"', 'model = "torch.cnn"'), "'variants.torch.model'", "'mlp'"),
        (
            ('model = "torch.mlp"', 'model = "torch.conv2d"'),
            "needs an array 'W' with role = 'in'",
            "'arrays.W'",
        ),
        (('model = "mlp"\n', 'model = "mpl"\n'), "'reference.model' names 'mpl'", "'mlp'?"),
        (
            ('model = "mlp"\n', 'model = "mlp"\noutputs = { Y = "X" }\n'),
            "'reference' has a model",
            "leave everything",
        ),
        (('W3 = { shape = ["C", "H"]', 'V3 = { shape = ["C", "H"]'), "array 'W3'", "'arrays.W3'"),
        (('Y = { shape = ["B", "C"], role = "out" }',
          'Y = { shape = ["B", "C"], role = "inout" }'), "array 'Y' with role = 'out'", ""),
        (('model = "torch.mlp"', 'model = "torch.mlp"\nreset = ["Y"]'),
         "'variants.torch.reset' is for kernels", "leave it out"),
        (('model = "torch.mlp"', 'model = "torch.mlp"\nprecisions = ["fp8"]'),
         "'variants.torch.precisions' names 'fp8'", "fp8_e4m3"),
        (('model = "torch.mlp"', 'model = "torch.mlp"\ntolerances = { bf17 = 0.1 }'),
         "'variants.torch.tolerances' names 'bf17'", "'bf16'?"),
        (('model = "torch.mlp"', 'model = "torch.mlp"\ntolerances = { bf16 = 1.0 }'),
         "'variants.torch.tolerances.bf16' must lie between", ""),
        (('b3 = { shape = ["C"], role = "in", scale = 0.1 }',
          'b3 = { shape = ["C"], role = "in", scale = "1 / Z" }'), "'arrays.b3.scale'", "'Z'"),
        (('b3 = { shape = ["C"], role = "in", scale = 0.1 }',
          'b3 = { shape = ["C"], role = "in", below = "C" }'), "'arrays.b3.below'", "type = 'int'"),
        (('W3 = { shape = ["C", "H"]', 'W3 = { shape = ["C", "H", 1]'),
         "'mlp', which needs a 2-dimensional array 'W3'", "'arrays.W3.shape'"),
        (('b3 = { shape = ["C"]', 'b3 = { shape = ["C", 1]'),
         "needs a 1-dimensional array 'b3'", "'arrays.b3.shape'"),
        (("[precisions]", '[[constraints]]\nrule = "E > 1"\nbecause = "it is so."\n[precisions]'),
         "'constraints'", "'E'"),
    ],
)  # fmt: skip
def test_a_wrong_model_names_file_key_and_remedy(
    change: tuple[str, str], key: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        manifest(change)
    assert "mine.toml" in str(caught.value)
    assert key in str(caught.value) and remedy in str(caught.value)


def test_every_models_arrays_have_the_axes_that_are_stated() -> None:
    for name, model in MODELS.items():
        arrays = SHIPPED[name].manifest.arrays
        assert model.axes == {n: len(arrays[n].shape) for n in (*model.inputs, *model.outputs)}


def test_a_block_without_its_number_of_heads_is_refused() -> None:
    source = SHIPPED["transformer_block"].source
    text = source.manifest.replace("[sizes.H]", "[sizes.Z]").replace("D % H", "D % Z")
    with pytest.raises(InputError, match="names 'transformer_block', which needs a size 'H'"):
        Workload(msgspec.structs.replace(source, manifest=text))


@given(st.text(min_size=1, max_size=20))
def test_no_text_is_taken_for_a_model_that_is_none(text: str) -> None:
    if framework_of(text) in FRAMEWORKS and family_of(text) in MODELS:
        check_model(text)
        return
    with pytest.raises(InputError) as caught:
        check_model(text)
    assert "allowed: " in caught.value.remedy


def test_a_kernel_has_only_the_kernels_precisions() -> None:
    matmul = SHIPPED["matmul"]
    assert set(matmul.precisions_of("naive")) == set(KERNEL_PRECISIONS)
    assert set(matmul.precisions_of("torch")) == set(PRECISIONS)
    assert set(matmul.precisions_of("jax")) == {"fp64", "fp32", "tf32", "bf16", "fp16"}
    with pytest.raises(InputError, match="variant 'naive' has no precision 'tf32'"):
        plan_of(matmul, OPENCL, variant="naive", precision="tf32")
    with pytest.raises(InputError, match=r"'variants.naive.precisions' names 'tf32', which only m"):
        Workload(
            msgspec.structs.replace(
                matmul.source,
                manifest=matmul.source.manifest.replace(
                    "[variants.naive]", '[variants.naive]\nprecisions = ["tf32"]'
                ),
            )
        )


def test_a_library_call_has_bf16_only_where_the_library_has() -> None:
    matmul, add = SHIPPED["matmul"], SHIPPED["vector_add"]
    assert "bf16" in matmul.precisions_of("cublas") and "bf16" in add.precisions_of("direct")
    assert not any("bf16" in add.precisions_of(name) for name in ("cupy", "torch", "numpy"))
    library = '[variants.numpy]\nprecisions = ["bf16"]'
    manifest = add.source.manifest.replace("[variants.numpy]", library)
    with pytest.raises(InputError, match=r"names 'bf16', which its library call lacks"):
        Workload(msgspec.structs.replace(add.source, manifest=manifest))


def test_a_tolerance_of_its_own_replaces_the_workloads() -> None:
    matmul = SHIPPED["matmul"]
    assert matmul.tolerance_of("naive", "fp16") == 2e-3
    assert matmul.tolerance_of("torch", "fp16") == 5e-3
    assert matmul.tolerance_of("torch", "fp32") == matmul.tolerance_of("naive", "fp32")


# ---- where a model runs


def test_a_framework_that_is_missing_answers_for_itself() -> None:
    devices = listed(OPENCL, model_device("torch"), missing=(NO_JAX,))
    for wanted in ("auto", "cpu", "opencl:0", "torch:cpu"):
        request = RunRequest(workload="mlp", variant="jax", device=wanted)
        with pytest.raises(CannotRunHere) as caught:
            complete(request, MLP, devices)
        assert str(caught.value) == (
            "variant 'jax' runs on JAX, which is not available here: JAX is not installed; "
            "pip install jax"
        )


@pytest.mark.parametrize("wanted", ["auto", "cpu", "opencl:0", "torch:cpu", "jax:cpu"])
def test_a_model_runs_on_its_framework_s_view_of_the_device(wanted: str) -> None:
    devices = listed(OPENCL, model_device("torch"), model_device("jax"))
    for variant in ("torch", "jax"):
        request = RunRequest(workload="mlp", variant=variant, device=wanted)
        assert complete(request, MLP, devices).device == f"{variant}:cpu"


def test_auto_finds_a_device_that_has_the_framework() -> None:
    request = RunRequest(workload="mlp")
    assert complete(request, MLP, listed(GPU, model_device())).device == "torch:cpu"
    with pytest.raises(CannotRunHere, match=r"PyTorch does not reach cuda:0 .*; it runs"):
        complete(RunRequest(workload="mlp", device="cuda:0"), MLP, listed(GPU, model_device()))


def test_a_device_without_any_model_is_told() -> None:
    bare = model_device("torch", libraries=())
    with pytest.raises(CannotRunHere, match=r"no device here offers the model torch\.mlp"):
        complete(RunRequest(workload="mlp"), MLP, listed(bare))


def test_a_precision_that_the_device_lacks_is_refused_with_what_it_offers() -> None:
    cpu = model_device(precisions=("fp64", "fp32", "bf16"))
    with pytest.raises(CannotRunHere, match="does not offer tf32; it offers fp64, fp32, bf16"):
        complete(RunRequest(workload="mlp", precision="tf32"), MLP, listed(cpu))
    with pytest.raises(InputError, match="variant 'jax' has no precision 'int8'"):
        request = RunRequest(workload="mlp", variant="jax", precision="int8")
        complete(request, MLP, listed(model_device("jax")))


def test_a_model_takes_no_block() -> None:
    with pytest.raises(InputError, match="a framework's model chooses its own blocks"):
        plan_of(MLP, model_device(), block=(16, 16))


def test_sizes_that_do_not_go_together_say_why() -> None:
    with pytest.raises(InputError, match=r"cannot run with .*H = 3: the heads share the width"):
        plan_of(SHIPPED["transformer_block"], model_device(), size={"H": 3})
    with pytest.raises(InputError, match="has an odd size"):
        plan_of(SHIPPED["conv2d"], model_device(), size={"R": 4})


# ---- what a model is given


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_host_s_arrays_are_masters_in_every_precision(precision: str) -> None:
    plan = plan_of(MLP, model_device(), precision=precision, size={"B": 2, "D": 16, "H": 16})
    assert plan.model == "torch.mlp" and plan.library is None and plan.steps == ()
    wide = precision == "fp64"
    for name, values in make_inputs(plan).items():
        assert values.dtype == (np.float64 if wide else np.float32)
        assert plan.array(name).itemsize_B == values.itemsize
    for array in plan.outputs:
        assert array.itemsize_B == (8 if wide else 4)


def test_every_framework_and_precision_gets_the_same_numbers() -> None:
    size = {"B": 2, "D": 16, "H": 16, "C": 4}
    first = make_inputs(plan_of(MLP, model_device(), size=size))
    for framework in FRAMEWORKS:
        for precision in ("fp32", "bf16", "fp16"):
            on = model_device(framework)
            plan = plan_of(MLP, on, variant=framework, precision=precision, size=size)
            again = make_inputs(plan)
            assert all(np.array_equal(first[name], again[name]) for name in first)
    other = make_inputs(plan_of(MLP, model_device(), size=size, seed=2))
    assert not np.array_equal(first["W1"], other["W1"])


def test_weights_are_scaled_and_labels_are_classes() -> None:
    sizes = {"B": 400, "D": 64, "H": 128, "C": 5}
    plan = plan_of(SHIPPED["mlp_training"], model_device(), size=sizes)
    inputs = make_inputs(plan)
    assert inputs["W1"].std() == pytest.approx((2 / 64) ** 0.5, rel=0.05)
    assert inputs["X"].std() == pytest.approx(1.0, rel=0.05)
    assert inputs["labels"].dtype == np.int32
    assert set(np.unique(inputs["labels"])) == set(range(5))
    assert not inputs["vW1"].any()
    filled = make_inputs(plan_of(SHIPPED["mlp_training"], model_device(), size=sizes, fill="large"))
    assert set(np.unique(filled["labels"])) == set(range(5))  # whatever the fill
    assert set(np.unique(np.abs(filled["b1"]))) == {np.float32(25.6)}


@pytest.mark.parametrize("name", MODELS)
def test_work_is_counted_in_the_type_that_is_stored(name: str) -> None:
    workload = SHIPPED[name]
    for precision in workload.precisions_of("torch"):
        plan = plan_of(workload, model_device(), variant="torch", precision=precision)
        wide = plan_of(workload, model_device(), variant="torch", precision="fp32")
        assert plan.flops == wide.flops > 0
        stored_B = PRECISIONS[precision].itemsize_B
        labels_B = 4 * workload.manifest.sizes["B"].default if name == "mlp_training" else 0
        assert (plan.compulsory_read_B - labels_B) * 4 == pytest.approx(
            (wide.compulsory_read_B - labels_B) * stored_B
        )
        held = sum(a.elements for a in wide.inputs if a.type != "int")
        assert wide.compulsory_read_B == 4 * held + labels_B
        assert wide.compulsory_write_B == sum(a.nbytes for a in wide.outputs)


# ---- how a result is checked


def outputs_of(plan: Any, inputs: Any) -> dict[str, Any]:
    """The right outputs, rounded to the type of the host's arrays."""
    model = MODELS[family_of(plan.model)]
    wide = {name: values.astype(np.float64) for name, values in inputs.items()}
    found = model.compute(wide, plan.config.size)
    return {n: found[n].astype(np.float32) for n in model.outputs}


def test_a_right_result_passes_and_its_errors_are_told() -> None:
    plan = plan_of(MLP, model_device(), size={"B": 5, "D": 16, "H": 16, "C": 4})
    inputs = make_inputs(plan)
    reference = Reference(MLP, plan, inputs)
    right = outputs_of(plan, inputs)
    found = reference.verify(right)
    assert found.ok and found.method == "full, float64"
    wide = {n: a.astype(np.float64) for n, a in inputs.items()}
    exact = MODELS["mlp"].compute(wide, plan.config.size)["Y"]
    noise = np.random.default_rng(1).standard_normal(exact.shape) * 1e-6
    noisy = (exact + noise).astype(np.float32)
    found = reference.verify({"Y": noisy})
    difference = noisy.astype(np.float64) - exact
    rms = np.sqrt(np.mean(exact**2))
    assert found.rms_rel_error == pytest.approx(
        np.linalg.norm(difference) / np.linalg.norm(exact), rel=1e-9
    )
    assert found.max_rel_error == pytest.approx(
        np.max(np.abs(difference) / (np.abs(exact) + rms)), rel=1e-9
    )


def test_a_large_batch_is_checked_by_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "FULL_FLOP", 1e3)
    monkeypatch.setattr(references, "SAMPLED_FLOP", 1e3)
    attention = SHIPPED["attention"]
    plan = plan_of(attention, model_device(), size={"B": 6, "H": 5, "S": 8, "D": 8})
    inputs = make_inputs(plan)
    reference = Reference(attention, plan, inputs)
    right = outputs_of(plan, inputs)
    found = reference.verify(right)
    count = int(re.fullmatch(r"(\d+) of 30 samples, float64", found.method)[1])  # type: ignore[index]
    assert found.ok and 2 <= count < 10
    wrong = {"O": right["O"].copy()}
    wrong["O"][5, 4, 3, 2] += 1.0  # the last sample is always one of them
    assert not reference.verify(wrong).ok
    assert reference.explain(wrong).startswith("O[5, 4, 3, 2] is ")
    blind = {"O": np.zeros_like(right["O"])}
    assert not reference.verify(blind).ok


def test_a_batch_that_is_small_enough_is_checked_in_full() -> None:
    plan = plan_of(SHIPPED["softmax"], model_device(), size={"B": 1000, "D": 100})
    inputs = make_inputs(plan)
    found = Reference(SHIPPED["softmax"], plan, inputs).verify(outputs_of(plan, inputs))
    assert found.ok and found.method == "full, float64"


def test_a_step_is_wrong_when_one_gradient_is() -> None:
    training = SHIPPED["mlp_training"]
    plan = plan_of(training, model_device(), size={"B": 8, "D": 16, "H": 16, "C": 4})
    inputs = make_inputs(plan)
    reference = Reference(training, plan, inputs)
    right = outputs_of(plan, inputs)
    assert reference.verify(right).ok
    for name, values in right.items():
        off = {**right, name: values * np.float32(1.01)}
        assert not reference.verify(off).ok, name


def test_a_check_that_would_take_too_long_is_refused() -> None:
    big = {"B": 65536, "D": 16384, "H": 16384}
    plan = plan_of(SHIPPED["mlp_training"], model_device(), size=big)
    with pytest.raises(InputError, match="cannot be checked: float64 would need"):
        Reference(SHIPPED["mlp_training"], plan, {}).verify({})


def test_switches_do_not_make_another_problem() -> None:
    """Inputs and reference depend on what is computed, not on how."""
    plain = plan_of(MLP, model_device())
    other = plan_of(MLP, model_device(), switches={"compile": "default"})
    assert plain.arrays == other.arrays and plain.config != other.config
    assert make_plan(MLP, other.config, model_device()) == other
