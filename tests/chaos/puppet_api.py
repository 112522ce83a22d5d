"""A script that calls the public Python API as it is told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gpuexplorer
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from tests.chaos.puppet import Strings

SMALL: dict[str, Any] = {"device": "cpu"}


def _ids(runs: list[RunResult | None]) -> list[tuple[str, int]]:
    return [(run.id, len(run.samples_s)) for run in runs if run is not None]


def devices() -> list[tuple[str, int]]:
    """Look for devices."""
    gpuexplorer.devices()
    return []


def run() -> list[tuple[str, int]]:
    """Measure once; nothing is kept."""
    gpuexplorer.run("vector_add", size=1024, block=(64,), seconds=0.1, **SMALL)
    return []


def sweep(resume: bool = False) -> list[tuple[str, int]]:
    """Sweep into the history and return the runs that are kept."""
    document = gpuexplorer.sweep(
        "vector_add", {"size": [1024, 2048], "block.x": [32, 64]}, samples=3, history=True,
        resume=resume, **SMALL,
    )  # fmt: skip
    return _ids([one.run for one in document.runs])


def tune() -> list[tuple[str, int]]:
    """Tune into the history."""
    gpuexplorer.tune("vector_add", size=1024, evaluations=3, samples=3, history=True, **SMALL)
    return []


def compare() -> list[tuple[str, int]]:
    """Compare two blocks; nothing is kept."""
    gpuexplorer.compare(
        "direct:32", "direct:64", workload="vector_add", size=1024, rounds=2, **SMALL
    )
    return []


CALLS: dict[str, Callable[..., list[tuple[str, int]]]] = {
    "devices": devices, "run": run, "sweep": sweep, "tune": tune, "compare": compare,
}  # fmt: skip


def serve(strings: Strings) -> None:
    """Answer until nobody asks."""
    while (told := strings.read()) is not None:
        for one in told:
            strings.answer(**_called(one.pop("do"), one))


def _called(name: str, words: dict[str, Any]) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        try:
            runs = CALLS[name](**words)
        except KeyboardInterrupt:
            return {"interrupted": True}
        except ExplorerError as error:
            return {"error": type(error).__name__, "said": str(error), "warned": _said(heard)}
        except Exception as error:  # noqa: BLE001 - any other is a finding
            return {"broken": f"{type(error).__name__}: {error}"}
        return {"runs": runs, "warned": _said(heard)}


def _said(heard: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in heard]


def main() -> None:
    """Say that it is ready, and answer."""
    strings = Strings()
    strings.answer(ready=True)
    while True:
        try:
            return serve(strings)
        except KeyboardInterrupt:  # between two calls
            continue


if __name__ == "__main__":
    main()
