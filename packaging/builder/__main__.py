"""``python -m builder [TARGET ...]``: build what this system can, and say what it cannot."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from builder.errors import BuildError, CannotBuildHere
from builder.targets import Context, Target, make_context, ordered, registry

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Build; return 0, 1 when a build failed, 3 when what was asked for cannot be built here."""
    parser = argparse.ArgumentParser(prog="builder", description="Build GPU Explorer's packages.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to build; default: all")
    parser.add_argument("--list", action="store_true", help="say what can be built here, and stop")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    parser.add_argument("--work", type=Path, help="for what stands between; default: ROOT/build")
    parser.add_argument("--out", type=Path, help="for the packages; default: ROOT/dist")
    options = parser.parse_args(arguments)
    try:
        targets = registry()
        if options.list:
            print("\n".join(listing(targets)))
            return 0
        context = make_context(options.root.resolve(), _whole(options.work), _whole(options.out))
        return build(context, options.targets, targets)
    except BuildError as error:
        print(f"builder: {error}", file=sys.stderr)
        return error.exit_code


def _whole(path: Path | None) -> Path | None:
    return None if path is None else path.resolve()


def listing(targets: Mapping[str, Target]) -> list[str]:
    """Return a line for each target: whether this system can build it, and what is missing."""
    lines = []
    for target in targets.values():
        problems = "; ".join(problems_of(target, targets))
        lines.append(f"{target.name:12} {target.title}: {problems or 'can be built here'}")
    return lines


def problems_of(target: Target, targets: Mapping[str, Target]) -> list[str]:
    """Return what this system lacks for a target and for those it comes after, each once."""
    chain = ordered([target.name], targets)
    return list(dict.fromkeys(said for member in chain for said in member.problems()))


def build(context: Context, asked: Sequence[str], targets: Mapping[str, Target]) -> int:
    """Build what was asked for, or everything that can be built; return the exit status."""
    chain = ordered(asked or list(targets), targets)
    impossible = {t.name: p for t in chain if (p := problems_of(t, targets))}
    refused = [name for name in asked if name in impossible]
    if refused:
        said = "; ".join(f"{name}: {', '.join(impossible[name])}" for name in refused)
        raise CannotBuildHere(f"this system cannot build {said}")
    for target in chain:
        if target.name in impossible:
            continue
        print(f"builder: {target.name}: {target.title}", flush=True)
        began = time.monotonic()
        files = target.build(context)
        print(f"builder: {target.name}: done in {time.monotonic() - began:.0f} s", flush=True)
        for path in files:
            print(f"  {path}  {size_words(path)}", flush=True)
    for name, problems in impossible.items():
        print(f"builder: not built here: {name}: {', '.join(problems)}", flush=True)
    return 0


def size_words(path: Path) -> str:
    """Return the size of a file, or of all files in a folder, in MB."""
    files = [path] if path.is_file() else [p for p in path.rglob("*") if not p.is_symlink()]
    return f"{sum(p.stat().st_size for p in files if p.is_file()) / 1e6:.1f} MB"


if __name__ == "__main__":
    sys.exit(main())
