"""A sweep of 1,000 configurations, killed ten times at random moments and gone on with.

    python tests/bench/sweep_kill.py [--configurations N] [--kills N] [--seed S]

Prints one JSON document: every configuration has to be in the store exactly once, and none may have
been measured again once it was stored. A second measurement would be a second run in the store,
since every run has an id of its own; what a killed program was measuring is not in it at all.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.sweep_kill import sweep_with_kills


def main() -> int:
    """Run, kill, resume; 0 when every configuration is stored exactly once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--configurations", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = sweep_with_kills(
            Path(folder), options.configurations, options.kills, random.Random(options.seed)
        )
    print(json.dumps(found, indent=2))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
