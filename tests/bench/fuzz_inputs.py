"""Read thousands of spoiled inputs of each kind: ``python tests/bench/fuzz_inputs.py``.

Files are imported; manifests, sources, session files, documents and frames of the engine are read.
Each is taken whole or refused in one sentence, and a refused file leaves nothing in the store.
Prints one JSON document; exits with 1 when anything else happened. ``--count`` inputs of each kind
(7,000: more than 100,000 in all), ``--only NAME`` for one kind, ``--seed`` for other inputs.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.exchange import sample_files
from tests.support.fuzz import LONGEST_S, fuzz, fuzz_reader
from tests.support.readers import readers

COUNT = 7_000
MOST_MEMORY_B = 2 << 30


def main() -> int:
    """Fuzz every kind and print what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    results = {}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        files = sample_files(Path(folder))
        for name, (path, spoil) in files.items():
            if not options.only or name in options.only:
                results[name] = fuzz(name, path, spoil, options.count, options.seed)
                print(f"{name}: {results[name]['outcomes']}", file=sys.stderr)
    for name, (samples, spoil, read) in readers().items():
        if not options.only or name in options.only:
            results[name] = fuzz_reader(name, samples, spoil, read, options.count, options.seed)
            print(f"{name}: {results[name]['outcomes']}", file=sys.stderr)
    memory_B = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    ok = all(one["ok"] for one in results.values()) and memory_B <= MOST_MEMORY_B
    document = {
        "bench": "fuzz_inputs",
        "count": options.count,
        "inputs": sum(one["files"] for one in results.values()),
        "seed": options.seed,
        "limits": {"longest_s": LONGEST_S, "memory_B": MOST_MEMORY_B},
        "kinds": results,
        "memory_B": memory_B,
        "took_s": round(time.perf_counter() - began, 1),
        "ok": ok,
    }
    print(json.dumps(document, indent=2))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
