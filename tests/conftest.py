"""What all tests share: nobody's own calibrations, runs and settings are read or written."""

from __future__ import annotations

import importlib.util
import locale
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.core import language
from gpuexplorer.core.language.available import VARIABLE as LANGUAGE_VARIABLE
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE as HISTORY_VARIABLE
from tests.support import forks
from tests.support.turns import Turns

# A busy machine makes examples slow, and chance may filter many; neither says that anything is
# wrong. On a build server the examples are the same every time, elsewhere always others.
settings.register_profile(
    "gpuexplorer",
    derandomize=bool(os.environ.get("CI")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("gpuexplorer")

TURNS = pytest.StashKey[Path]()
"""The folder by which the processes of one session take turns."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a session leave out what another one, in another environment or at night, tests."""
    parser.addoption(
        "--only-torch-in", action="append", default=[], metavar="PATH",
        help="below this path run only what needs PyTorch",
    )  # fmt: skip
    parser.addoption(
        "--order-seed", type=int, metavar="SEED",
        help="take the tests in another order by SEED, and those that are marked long as well",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of turns, or take that of the session which this process works for.

    A locale that the environment names and this system lacks is complained of by every program
    that is started, Qt and the shell among them: C.UTF-8, which needs no package, takes its place.
    """
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, "")
    except locale.Error:
        os.environ["LC_ALL"] = "C.UTF-8"
    finally:
        locale.setlocale(locale.LC_ALL, before)
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    folder = tempfile.mkdtemp(prefix="gpuexplorer-turns-") if worker is None else worker["turns"]
    config.stash[TURNS] = Path(folder)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a process that tests beside others where they take turns."""
    node.workerinput["turns"] = str(node.config.stash[TURNS])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder of turns."""
    folder = config.stash.get(TURNS, None)
    if folder is not None and not hasattr(config, "workerinput"):
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test that keeps time run alone; waiting for that is no part of its time."""
    if not hasattr(item.config, "workerinput"):
        return (yield)
    turns = Turns(item.config.stash[TURNS])
    with turns.alone() if is_marked(item, "alone") else turns.together():
        return (yield)


def is_marked(item: pytest.Item, mark: str) -> bool:
    """Return whether a test has a mark."""
    return item.get_closest_marker(mark) is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is tested elsewhere or at night, order the rest, and skip what has no PyTorch.

    The longest comes first, so that nobody waits for it in the end. Those that run alone come last,
    side by side: everybody waits for the longest of the others before the first of them, and not
    before each.
    """
    folders = [Path(name).resolve() for name in config.getoption("--only-torch-in")]
    elsewhere = {
        path: any(path.is_relative_to(folder) for folder in folders)
        for path in {item.path for item in items}
    }
    seed = config.getoption("--order-seed")
    here = [
        item
        for item in items
        if (seed is not None or not is_marked(item, "long"))
        and (is_marked(item, "torch") or not elsewhere[item.path])
    ]
    if len(here) < len(items):
        kept = set(here)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = here
    if seed is None:
        items.sort(key=lambda i: (is_marked(i, "alone"), not is_marked(i, "first")))
    else:
        random.Random(seed).shuffle(items)
    if importlib.util.find_spec("torch") is None:
        for item in items:
            if is_marked(item, "torch"):
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))


@pytest.fixture(autouse=True)
def environment_as_before() -> Iterator[None]:
    """Take back what a test, or a command line that it had run in this process, set there.

    That is the language, too.
    """
    before = dict(os.environ)
    yield
    for name in {*before, *os.environ} - {"PYTEST_CURRENT_TEST"}:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]
    language.use(language.ENGLISH)
    language.use_decimal_comma(False)


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """Have the programs that tests start hear Ctrl-C, also where a background job started these."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def engines_are_forked() -> None:
    """Start this session's engines as forks of one process that has imported what they need."""
    if forks.FORKS:
        forks.fork_engines(partial(forks.server, "engine"))


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give this session, and the programs it starts, folders of its own for data and settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("data")))
        patch.setenv(CONFIG_VARIABLE, str(tmp_path_factory.mktemp("config")))
        patch.setenv(LANGUAGE_VARIABLE, language.ENGLISH)
        patch.delenv(HISTORY_VARIABLE, raising=False)
        yield
