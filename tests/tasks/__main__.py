"""Five tasks of a user in the real window, with a picture before each step.

    python -m tests.tasks --out FOLDER [--theme light dark] [--task best_block ...]

Each begins with a fresh user, and is done by mouse and keyboard alone. Prints one JSON document of
actions and seconds, and ends with 1 when a task needed more actions than it may, or could not be
done. Needs Xvfb, xdotool and ImageMagick.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.chaos.display import Display
from tests.chaos.puppet import Gone, Hung, Puppet
from tests.tasks.hand import Hand, Missing

MEASURED_S = 240.0
"""How long a measurement of a task may take."""


@dataclass(frozen=True)
class Task:
    """What is to be done, by how many actions at most, and what had to be there before."""

    title: str
    most: int
    do: Callable[[Hand, Path], str]
    before: Callable[[Path, dict[str, str]], None] | None = None


def measured(hand: Hand) -> None:
    """Wait until the first measurement of the window is shown."""
    hand.until_words("Verified", limit_s=60)


def written(hand: Hand, folder: Path, ending: str) -> Path:
    """Agree to what the dialog of exports offers, and wait until the file was written."""
    hand.until_words("Writes ")
    hand.press("Return")
    hand.until_words("Saved ")
    (path,) = folder.glob(f"*{ending}")
    if path.stat().st_size < 1000:
        raise Missing(f"{path.name} is nearly empty")
    shutil.copy(path, hand.folder / path.name)
    return path


def best_block(hand: Hand, folder: Path) -> str:
    """The best block of tiled matmul, N = 512, with the picture exported."""
    measured(hand)
    hand.open_list("Variant")
    hand.click("Tiled", "row")
    hand.click("Block map", "tab")
    hand.click("Start", "button")
    words = hand.until_words("Best ", "best is", limit_s=MEASURED_S)
    hand.press("ctrl+e")
    written(hand, folder, ".png")
    return words


def block_shape(hand: Hand, folder: Path) -> str:
    """Why 1 × 256 is slower than 256 × 1."""
    measured(hand)
    hand.click("Why does the block's shape matter?", "button")
    return hand.until_words(") than 256×1", limit_s=MEASURED_S)


def half_precision(hand: Hand, folder: Path) -> str:
    """Whether fp16 is worth it for attention, in a sentence."""
    measured(hand)
    hand.click("Is half precision worth it?", "button")
    return hand.until_words("orth it: ", "orth it here: ", "cannot be told", limit_s=MEASURED_S)


def two_days(hand: Hand, folder: Path) -> str:
    """Today against yesterday, with a report written."""
    measured(hand)
    before, after = json.loads((folder.parent / "days.json").read_text(encoding="utf-8"))
    hand.click(before, "row")
    hand.click(after, "row", held="ctrl")
    hand.click("Compare stored", "button")
    words = hand.until_words("weaker")
    hand.press("ctrl+r")
    written(hand, folder, ".html")
    return words


def first_chart(hand: Hand, folder: Path) -> str:
    """From the first start to an exported chart."""
    measured(hand)
    hand.click("Export", "button")
    return written(hand, folder, ".png").name


def yesterday(home: Path, environment: dict[str, str]) -> None:
    """Store a run, really measured, under yesterday's date, and one of today."""
    program = [sys.executable, "-m", "gpuexplorer"]
    made = home / "run.json"
    shown = []
    for form, ago in (("%-d %b", timedelta(days=1)), ("%H:%M:%S", timedelta(0))):
        subprocess.run(
            [*program, "run", "matmul", "--size", "512", "--seconds", "2", "--json", str(made),
             "--no-history"],
            env=environment, check=True, capture_output=True, timeout=120,
        )  # fmt: skip
        document = json.loads(made.read_text(encoding="utf-8"))
        then = datetime.fromisoformat(document["time_utc"]) - ago
        document["time_utc"] = then.isoformat()
        shown.append(then.astimezone().strftime(form))
        made.write_text(json.dumps(document), encoding="utf-8")
        subprocess.run(
            [*program, "import", str(made)],
            env=environment, check=True, capture_output=True, timeout=60,
        )  # fmt: skip
    (home / "days.json").write_text(json.dumps(shown), encoding="utf-8")


TASKS = {
    "best_block": Task("the best block of tiled matmul, picture exported", 6, best_block),
    "block_shape": Task("why 1×256 is slower than 256×1", 6, block_shape),
    "half_precision": Task("whether fp16 is worth it for attention", 5, half_precision),
    "two_days": Task("today against yesterday, report written", 6, two_days, yesterday),
    "first_chart": Task("from the first start to an exported chart", 5, first_chart),
}


def carry_out(name: str, theme: str, size: str, out: Path) -> dict[str, Any]:
    """Do one task as a fresh user and return what it took."""
    task = TASKS[name]
    folder = out / f"{name}-{theme}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    display = Display(size)
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-tasks-") as temporary:
        home = Path(temporary)
        exports = home / "exports"
        exports.mkdir()
        environment = {
            **os.environ,
            "DISPLAY": display.name,
            "GPUEXPLORER_DATA_DIR": str(home / "data"),
            "GPUEXPLORER_CONFIG_DIR": str(home / "config"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        }
        (home / "config").mkdir()
        (home / "config" / "window.ini").write_text(
            f"[window]\ntheme={theme}\n\n[export]\nfolder={exports}\n", encoding="utf-8"
        )
        if task.before is not None:
            task.before(home, environment)
        puppet = Puppet("tests.tasks.eyes", home, environment, home / "said")
        hand = Hand(puppet, display.name, folder)
        found: dict[str, Any] = {"task": task.title, "theme": theme, "most": task.most}
        try:
            found["answer"] = task.do(hand, exports)
            hand.picture("end")
        except (Missing, Gone, Hung) as error:
            found["failed"] = f"{type(error).__name__}: {error}"
        finally:
            found["seconds"] = round(time.monotonic() - hand.began, 1)
            found["actions"] = hand.actions
            found["count"] = len(hand.actions)
            found["said"] = puppet.said()
            puppet.end(10.0)
            display.end()
    return found


def main() -> int:
    """Do the tasks and print what each took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder of the pictures")
    parser.add_argument("--theme", nargs="+", choices=("light", "dark"), default=["light", "dark"])
    parser.add_argument("--task", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--size", default="1280x800", help="of the screen in pixels")
    options = parser.parse_args()
    done = [
        carry_out(name, theme, options.size, options.out)
        for theme in options.theme
        for name in options.task
    ]
    print(json.dumps(done, indent=2, ensure_ascii=False))
    good = all("failed" not in one and one["count"] <= one["most"] for one in done)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
