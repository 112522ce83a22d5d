"""The programs that check a card, where there is none: what they say, stop, blame and write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.cli.parser import parse
from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.workloads.loader import load
from tests.gpu import check_all, plan, riskiest
from tests.gpu.first_minutes.check import Check, Failed, LeftOut, Note, require
from tests.gpu.first_minutes.here import Here
from tests.gpu.first_minutes.plan import CHECKS, by_group
from tests.gpu.first_minutes.sources import KERNELS
from tests.gpu.machine import ROOT
from tests.gpu.test_gpu_kernels import cases
from tests.support.results import made_result

NO_DRIVER = """\
import ctypes
load = ctypes.CDLL
class CDLL(load):
    def __init__(self, name=None, *arguments, **options):
        if name in ("libcuda.so.1", "nvcuda.dll"):
            raise OSError("not here")
        super().__init__(name, *arguments, **options)
ctypes.CDLL = ctypes.WinDLL = CDLL
"""
"""A Python that starts with this finds no driver, whether or not there is one."""


def run_without_driver(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(NO_DRIVER)
    return subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        encoding="utf-8", check=False, env={**os.environ, "PYTHONPATH": str(tmp_path / "start")},
    )  # fmt: skip


def test_without_a_driver_one_sentence_says_so(tmp_path: Path) -> None:
    done = run_without_driver(
        tmp_path, str(ROOT / "tests/gpu/riskiest.py"), "--json", str(tmp_path / "facts.json")
    )
    assert done.returncode == 3, done.stderr
    assert done.stdout == "nothing can be checked here: no NVIDIA driver is installed\n"
    assert done.stderr == ""
    assert not (tmp_path / "facts.json").exists()


@pytest.mark.parametrize("only", [(), ("--only", "run copy", "selftest")])
def test_without_a_driver_nothing_else_is_tried(tmp_path: Path, only: tuple[str, ...]) -> None:
    done = run_without_driver(
        tmp_path, str(ROOT / "tests/gpu/check_all.py"), "--out", str(tmp_path / "out"), *only
    )
    assert done.returncode == 3, done.stderr
    assert "no NVIDIA driver is installed" in done.stdout
    assert done.stdout.count("===") == 1


# ---- the first minutes


def test_each_check_names_files_that_exist() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert check.look_into, check.name
        for path in check.look_into:
            assert (ROOT / path).is_file(), path
        assert check.run.__doc__, check.name
    assert CHECKS[0].name == "driver"
    assert [c for group in by_group().values() for c in group] == list(CHECKS)


@pytest.mark.parametrize(
    "arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]
)
@pytest.mark.parametrize(("name", "source", "entry", "precision"), KERNELS)
def test_every_kernel_of_the_checks_compiles(
    arch: str, name: str, source: str, entry: str, precision: str
) -> None:
    made = compile_kernels(name, {name: source}, arch, precision=precision, entries=(entry,))
    taken = made.kernels[entry].resources
    assert taken is not None and taken.frame_B == 0


def passes(here: Here, note: Note) -> None:
    note("time_s", 1.5e-6)
    note("words", "as they are")


def fails(here: Here, note: Note) -> None:
    note("time_s", float("nan"))
    require(False, "the time is wrong\nand more of it")


def breaks(here: Here, note: Note) -> None:
    raise ZeroDivisionError("by nothing")


def is_left_out(here: Here, note: Note) -> None:
    raise LeftOut("it is not installed")


def hangs(here: Here, note: Note) -> None:
    note("here", True)
    time.sleep(600)


def crashes(here: Here, note: Note) -> None:
    print("the driver fell over", file=sys.stderr, flush=True)
    os._exit(66)


def made(run: Any, limit_s: float = 60.0) -> Check:
    return Check(run.__name__, "made", run, ("gpuexplorer/backends/cuda/gate.py",), limit_s)


class Watched(riskiest.Watch):
    """Runs the checks above in processes of their own."""

    def command(self, reports: Path) -> list[str]:
        code = (
            "import sys\nfrom pathlib import Path\nimport tests.test_gpu_checks as t\n"
            "from tests.gpu.riskiest import run_checks\n"
            "with Path(sys.argv[1]).open('w') as file:\n"
            "    run_checks([t.made(getattr(t, n)) for n in sys.argv[2:]], t.Here(), file)\n"
        )
        return [sys.executable, "-c", code, str(reports), *(check.name for check in self.todo)]


def watch(folder: Path, *checks: Check, all_s: float = 120.0) -> dict[str, dict[str, Any]]:
    records = Watched(list(checks), folder, time.monotonic() + all_s).run()
    return {record["name"]: record for record in records}


def test_a_failure_is_told_with_the_file_to_look_into_and_the_rest_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = watch(tmp_path, made(fails), made(breaks), made(is_left_out), made(passes))
    assert [record["state"] for record in found.values()] == ["failed", "failed", "left out", "ok"]
    assert found["fails"]["error"] == "the time is wrong"
    assert found["fails"]["look_into"] == ["gpuexplorer/backends/cuda/gate.py"]
    assert "Traceback" in found["fails"]["detail"]
    assert str(ROOT) not in found["fails"]["detail"]  # it may be committed
    assert found["breaks"]["error"] == "ZeroDivisionError: by nothing"
    assert found["passes"]["facts"] == {"time_s": 1.5e-6, "words": "as they are"}
    assert found["passes"]["look_into"] == []
    lines = capsys.readouterr().out.splitlines()
    assert "passes: time = 1.50 µs" in lines
    (line,) = (line for line in lines if line.startswith("FAIL     fails "))
    assert line.endswith(": the time is wrong; look into gpuexplorer/backends/cuda/gate.py")


def test_a_check_that_hangs_is_ended_and_the_next_has_a_fresh_process(tmp_path: Path) -> None:
    began = time.monotonic()
    found = watch(tmp_path, made(passes), made(hangs, limit_s=1.0), made(is_left_out))
    assert time.monotonic() - began < 60
    assert found["hangs"]["state"] == "failed"
    assert found["hangs"]["error"] == "it did not end within 1 s"
    assert found["hangs"]["facts"] == {"here": True}
    assert (found["passes"]["state"], found["is_left_out"]["state"]) == ("ok", "left out")


def test_a_process_that_dies_is_told_with_its_last_words(tmp_path: Path) -> None:
    found = watch(tmp_path, made(crashes), made(passes))
    error = "its process ended with code 66: the driver fell over"
    assert (found["crashes"]["state"], found["crashes"]["error"]) == ("failed", error)
    assert found["passes"]["state"] == "ok"


def test_a_process_that_never_begins_is_blamed_on_its_first_check(tmp_path: Path) -> None:
    missing = Check("nobody", "made", passes, ("gpuexplorer/backends/cuda/gate.py",))
    found = watch(tmp_path, missing, made(passes))
    assert found["nobody"]["state"] == "failed"
    assert found["nobody"]["error"].startswith("before it began, its process ended with code 1")
    assert "has no attribute 'nobody'" in found["nobody"]["error"]
    assert found["passes"]["state"] == "ok"


def test_what_the_time_does_not_reach_is_not_run(tmp_path: Path) -> None:
    found = watch(tmp_path, made(passes), all_s=-1.0)
    assert found["passes"]["state"] == "not run"
    assert "were over" in found["passes"]["error"]


def test_the_document_holds_what_a_figure_depends_on() -> None:
    records = [riskiest.blank(check) for check in CHECKS]
    records[0] |= {
        "state": "ok",
        "facts": {"GPU": "NVIDIA H100", "UUID": "GPU-1", "compute capability": "9.0",
                  "CUDA of the driver": "13.0"},
    }  # fmt: skip
    records[1] |= {"state": "ok", "facts": {"driver": "580.65 (CUDA 13.0)"}}
    written = json.loads(json.dumps(riskiest.document(records)))
    assert written["schema"] == "gpuexplorer/riskiest/1"
    assert (written["device"], written["driver"]) == ("NVIDIA H100", "580.65 (CUDA 13.0)")
    assert (written["compute_capability"], written["cuda"]) == ("9.0", "13.0")
    assert written["date_utc"].startswith("20") and written["versions"]["numpy"]
    assert not written["passed"]  # the rest was not run
    for record in records:
        record["state"] = "ok"
    assert riskiest.document(records)["passed"]
    assert set(written["checks"][0]) == {
        "name", "state", "seconds", "facts", "error", "detail", "look_into"
    }  # fmt: skip


@pytest.mark.parametrize(("last", "code"), [(fails, 1), (is_left_out, 0)])
def test_the_exit_code_and_the_last_lines_say_whether_all_passed(
    last: Any, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    checks = [made(passes), made(last)]
    monkeypatch.setattr(riskiest, "CHECKS", checks)
    monkeypatch.setattr(riskiest, "by_group", lambda: {check.name: [check] for check in checks})
    monkeypatch.setattr(riskiest, "Watch", Watched)
    target = tmp_path / "deep" / "facts.json"
    assert riskiest.main(["--json", str(target)]) == code
    found = json.loads(target.read_text(encoding="utf-8"))
    assert found["passed"] == (code == 0)
    assert [record["name"] for record in found["checks"]] == ["passes", last.__name__]
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 passed, 0 left out, 1 failed: fails" if code else "1 passed, 1 left out, 0 failed",
        f"written: {target}",
    ]


# ---- everything


@pytest.mark.parametrize("check", [*plan.CHECKS, plan.WHICH_GPU], ids=lambda check: check.name)
def test_the_plan_names_files_and_commands_that_exist(check: plan.Check, tmp_path: Path) -> None:
    python, first, *rest = check.command(sys.executable, tmp_path)
    assert python == sys.executable
    if first == "-m" and rest[0] == "gpuexplorer":
        parse(rest[1:])
    elif first == "-m":
        assert rest[0] == "pytest"
        files = [word for word in rest if word.endswith(".py")]
        assert files and all((ROOT / path).is_file() for path in files)
    else:
        text = (ROOT / first).read_text(encoding="utf-8")
        for option in (word for word in rest if word.startswith("--")):
            assert f'"{option}"' in text, option


def test_the_plan_leaves_no_test_on_a_gpu_out() -> None:
    named = {word for check in plan.CHECKS for word in check.arguments if word.endswith(".py")}
    there = {f"tests/gpu/{path.name}" for path in (ROOT / "tests/gpu").glob("test_*.py")}
    assert there <= named
    assert len({check.name for check in plan.CHECKS}) == len(plan.CHECKS)
    written = [w for check in plan.CHECKS for w in check.arguments if w.startswith(plan.OUT)]
    assert len(written) == len(set(written))
    assert plan.CHECKS[0] is plan.RISKIEST


def program(name: str, code: str, **more: Any) -> plan.Check:
    return plan.Check(name, 60.0, ("-c", code), **more)


def test_a_failure_does_not_stop_the_others_and_the_summary_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hanging = plan.Check("hangs", 0.5, ("-c", "import time; time.sleep(600)"))
    checks = [
        program("fails", "print('7 µs'); raise SystemExit(1)"),
        hanging,
        program("is left out", "", needs="no_such_package"),
        program("is fine", "from pathlib import Path; Path(r'{out}/made.txt').write_text('1')"),
    ]
    assert check_all.check_all(checks, tmp_path, 1.0) == 1
    found = json.loads((tmp_path / "check_all.json").read_text(encoding="utf-8"))
    assert found["schema"] == "gpuexplorer/check-all/1" and not found["passed"]
    states = {record["name"]: record["state"] for record in found["checks"]}
    assert states == {
        "fails": "failed", "hangs": "failed", "is left out": "left out", "is fine": "ok"
    }  # fmt: skip
    failed = found["checks"][0]
    assert (failed["exit_code"], failed["said"]) == (1, "7 µs")
    assert str(tmp_path) not in json.dumps(found["checks"])  # it may be committed
    assert (tmp_path / failed["log"]).read_text(encoding="utf-8").strip() == "7 µs"
    assert (tmp_path / "made.txt").is_file()
    summary = capsys.readouterr().out.partition("=== summary\n")[2].splitlines()
    assert summary[0].startswith("FAIL      fails (0 s): exit code 1")
    assert summary[1].startswith("FAIL      hangs (") and "ended after" in summary[1]
    assert summary[2] == "left out  is left out: no_such_package is not installed"
    assert summary[-1].startswith("2 failed")


def test_the_document_of_everything_holds_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = msgspec.json.encode(made_result(median_s=2e-3, variant="tiled"))
    (tmp_path / "made.json").write_bytes(written)
    (tmp_path / "facts.json").write_text(json.dumps({"device": "NVIDIA H100", "driver": "580"}))
    copy = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"
    checks = [
        plan.Check(name, 60.0, ("-c", copy, str(tmp_path / source), f"{plan.OUT}/{to}"), figure=run)
        for name, source, to, run in (
            ("which GPU", "facts.json", "gpu.json", False),
            ("run tiled", "made.json", "run-tiled.json", True),
            ("run lost", "nothing.json", "run-lost.json", True),
        )
    ]
    out = tmp_path / "out"
    assert check_all.check_all(checks, out, 1.0) == 1
    found = json.loads((out / "check_all.json").read_text(encoding="utf-8"))
    assert (found["device"], found["driver"]) == ("NVIDIA H100", "580")
    (run,) = found["runs"]
    assert (run["variant"], run["samples"]) == ("tiled", 400)
    assert run["median_s"] == pytest.approx(2e-3, rel=0.02)
    shown = capsys.readouterr().out.partition("=== figures\n")[2].splitlines()[0]
    assert shown.startswith("matmul/tiled fp32 {'N': 512} | 2.0")


def test_what_does_not_fit_into_the_time_is_no_success(tmp_path: Path) -> None:
    assert check_all.check_all([program("late", "")], tmp_path, 0.0) == 1
    (record,) = json.loads((tmp_path / "check_all.json").read_text())["checks"]
    assert record["state"] == "not run"


def test_what_an_earlier_call_wrote_is_no_result(tmp_path: Path) -> None:
    (tmp_path / "facts.json").write_text("{}")
    check = plan.Check("writes nothing", 60.0, ("-c", "", "{out}/facts.json"))
    assert check_all.check_all([check], tmp_path, 1.0) == 0
    assert not (tmp_path / "facts.json").exists()


def test_errors_of_checks_are_one_sentence() -> None:
    with pytest.raises(Failed, match=r"^a pair is 30.0 µs, not between 0.00 s and 20.0 µs$"):
        from tests.gpu.first_minutes.check import within

        within("a pair", 30e-6, 0, 20e-6, "s")


def test_every_kernel_is_checked_at_sizes_that_its_manifest_allows() -> None:
    workloads = load()
    for name, _, _, size in cases():
        spec = next(iter(workloads[name].manifest.sizes.values()))
        assert spec.min <= size <= spec.max, f"{name} at {size}"
