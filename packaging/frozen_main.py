"""The first file of the frozen program: the window, the command line, the engine, or a module.

``gpuexplorer engine`` is the engine and ``gpuexplorer --module NAME ...`` runs another module of
the package as ``python -m`` would; the program starts itself so for its children. Windows' program
without a console is the window alone: children are started with the one that has a console.
"""

from __future__ import annotations

import multiprocessing
import sys


def main() -> int:
    """Run what the command line asks for and return the exit code."""
    multiprocessing.freeze_support()  # a child of a library's ends here
    multiprocessing.set_start_method("spawn")  # a process with threads and drivers never forks
    if sys.platform == "win32" and sys.stderr is None:  # Windows' program without a console
        from gpuexplorer.cli.windowed import main as window

        return window(sys.argv[1:])

    from gpuexplorer.core.frozen import MODULE_WORD

    if sys.argv[1:2] == [MODULE_WORD]:
        return _run_module(sys.argv[2:])

    from gpuexplorer.cli import main as command_line

    return command_line(sys.argv[1:])


def _run_module(words: list[str]) -> int:
    import runpy

    from gpuexplorer.cli.streams import prepare_streams

    prepare_streams()
    if not words or words[0].split(".")[0] != "gpuexplorer":
        print("gpuexplorer: error: only modules of gpuexplorer can be run", file=sys.stderr)
        return 2
    sys.argv[:] = words
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
