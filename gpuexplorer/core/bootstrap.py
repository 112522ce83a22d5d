"""Run a module of this package in any Python: ``PYTHON bootstrap.py [--framed] MODULE [ARGUMENT]``.

Standard library alone, in the syntax of Python 3.8, so that an interpreter that cannot be an engine
answers with a sentence too. Of this program's environment only this package is lent: everything
else comes from the interpreter that runs this. What runs is therefore always the very version that
asks.

With ``--framed`` standard output carries the engine's frames. ``MARK`` with Python's version comes
first, which tells the parent that this is a Python; then the engine's ``PREAMBLE``, or the
same and a refusal.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # Python has put this file's folder first, whose names shadow others
    _folder = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [path for path in sys.path if not path or os.path.realpath(path) != _folder]

OLDEST_PYTHON = (3, 11)
REQUIRED = {
    "msgspec": "0.19",
    "numpy": "2.0",
    "platformdirs": "4.2",
    "psutil": "6.0",
    "simpleeval": "1.0",
}
"""What the engine itself imports, and from which version on; frameworks come on top of it."""
PREAMBLE = b"\n\x00GPUEXPLORER-ENGINE\x00\n"
MARK = b"\n\x00GPUEXPLORER-PYTHON "
"""Before Python's version, a null byte and the end of the line."""
EXIT_UNSUITABLE = 3
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE = os.path.join(PACKAGE, "core", "bootstrap.py")


def lend_package() -> None:
    """Make ``gpuexplorer`` importable here, and nothing of what stands beside it."""
    import importlib.util

    spec = importlib.util.spec_from_file_location(
        "gpuexplorer",
        os.path.join(PACKAGE, "__init__.py"),
        submodule_search_locations=[PACKAGE],
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["gpuexplorer"] = package
    spec.loader.exec_module(package)


# ---- what an engine needs


def unsuitable() -> tuple[str, str] | None:
    """Return why this Python cannot be an engine and what would change that; None if it can."""
    name = sys.executable or "this interpreter"
    running = ".".join(map(str, sys.version_info[:3]))
    oldest = ".".join(map(str, OLDEST_PYTHON))
    if tuple(sys.version_info[:2]) < OLDEST_PYTHON:
        return (
            f"{name} is Python {running}, and an engine needs {oldest} or newer",
            "choose another interpreter, or make an environment with a newer Python",
        )
    missing, old = lacking()
    if not missing and not old:
        return None
    said = [f"lacks {_listed(missing)}"] if missing else []
    said += [f"has {package} {found}, which is too old" for package, found in old.items()]
    wanted = [package for package in REQUIRED if package in missing or package in old]
    command = install_command(wanted)
    return (
        f"{name} (Python {running}) {_listed(said)}",
        f"install what an engine needs with: {command} and choose {_place()}"
        if _of_the_system()
        else f"install what an engine needs with: {command}",
    )


def lacking() -> tuple[list[str], dict[str, str]]:
    """Return the required packages that are not here, and those too old with their versions."""
    import importlib.util

    missing = []
    old = {}
    for package, oldest in REQUIRED.items():
        if importlib.util.find_spec(package) is None:
            missing.append(package)
            continue
        found = _version(package)
        if found is not None and _numbers(found) < _numbers(oldest):
            old[package] = found
    return missing, old


def install_command(packages: list[str], *, again: bool = False) -> str:
    """Return what to type so that this interpreter has some of the required packages.

    ``again``: they are there, and broken.
    """
    import importlib.util

    wanted = " ".join(_quoted(f"{package}>={REQUIRED[package]}") for package in packages)
    if again:
        wanted = f"--force-reinstall {wanted}"
    python = _quoted(sys.executable or "python")
    if _of_the_system():
        place = _place()
        inside = _quoted(os.path.join(place, "bin", "python"))
        return (
            f"{python} -m venv --system-site-packages {_quoted(place)} && "
            f"{inside} -m pip install {wanted}"
        )
    if importlib.util.find_spec("pip") is not None:
        return f"{python} -m pip install {wanted}"
    if importlib.util.find_spec("ensurepip") is not None:
        return f"{python} -m ensurepip && {python} -m pip install {wanted}"
    return f"uv pip install --python {python} {wanted}"


def _place() -> str:
    """Return where an environment is made on top of a distribution's Python."""
    return os.path.join(os.path.expanduser("~"), "gpuexplorer-engine")


def _of_the_system() -> bool:
    """Whether pip refuses to install here: a distribution keeps this Python (PEP 668)."""
    import sysconfig

    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(marker)


def _version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None  # installed in a way that leaves no word of its version


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (2, 0) for ``2.0rc1``."""
    import re

    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _listed(words: list[str]) -> str:
    names, last = ", ".join(words[:-1]), words[-1]
    return f"{names} and {last}" if names else last


def _quoted(word: str) -> str:
    """Return a word as a shell of this system takes it."""
    if os.name == "nt":
        return f'"{word}"' if set(word) & set(" <>&|") else word
    import shlex

    return shlex.quote(word)


# ---- saying so


def refusal(what: str, remedy: str, detail: str = "") -> bytes:
    """Return the preamble and a frame of ``protocol.Refused``, in msgpack by hand."""
    import struct

    body = b"\x84"  # a map of four
    for word in ("type", "Refused", "what", what, "remedy", remedy, "detail", detail):
        data = word.encode("utf-8", "replace")
        body += b"\xdb" + struct.pack(">I", len(data)) + data
    return PREAMBLE + struct.pack("<I", len(body)) + body


def main(arguments: list[str]) -> int:
    """Run the module that the arguments name; return the exit status."""
    framed = arguments[:1] == ["--framed"]
    module, *rest = arguments[1:] if framed else arguments
    if framed:
        os.write(1, MARK + ".".join(map(str, sys.version_info[:3])).encode() + b"\x00\n")
    problem = unsuitable() if module == "gpuexplorer.engine" else None
    if problem is not None:
        sys.stderr.write("; ".join(problem) + "\n")
        sys.stderr.flush()
        if framed:
            os.write(1, refusal(*problem))
        return EXIT_UNSUITABLE
    lend_package()
    import runpy

    sys.argv[:] = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
