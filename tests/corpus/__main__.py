"""Print what each kernel of the corpus does on the CPU device: ``python -m tests.corpus``."""

from __future__ import annotations

from tests.corpus.on_the_cpu import RUNS, cases, outcome, subjects


def main() -> None:
    """Print a line for each kernel, and how many run."""
    found = {(s, c.kernel): outcome(s, c) for s in subjects() for c in cases(s)}
    for (subject, kernel), said in found.items():
        print(f"{subject:10} {kernel:28} {said}")
    print(f"{sum(said == RUNS for said in found.values())} of {len(found)} kernels run")


if __name__ == "__main__":
    main()
