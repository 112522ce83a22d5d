"""What may go wrong at first contact with a GPU, in under two minutes. Run it before the tests.

    python tests/gpu/riskiest.py [--json out/riskiest.json] [--only NAME ...] [--list]

Prints a line a fact and a line a check, and writes one JSON document. Each check has bounds and a
time limit, and those of a group run in a process of their own: after a failure a fresh one takes
the rest, so that neither a kernel that hangs nor a context that is lost spoils what follows. Exit
code 0: all passed; 1: something failed, and the line names the files to look into; 3: no GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # wherever this was started

from tests.gpu.first_minutes.check import Check, Fact, LeftOut, NoGpu, words
from tests.gpu.first_minutes.here import Here
from tests.gpu.first_minutes.plan import CHECKS, by_group
from tests.gpu.machine import ROOT, environment, speak_plainly, system
from tests.gpu.supervise import POLL_S, Child, Tail

SCHEMA = "gpuexplorer/riskiest/1"
ALL_S = 180.0
"""More than it takes: slow disks and hanging checks are allowed for."""
START_S = 30.0
"""A process has so long until its first check begins, imports included."""
OK, FAILED, LEFT_OUT, NOT_RUN, NO_GPU = "ok", "failed", "left out", "not run", "no GPU"
SAID_LINES = 15


# ---- in a process of its own


def run_checks(checks: list[Check], here: Here, reports: TextIO) -> None:
    """Run checks until one fails, and report each as lines of JSON."""

    def report(check: Check, event: str, **content: Any) -> None:
        content |= {"check": check.name, "event": event}
        print(json.dumps(content), file=reports, flush=True)

    for check in checks:
        report(check, "begin")
        began, state, error, detail = time.perf_counter(), OK, "", ""

        def note(key: str, value: Fact, check: Check = check) -> None:
            told = value if not isinstance(value, float) or math.isfinite(value) else str(value)
            report(check, "fact", key=key, value=told)

        try:
            check.run(here, note)
        except LeftOut as reason:
            state, error = LEFT_OUT, str(reason)
        except NoGpu as reason:
            state, error = NO_GPU, str(reason)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is this check's
            state, error = FAILED, _first_line(problem)
            detail = traceback.format_exc().replace(f"{ROOT}{os.sep}", "")
        seconds = time.perf_counter() - began
        report(check, "end", state=state, seconds=seconds, error=error, detail=detail)
        if state in (FAILED, NO_GPU):
            return


def _first_line(problem: Exception) -> str:
    lines = str(problem).strip().splitlines() or ["no reason given"]
    known = type(problem).__module__.startswith(("tests.", "gpuexplorer."))
    return lines[0] if known else f"{type(problem).__name__}: {lines[0]}"


def child(names: list[str], reports: Path) -> int:
    """Run the named checks, the first of which may find that there is no GPU."""
    here = Here()
    with reports.open("w", encoding="utf-8") as file:
        run_checks([check for check in CHECKS if check.name in names], here, file)
    with suppress(
        Exception
    ):  # a check of its own closes the device; after a failure it may be lost
        here.close()
    return 0


# ---- around those processes


def blank(check: Check) -> dict[str, Any]:
    """Return a check's record before it has run."""
    return {
        "name": check.name, "state": NOT_RUN, "seconds": None, "facts": {}, "error": "",
        "detail": "", "look_into": [],
    }  # fmt: skip


class Watch:
    """Runs one group's checks in processes that it ends when a check outlasts its limit."""

    def __init__(self, checks: list[Check], folder: Path, until: float) -> None:
        self.todo = list(checks)
        self.records = {check.name: blank(check) for check in checks}
        self._checks = {check.name: check for check in checks}
        self._folder, self._until = folder, until
        self._current: Check | None = None
        self._ended = 0
        """Checks that ended in the process of the moment."""
        self._since = 0.0

    def run(self) -> list[dict[str, Any]]:
        """Return a record of each check."""
        while self.todo and time.monotonic() < self._until:
            self._one_process()
        for check in self.todo:
            self._end(check, NOT_RUN, f"the {ALL_S:.0f} s for all checks were over")
        return list(self.records.values())

    def command(self, reports: Path) -> list[str]:
        """Return what runs the checks that are left in a process of its own."""
        names = [check.name for check in self.todo]
        return [sys.executable, str(Path(__file__).resolve()), "--child", str(reports), *names]

    def _one_process(self) -> None:
        reports, log = self._folder / "reports.jsonl", self._folder / "log.txt"
        reports.unlink(missing_ok=True)
        self._current, self._ended, self._since = None, 0, time.monotonic()
        process = Child(self.command(reports), log, cwd=ROOT, environment=environment(self._folder))
        tail, rest, code = Tail(reports), "", None
        try:
            while code is None and not self._overdue():
                code = process.wait(POLL_S)
                *lines, rest = (rest + tail.new()).split("\n")
                for line in lines:
                    self._take(json.loads(line))
        finally:
            if code is None:
                process.end()
        self._blame(code, log)

    def _take(self, event: dict[str, Any]) -> None:
        check = self._checks[event["check"]]
        if event["event"] == "begin":
            self._current, self._since = check, time.monotonic()
        elif event["event"] == "fact":
            self.records[check.name]["facts"][event["key"]] = event["value"]
            print(f"{check.name}: {words(event['key'], event['value'])}", flush=True)
        else:
            self._end(check, event["state"], event["error"], event["detail"], event["seconds"])
            self._current, self._since = None, time.monotonic()
            self._ended += 1

    def _limit_s(self) -> float:
        return START_S if self._current is None else self._current.limit_s

    def _overdue(self) -> bool:
        now = time.monotonic()
        return now > self._until or now - self._since > self._limit_s()

    def _blame(self, code: int | None, log: Path) -> None:
        """Charge the check that was running with how its process ended.

        Without one it is the first, which the process never came to; between two checks nobody is.
        """
        if self._current is None and (self._ended or not self.todo):
            return
        check = self._current or self.todo[0]
        seconds = time.monotonic() - self._since
        where = "" if self._current is not None else "before it began, "
        if code is not None:
            error = f"{where}its process ended with code {code}"
        elif time.monotonic() > self._until:
            error = f"{where}the {ALL_S:.0f} s for all checks were over"
        else:
            error = f"{where}it did not end within {self._limit_s():.0f} s"
        said = Tail(log).new().strip().splitlines()
        if said:
            error += f": {said[-1]}"
        self._end(check, FAILED, error, "\n".join(said[-SAID_LINES:]), seconds)

    def _end(
        self, check: Check, state: str, error: str, detail: str = "", seconds: float | None = None
    ) -> None:
        look_into = list(check.look_into) if state == FAILED else []
        self.records[check.name] |= {
            "state": state, "error": error, "detail": detail, "seconds": seconds,
            "look_into": look_into,
        }  # fmt: skip
        if check in self.todo:
            self.todo.remove(check)
        if state == NO_GPU:
            self.todo.clear()
            return
        print(verdict(self.records[check.name]), flush=True)


def verdict(record: dict[str, Any]) -> str:
    """Return the line that says how a check ended."""
    took = "" if record["seconds"] is None else f" ({record['seconds']:.1f} s)"
    line = f"{'FAIL' if record['state'] == FAILED else record['state']:<8} {record['name']}{took}"
    if record["error"]:
        line += f": {record['error']}"
    if record["look_into"]:
        line += f"; look into {', '.join(record['look_into'])}"
    return line


def document(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return everything that was found as one document."""
    facts = {record["name"]: record["facts"] for record in records}
    driver, versions = facts.get("driver", {}), facts.get("versions", {})
    return {
        "schema": SCHEMA,
        "date_utc": datetime.now(UTC).isoformat(timespec="seconds"),
        "device": driver.get("GPU"),
        "uuid": driver.get("UUID"),
        "compute_capability": driver.get("compute capability"),
        "driver": versions.get("driver"),
        "cuda": driver.get("CUDA of the driver"),
        "versions": system(),
        "passed": all(record["state"] in (OK, LEFT_OUT) for record in records),
        "checks": records,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run every check, or some."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, default=ROOT / "out" / "riskiest.json")
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[c.name for c in CHECKS])
    parser.add_argument("--list", action="store_true", help="name the checks and run none")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    speak_plainly()
    if options.child:
        return child(options.child[1:], Path(options.child[0]))
    if options.list:
        for check in CHECKS:
            print(f"{check.name}: {check.run.__doc__}")
        return 0
    until, records = time.monotonic() + ALL_S, list[dict[str, Any]]()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for checks in by_group().values():
            wanted = [
                c for c in checks if not options.only or c.name in options.only or c == CHECKS[0]
            ]
            if not wanted:
                continue
            records += Watch(wanted, Path(folder), until).run()
            if records[0]["state"] == NO_GPU:
                print(f"nothing can be checked here: {records[0]['error']}")
                return 3
    failed = [record["name"] for record in records if record["state"] in (FAILED, NOT_RUN)]
    options.json.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(records), indent=1, ensure_ascii=False)
    options.json.write_text(text, encoding="utf-8")
    left_out = sum(record["state"] == LEFT_OUT for record in records)
    passed = len(records) - len(failed) - left_out
    names = f": {', '.join(failed)}" if failed else ""
    print(f"{passed} passed, {left_out} left out, {len(failed)} failed{names}")
    print(f"written: {options.json}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
