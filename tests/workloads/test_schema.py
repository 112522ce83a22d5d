"""A manifest that is not right is refused with the file, the key, and what is allowed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import loader
from gpuexplorer.workloads.loader import (
    load,
    load_one,
    pick,
    read_folder,
    shipped_folder,
    workload_folders,
)
from gpuexplorer.workloads.python_function import files_named
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.support.kernels import (
    ARTICLE_KERNEL,
    MATMUL_MANIFEST,
    RIGHT_BODY,
    write_article,
    write_folder,
    write_vector,
)
from tests.support.problems import made, plan_of

FREIVALDS = 'outputs = { B = "A @ A" }\ncheck = "freivalds"'

SPACED = """
[variants.'on ly']
title = "T"
teaches = "T"
library = "numpy.copy"
args = ["A", "B"]
"""


def tuned(text: str) -> tuple[str, str]:
    """Return the change that gives the variant an entry of what was tuned."""
    entry = f'[[variants.only.tuned]]\nmeasured = "here"\n{text}\n'
    return "[[variants.only.launch]]", entry + "[[variants.only.launch]]"


@pytest.mark.parametrize(
    ("change", "key", "remedy"),
    [
        (('title = "Made"', 'titel = "Made"'), "'titel'", "did you mean 'title'?"),
        (("max = 67108864", "max = 67108864\nsteps = 3"), "'sizes.N.steps'", "allowed: title, min"),
        (("max = 67108864\n", ""), "'sizes.N.max' is missing", "a whole number"),
        (("max = 67108864", 'max = "many"'), "'sizes.N.max' is 'many'", "a whole number"),
        (("max = 67108864", f"max = 1{'0' * 30}"), "'sizes.N.max' is too large", "64 bits"),
        (("tolerance = 1e-6", "tolerance = nan"), "'precisions.fp32.tolerance'", ""),
        (("tolerance = 1e-6", "tolerance = inf"), "'precisions.fp32.tolerance'", ""),
        (("block = [64]", "block = [0]"), "launch[0].block' holds 0", "1 or more"),
        (("default = 100", "default = 0"), "'sizes.N' needs 1 <= min", ""),
        (("fp64 =", "fp65 ="), "'precisions' names 'fp65'", "did you mean 'fp64'?"),
        (("tolerance = 1e-6", "tolerance = 0"), "'precisions.fp32.tolerance'", ""),
        (('role = "out"', 'role = "output"'), "'arrays.B.role'", "'in', 'out', 'inout', 'scratch'"),
        (('A = { shape = ["N"]', "A = { shape = []"), "'arrays.A.shape' is empty", "[1]"),
        (
            ('A = { shape = ["N"]', f'A = {{ shape = [{"1, " * 70}"N"]'),
            "'arrays.A.shape' has 71 axes",
            "use 32 at most",
        ),
        (
            ("default = 100", f"default = {'9' * 5000}"),
            "a number has thousands of digits",
            "64 bits",
        ),
        (('name = "made"', f'name = "{"n" * 101}"'), "'name' holds 'nnn", "up to 100"),
        (
            ("[arrays]", f"{'.'.join('a' * 200_000)} = 1\n[arrays]"),
            "a key has more than 32 parts",
            "six at most",
        ),
        (
            ("[arrays]", f"[{' . '.join('a' * 200_000)}]\n[arrays]"),
            "a key has more than 32 parts",
            "",
        ),
        (
            ("[arrays]", f"x = {{b = 1, {'.'.join('a' * 200_000)} = 1}}\n[arrays]"),
            "a key has more than 32 parts",
            "",
        ),
        (('A = { shape = ["N"]', 'A = { shape = ["M"]'), "'arrays.A.shape'", "'M'"),
        (("[arrays]", "[scalars]\nA = { value = 1 }\n[arrays]"), "'scalars.A' is not a free", ""),
        (("[sizes.N]", "[sizes.itemsize]"), "'sizes.itemsize' is not a free name", ""),
        (('flops = "N"', 'flops = "N +"'), "'work.flops'", ""),
        (('flops = "N"', 'flops = "__import__(N)"'), "'work.flops'", ""),
        (tuned("on = []"), "'variants.only.tuned[0].on' is empty", "which devices"),
        (tuned('on = ["sm_90"]\nblock = [8, 8]'), "tuned[0].block' needs as many", ""),
        (tuned('on = ["sm_90"]\ntunables = { TILE = 8 }'), "tuned[0].tunables'", "'TILE'"),
        (tuned('on = ["sm_90"]\nwhere = "M > 9"'), "tuned[0].where'", "'M'"),
        (tuned('on = ["sm_90"]\nprecisions = ["fp8"]'), "tuned[0].precisions'", "fp64"),
        (('B = "2 * A"', 'B = "2 * B"'), "'reference.outputs.B'", "'B'"),
        (('B = "2 * A"', 'A = "2 * A"'), "'reference.outputs.A'", ""),
        (('outputs = { B = "2 * A" }', FREIVALDS), "'reference.outputs.B'", "check = 'rows'"),
        (('{ B = "2 * A" }', '{ B = "2 * A" }\ncheck = "rows"'), "'reference'", "arrays cut"),
        (('{ B = "2 * A" }', '{ B = "2 * A" }\nrow_arrays = ["C"]'), "'reference.row_arrays'", ""),
        (("[variants.only]", f"{SPACED}[variants.only]"), "'variants' holds 'on ly'", "letters"),
        (('name = "made"', 'name = "../made"'), "'name' holds '../made'", "letters"),
        (('source = "made.cu"', 'source = "mode.cu"'), "launch[0].source'", "'made.cu'?"),
        (("block = [64]", "block = []"), "launch[0].block'", ""),
        (('args = ["A", "B", "N"]', 'args = ["A", "X"]'), "launch[0].args' names 'X'", "allowed"),
        (
            ("[[variants.only.launch]]", 'library = "numpy.ad"\n[[variants.only.launch]]'),
            "either",
            "",
        ),
        (
            ("[[variants.only.launch]]", 'reset = ["N"]\n[[variants.only.launch]]'),
            "'variants.only.reset' names 'N'",
            "allowed: A, B",
        ),
        (
            ("[[variants.only.launch]]", "[variants.only.tunables.T]\n[[variants.only.launch]]"),
            "'variants.only.tunables.T' needs 'values'",
            "",
        ),
        (
            (
                "[[variants.only.launch]]",
                'work = { flops = "Z", read_bytes = 1, write_bytes = 1 }\n[[variants.only.launch]]',
            ),
            "'variants.only.work.flops'",
            "'Z'",
        ),
        (
            (
                "[[variants.only.launch]]",
                'reference = { outputs = { B = "Z" } }\n[[variants.only.launch]]',
            ),
            "'variants.only.reference.outputs.B'",
            "'Z'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_key(
    change: tuple[str, str], key: str, remedy: str
) -> None:
    with pytest.raises(InputError) as caught:
        made(change)
    assert str(caught.value).startswith("made.toml: ")
    assert key in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize(
    ("library", "args", "said"),
    [
        ("numpy.ad", '["A", "A", "B"]', "did you mean 'numpy.add'?"),
        ("os.system", '["A", "B"]', "no library call 'os.system'"),
        ("numpy.add", '["A", "B"]', "takes (array, array, array)"),
        ("numpy.add", '["A", "A", "N", "B"]', "not (array, array, scalar, array)"),
        ("torch.add", '["A", "N", "B"]', "(array, array, scalar, array)"),
    ],
)
def test_a_library_call_is_one_of_the_table(library: str, args: str, said: str) -> None:
    text = f'[variants.call]\ntitle = "C"\nteaches = "C"\nlibrary = "{library}"\nargs = {args}\n'
    with pytest.raises(InputError) as caught:
        made(("[variants.only]", f"{text}\n[variants.only]"))
    assert "'variants.call.library'" in str(caught.value)
    assert said in str(caught.value)


def test_toml_that_cannot_be_read_names_file_and_line() -> None:
    with pytest.raises(InputError, match=r"made.toml: not valid TOML.*line 2"):
        Workload(WorkloadSource(manifest="format = 1\nname = \n", origin="made.toml"))


def test_a_variant_may_have_its_own_work_and_reference() -> None:
    work = "work = { flops = 7, read_bytes = 1, write_bytes = 1 }"
    reference = 'reference = { outputs = { B = "A" } }'
    launch = "[[variants.only.launch]]"
    workload = made((launch, f"{work}\n{reference}\n{launch}"))
    assert workload.work_of("only").flops == 7
    assert workload.reference_of("only").outputs == {"B": "A"}
    assert made().work_of("only").flops == "N"


def test_the_fingerprint_follows_manifest_and_sources() -> None:
    workload = made()
    changed = WorkloadSource(manifest=workload.source.manifest, files={"made.cu": "other"})
    assert workload.sha256 == made().sha256
    assert workload.sha256 != changed.sha256
    assert workload.sha256 != made(("default = 100", "default = 99")).sha256


def test_a_users_folder_is_found_alone_or_among_others(tmp_path: Path) -> None:
    folder = write_article(tmp_path)
    assert workload_folders(folder) == workload_folders(tmp_path) == [folder]
    workloads = load([tmp_path])
    assert {"article", "matmul"} <= set(workloads)
    assert pick(workloads, "article").variant("article").launch[0].entry == "matrixMul"
    with pytest.raises(InputError, match="did you mean 'matmul'"):
        pick(workloads, "matmull")


class Told:
    """What was told of workloads that have another one's name."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Workload, Workload]] = []

    def __call__(self, other: Workload, winner: Workload) -> None:
        self.pairs.append((other, winner))


def test_one_workload_is_what_all_have_by_its_name(tmp_path: Path) -> None:
    """Shipped, of one's own, of one's own with a shipped one's name; and none of that name."""
    mine = [write_vector(tmp_path / part, RIGHT_BODY, name="scan") for part in ("a", "b")]
    write_article(tmp_path / "c")
    for roots in ([], [*mine, tmp_path / "c"], [shipped_folder()]):
        told = Told()
        workloads = load(roots, told)
        assert bool(told.pairs) == (len(roots) == 3)
        for name in workloads:
            again = Told()
            assert load_one(name, iter(roots), again) is workloads[name]
            assert again.pairs == told.pairs
        with pytest.raises(InputError) as one:
            load_one("matmull", roots)
        with pytest.raises(InputError) as of_all:
            pick(workloads, "matmull")
        assert str(one.value) == str(of_all.value)


def test_no_other_shipped_workload_is_read_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, name in (("scan", "scan"), ("stream", "stream"), ("zeta", "scan")):
        shutil.copytree(shipped_folder() / name, tmp_path / folder)
    (tmp_path / "stream" / "workload.toml").write_text("no manifest")
    monkeypatch.setattr(loader, "shipped_folder", lambda: tmp_path)
    assert loader.load_one("scan").name == "scan"
    for other in ("stream", "zeta", "..", "scan/", ""):  # wrong, of another name, and none
        with pytest.raises(InputError, match=r"stream.workload.toml: not valid TOML"):
            loader.load_one(other)


def test_a_folder_is_parsed_again_once_it_has_changed(tmp_path: Path) -> None:
    kernel = write_vector(tmp_path, RIGHT_BODY, name="mine") / "kernel.cu"
    before = load([tmp_path])["mine"]
    assert load([tmp_path])["mine"] is before
    kernel.write_text(kernel.read_text() + "// more\n")
    after = load([tmp_path])["mine"]
    assert after.source.files["kernel.cu"].endswith("// more\n")
    assert after.sha256 != before.sha256


@pytest.mark.parametrize("key", ["python", '"p\\u0079thon"'])
def test_the_python_files_of_a_manifest_are_found_however_the_key_is_written(key: str) -> None:
    assert files_named(f'reference = {{ {key} = "check.py:product" }}') == ["check.py"]


def test_a_folder_without_workloads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no workload\.toml here"):
        workload_folders(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        workload_folders(tmp_path / "missing")


def test_a_source_that_is_not_text_is_refused(tmp_path: Path) -> None:
    folder = write_article(tmp_path)
    (folder / "kernel.cu").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_folder(folder)


def test_two_folders_of_one_root_cannot_share_a_name(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_folder(tmp_path / name, MATMUL_MANIFEST.format(name="same"), ARTICLE_KERNEL)
    with pytest.raises(InputError, match=r"b.workload.toml: 'same' is also the name in .*a.work"):
        load([tmp_path])
    assert "same" in load([tmp_path / "a", tmp_path / "b"])  # the later root wins


def test_a_manifest_that_is_nested_too_deeply_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="nested too deeply"):
        made(manifest="a = " + "[" * 5000)


def test_an_array_that_no_memory_holds_is_refused() -> None:
    workload = made(('A = { shape = ["N"]', 'A = { shape = ["N", "N", "N"]'))
    with pytest.raises(InputError, match="more elements than any memory can hold"):
        plan_of(workload, size={"N": 67108864})
