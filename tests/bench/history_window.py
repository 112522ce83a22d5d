"""The history in the window over a store of 100,000 runs: opening, filters, scrolling, and live.

    xvfb-run python tests/bench/history_window.py [--runs 100000] [--keep FILE] [--live 10]

Run in a real window, scrolled through once at rest and five times while it measures: how long the
longest event of a few seconds then waits for a core is chance. Opening is from the start of the
store's thread to the first page in the table, which is there before the store is open; a filter
from the question to its page in the table. Every event the GUI thread handles is timed. Prints one
JSON document; 1 when a limit is not held.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

OPEN_LIMIT_S = 0.3
FILTER_LIMIT_S = 0.1
LONGEST_LIMIT_S = 0.025
STEPS = 400
"""Places that are scrolled to."""
PAINT_S = 0.012
"""Between two steps of scrolling."""
TIMES = 5
PATIENCE_S = 30.0


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="use this file, filled when it is not there")
    parser.add_argument("--live", type=float, default=10.0, help="seconds of measuring meanwhile")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-bench-") as folder:
        os.environ["GPUEXPLORER_CONFIG_DIR"] = folder
        os.environ["GPUEXPLORER_DATA_DIR"] = folder
        path = options.keep or Path(folder) / "history.sqlite"
        if not path.exists():
            fill(path, options.runs)
        os.environ["GPUEXPLORER_HISTORY_URL"] = str(path)
        report = measure(options.live)
    print(json.dumps(report, indent=1))
    return 0 if report["held"] else 1


def fill(path: Path, runs: int) -> None:
    """Fill a store in another process, so that nothing of it is loaded in this one."""
    script = "import sys, history; history.fill(sys.argv[1], int(sys.argv[2]))"
    folder = str(Path(__file__).parent)
    subprocess.run([sys.executable, "-c", script, str(path), str(runs)], cwd=folder, check=True)


def measure(live_s: float) -> dict[str, object]:
    """Open the window on the store and return the figures."""
    from gui_probe import ProbeApplication, wait_until
    from PySide6.QtCore import QTimer

    from gpuexplorer.gui.app import create
    from gpuexplorer.gui.model.history_pages import View
    from gpuexplorer.history.model import Query

    application = ProbeApplication(["gpuexplorer"])
    _, window = create([])
    session, panel = window.session, window.panels.history
    session.live_at_start = False
    window.settings.calibrates_when_idle = False  # idle is to be idle
    model, table = session.history_model, panel.table
    window.resize(1920, 1080)
    window.panels.setSizes([500, 500])
    marks: dict[str, float] = {}

    def started() -> None:
        marks["started"] = time.perf_counter()
        application.begin()

    session.runs.started.connect(started)
    session.runs.opened.connect(lambda: marks.setdefault("opened", time.perf_counter()))
    model.settled.connect(lambda: marks.setdefault("settled", time.perf_counter()))

    if not wait_until(lambda: model.rowCount() > 0 and "settled" in marks, PATIENCE_S):
        raise AssertionError("the history did not open in time")
    opening = application.end()
    opened_s = marks["settled"] - marks["started"]
    wait_until(lambda: session.experiment.devices is not None, PATIENCE_S)
    _rest(1.0)

    def asked(query: Query, sort: str = "time", descending: bool = True) -> list[float]:
        times = []
        for _ in range(TIMES):
            model.show_view(View(Query(text="nothing like this")))
            wait_until(lambda: model.answered, PATIENCE_S)
            began = time.perf_counter()
            model.show_view(View(query, sort, descending))
            wait_until(lambda: model.answered, PATIENCE_S)
            table.viewport().repaint()
            times.append(time.perf_counter() - began)
        return times

    application.begin()
    filters = {
        "all": asked(Query()),
        "text": asked(Query(text="matmul 16x16 fp32")),
        "rare_text": asked(Query(text="odd driver")),
        "workload_and_tag": asked(Query(workload="matmul", tag="thesis")),
        "starred": asked(Query(starred=True)),
        "sort_by_median": asked(Query(), "median", False),
    }
    filtering = application.end()
    model.show_view(View())
    wait_until(lambda: model.answered and model.rowCount() > 0, PATIENCE_S)

    scrolling = {"idle": _scroll(application, table, model)}
    if live_s:
        session.experiment.set_size("N", 128)
        session.set_live(True)
        wait_until(lambda: _samples(session) > 20, PATIENCE_S)
        for turn in range(TIMES):
            scrolling[f"while_live_{turn + 1}"] = _scroll(application, table, model)
        application.begin()
        QTimer.singleShot(int(live_s * 1000), lambda: application.exit())  # leaves the window open
        application.exec()
        scrolling["live_at_rest"] = application.end()
        session.set_live(False)
    rows = model.rowCount()
    window.close()
    medians = {name: round(statistics.median(times), 4) for name, times in filters.items()}
    parts = {"opening": opening, "filtering": filtering, **scrolling}
    longest = {name: part["longest_undisturbed_s"] for name, part in parts.items()}
    live = [float(str(s or 0.0)) for name, s in longest.items() if name.startswith("while_live_")]
    held = (
        opened_s <= OPEN_LIMIT_S
        and max(medians.values()) <= FILTER_LIMIT_S
        and all(float(str(s or 0.0)) <= LONGEST_LIMIT_S for s in longest.values())
    )
    return {
        "bench": "history_window",
        "rows": rows,
        "open_s": round(opened_s, 4),
        "until_the_store_is_open_s": round(marks["opened"] - marks["started"], 4),
        "open_limit_s": OPEN_LIMIT_S,
        "filter_median_s": medians,
        "filter_longest_s": {name: round(max(times), 4) for name, times in filters.items()},
        "filter_limit_s": FILTER_LIMIT_S,
        "longest_undisturbed_s": longest,
        "longest_while_live_median_s": round(statistics.median(live), 5) if live else None,
        "longest_limit_s": LONGEST_LIMIT_S,
        "events": parts,
        "held": held,
    }


def _scroll(application: object, table: object, model: object) -> dict[str, object]:
    """Scroll through the whole table, in jumps and row by row, and return what it took."""
    from gui_probe import ProbeApplication, wait_until
    from PySide6.QtWidgets import QApplication, QTableView

    from gpuexplorer.gui.panels.history_model import HistoryModel

    assert isinstance(application, ProbeApplication)
    assert isinstance(table, QTableView) and isinstance(model, HistoryModel)
    bar = table.verticalScrollBar()
    last = bar.maximum()
    application.begin()
    shown: list[float] = []
    for step in range(STEPS):
        jump = step % 8 == 0
        bar.setValue(last * step // STEPS if jump else bar.value() + 3)
        began = time.perf_counter()
        if jump:
            first = max(0, table.rowAt(0))
            known: Callable[[], bool] = lambda first=first: model.row(first) is not None  # type: ignore[misc]  # noqa: E731
            wait_until(known, PATIENCE_S)
            shown.append(time.perf_counter() - began)
        limit = time.perf_counter() + PAINT_S
        while time.perf_counter() < limit:
            QApplication.processEvents()
    return {
        **application.end(),
        "jump_to_rows_median_s": round(statistics.median(shown), 4),
        "jump_to_rows_longest_s": round(max(shown), 4),
    }


def _rest(seconds: float) -> None:
    from gui_probe import wait_until

    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, seconds + 1)


def _samples(session: object) -> int:
    run = session.live_model.current  # type: ignore[attr-defined]
    return run.trace.total if run is not None else 0


if __name__ == "__main__":
    sys.exit(main())
