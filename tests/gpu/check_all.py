"""Every check that needs an NVIDIA GPU, in one call, on any system.

    python tests/gpu/check_all.py [--out out] [--only NAME ...] [--minutes 25] [--list]

Each check is a program with a time limit, past which it is ended with all that it has started.
Failures do not stop the others. Ends with a summary, and writes ``check_all.json`` beside what the
checks write themselves. Exit code 0: all passed; 1: something failed or was not reached in time;
3: no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # wherever this was started

from tests.gpu import figures
from tests.gpu.machine import ROOT, environment, lacks, speak_plainly, system
from tests.gpu.plan import CHECKS, RISKIEST, WHICH_GPU, Check
from tests.gpu.supervise import run

SCHEMA = "gpuexplorer/check-all/1"
MINUTES = 25.0
OK, FAILED, LEFT_OUT, NOT_RUN = "ok", "failed", "left out", "not run"
EXIT_NO_GPU = 3
WHOSE = ("device", "uuid", "compute_capability", "driver", "cuda")
SAID_LINES = 20


def run_check(check: Check, out: Path, folder: Path, left_s: float) -> dict[str, Any]:
    """Run a check and return its record."""
    log = out / "logs" / f"{_file_name(check.name)}.txt"
    record: dict[str, Any] = {
        "name": check.name, "state": NOT_RUN, "seconds": None, "exit_code": None, "error": "",
        "command": check.command("python", Path("out")), "log": None, "said": "",
    }  # fmt: skip
    lacking = lacks(check.needs) if check.needs else ""
    if lacking:
        return record | {"state": LEFT_OUT, "error": lacking}
    if left_s <= 0:
        return record | {"error": "the time for all checks was over"}
    print(f"\n=== {check.name} (at most {min(check.limit_s, left_s):.0f} s)", flush=True)
    ended = run(
        check.command(sys.executable, out), log, limit_s=min(check.limit_s, left_s), cwd=ROOT,
        environment=environment(folder),
        follow=lambda text: print(text, end="", flush=True),
    )  # fmt: skip
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    record |= {"seconds": ended.seconds, "exit_code": ended.code, "log": str(log.relative_to(out))}
    if ended.code == 0:
        return record | {"state": OK}
    error = f"exit code {ended.code}" if ended.in_time else f"ended after {ended.seconds:.0f} s"
    return record | {"state": FAILED, "error": error, "said": "\n".join(lines[-SAID_LINES:])}


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)


def line(record: dict[str, Any]) -> str:
    """Return the summary's line of a check."""
    word = {OK: "ok", FAILED: "FAIL"}.get(record["state"], record["state"])
    took = "" if record["seconds"] is None else f" ({record['seconds']:.0f} s)"
    why = f": {record['error']}" if record["error"] else ""
    return f"{word:<8}  {record['name']}{took}{why}"


def document(
    first: dict[str, Any], records: list[dict[str, Any]], runs: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return everything as one document: what was found first, each check, and the figures."""
    return {
        "schema": SCHEMA,
        "date_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        **{key: first.get(key) for key in WHOSE},
        "versions": system(),
        "passed": all(record["state"] in (OK, LEFT_OUT) for record in records),
        "checks": records,
        "first": first,
        "runs": runs,
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def check_all(checks: Sequence[Check], out: Path, minutes: float) -> int:
    """Run checks one after another and return the exit code.

    The first of them says whether there is a GPU, and its last argument names its document.
    """
    until, records = time.monotonic() + 60 * minutes, list[dict[str, Any]]()
    (out / "logs").mkdir(parents=True, exist_ok=True)
    for check in checks:  # what an earlier call left is no result of this one
        for argument in check.command("", out):
            if Path(argument).parent == out:
                Path(argument).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for check in checks:
            records.append(run_check(check, out, Path(folder), until - time.monotonic()))
            if check is checks[0] and records[-1]["exit_code"] == EXIT_NO_GPU:
                print(f"\nnothing can be checked here; see {records[-1]['log']}")
                return EXIT_NO_GPU
    runs = figures.read(Path(c.command("", out)[-1]) for c in checks if c.figure)
    print("\n=== figures")
    print("\n".join(map(figures.line, runs)))
    target = out / "check_all.json"
    first = _read(Path(checks[0].command("", out)[-1]))
    text = json.dumps(document(first, records, runs), indent=1, ensure_ascii=False)
    target.write_text(text, encoding="utf-8")
    failed = [record for record in records if record["state"] in (FAILED, NOT_RUN)]
    print("\n=== summary")
    print("\n".join(map(line, records)))
    print(f"{len(failed)} failed; written: {target}")
    return 1 if failed else 0


def main(arguments: list[str] | None = None) -> int:
    """Run every check, or some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="default: out/")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[c.name for c in CHECKS])
    parser.add_argument("--minutes", type=float, default=MINUTES,
                        help="for all checks together (default: 25)")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="name the checks and run none")
    options = parser.parse_args(arguments)
    speak_plainly()
    chosen = [check for check in CHECKS if not options.only or check.name in options.only]
    if RISKIEST not in chosen:
        chosen.insert(0, WHICH_GPU)
    if options.list:
        for check in chosen:
            print(f"{check.name}: {' '.join(check.command('python', options.out))}")
        return 0
    return check_all(chosen, options.out.resolve(), options.minutes)


if __name__ == "__main__":
    raise SystemExit(main())
