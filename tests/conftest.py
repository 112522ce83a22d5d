"""What all tests share: nobody's own calibrations, runs and settings are read or written."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE as HISTORY_VARIABLE

# A busy machine makes examples slow, and chance may filter many; neither says that anything is
# wrong. On a build server the examples are the same every time, elsewhere always others.
settings.register_profile(
    "gpuexplorer",
    derandomize=bool(os.environ.get("CI")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("gpuexplorer")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs PyTorch where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        for item in items:
            if item.get_closest_marker("torch") is not None:
                item.add_marker(pytest.mark.skip(reason="PyTorch is not installed"))


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """Have the programs that tests start hear Ctrl-C, also where a background job started these."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give this session, and the programs it starts, folders of its own for data and settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("data")))
        patch.setenv(CONFIG_VARIABLE, str(tmp_path_factory.mktemp("config")))
        patch.delenv(HISTORY_VARIABLE, raising=False)
        yield
