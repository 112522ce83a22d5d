"""Many faults, one after the other: ``python -m tests.chaos --seed 1 --faults 200``.

Prints one JSON document; exits with 1 when anything was wrong, with the command for each failure
that does it again.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time

from tests.chaos.driver import drive
from tests.chaos.subjects import SUBJECTS


def main() -> int:
    """Run what is asked for and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=200, help="of each subject")
    parser.add_argument("--only", action="append", choices=list(SUBJECTS), default=[])
    parser.add_argument("--fault", action="append", default=[], help="only faults of this name")
    parser.add_argument("--first", type=int, default=0, help="the number to begin with")
    parser.add_argument("--minutes", type=float, help="at most so long for each subject")
    parser.add_argument("--slow", action="store_true", help="also what takes ten seconds to notice")
    parser.add_argument("--monkey", action="store_true", help="random input in the window instead")
    options = parser.parse_args()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what it leaves behind
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if options.monkey:
        return let_loose(options.seed, options.minutes or 60.0)
    began, parts, ok = time.monotonic(), {}, True
    for only in options.only or SUBJECTS:
        report = drive(
            only,
            SUBJECTS[only],
            seed=options.seed,
            faults=options.faults,
            minutes=options.minutes,
            first=options.first,
            slow=options.slow,
            names=tuple(options.fault),
        )
        parts[only] = report.document()
        ok = ok and not report.failures
    print(json.dumps({
        "seed": options.seed, "subjects": parts, "took_s": round(time.monotonic() - began, 1),
        "ok": ok,
    }, indent=2))  # fmt: skip
    return 0 if ok else 1


def let_loose(seed: int, minutes: float) -> int:
    """Let a monkey loose at the window and print what came of it."""
    from tests.chaos.display import Display
    from tests.chaos.monkey import watch

    display = Display()
    try:
        document = watch(seed, minutes, display.name)
    finally:
        display.end()
    print(json.dumps(document, indent=2))
    return 0 if document["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
