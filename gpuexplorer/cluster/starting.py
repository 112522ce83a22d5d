"""Clusters by Dask's own launchers: on this machine, over SSH, in jobs of SLURM.

All speak TLS, and both sides have to show the cluster's certificate. Beside the scheduler's and the
workers' ports nothing listens but to this machine itself, and there is nothing to see there.
"""

from __future__ import annotations

import secrets
import signal
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.cluster.certificates import (
    CERT,
    KEY,
    make_certificates,
    place_in,
    write_place,
)
from gpuexplorer.cluster.hosts import Host, copy_certificates, remove_certificates
from gpuexplorer.cluster.library import SETTINGS, load_distributed
from gpuexplorer.cluster.place import FILE
from gpuexplorer.cluster.watch import Watch
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.locks import FileLock
from gpuexplorer.exchange.files import write_error

RESOURCES = {"GPU": 1}
TLS = "tls://"
NO_PAGES = "127.0.0.1:0"
"""Where Dask's pages are: it always serves some, so nowhere but here, on any port."""
LOOPBACK = "127.0.0.1"
ORPHAN = "1 hour"
"""A scheduler on another machine that has had nothing to do for so long ends, and its workers."""


def default_folder() -> Path:
    """Return where a cluster's files are unless a user names another folder."""
    return data_folder() / "cluster"


class StartedCluster(Closing):
    """A cluster that this program has started and ends."""

    def __init__(self, launched: Any, folder: Path, lock: FileLock) -> None:
        self._launched, self._lock = launched, lock
        self.scheduler: str = launched.scheduler_address
        self.place = place_in(folder, self.scheduler)
        self.file = write_place(folder, self.scheduler)
        """What clients are given."""

    def watching(self) -> Watch:
        """Return what tells how the cluster is, and when somebody wants it to end."""
        return Watch(self.place)

    def close(self) -> None:
        """End workers and scheduler, and take back the file for clients."""
        launched, self._launched = self._launched, None
        if launched is not None:
            launched.close()
            self.file.unlink(missing_ok=True)
            self._lock.close()


@dataclass(frozen=True)
class Local:
    """Workers on this machine, which nobody else reaches."""

    workers: int
    port: int = 0

    def launch(self, folder: Path) -> Any:
        """Start them."""
        return load_distributed().LocalCluster(
            n_workers=self.workers,
            threads_per_worker=1,
            host=LOOPBACK,
            scheduler_port=self.port,
            protocol=TLS,
            security=place_in(folder, TLS).security(),
            resources=RESOURCES,
            memory_limit=0,
            dashboard_address=NO_PAGES,
            worker_dashboard_address=NO_PAGES,
        )


@dataclass(frozen=True)
class Slurm:
    """Workers in jobs of SLURM, one GPU each; the folder has to be visible to their machines."""

    jobs: int
    partition: str | None = None
    account: str | None = None
    time: str = "01:00:00"
    memory: str = "16GB"
    cores: int = 4
    gres: str = "gpu:1"
    directives: Sequence[str] = ()
    host: str | None = None
    """The address of this machine that the jobs reach; None: what Dask finds."""
    port: int = 0

    def launch(self, folder: Path) -> Any:
        """Submit the jobs, and start the scheduler here."""
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            from dask_jobqueue import SLURMCluster
        except ImportError:
            raise CannotRunHere(
                "jobs of SLURM need dask-jobqueue, which is not installed here",
                remedy="install it with: pip install 'gpuexplorer[cluster]'",
            ) from None
        signal.signal(signal.SIGINT, interrupt)  # its import has Ctrl-C end the program at once
        options: dict[str, Any] = {"dashboard_address": NO_PAGES, "port": self.port}
        if self.host is not None:
            options["host"] = self.host
        return SLURMCluster(
            n_workers=self.jobs,
            queue=self.partition,
            account=self.account,
            walltime=self.time,
            memory=self.memory,
            job_cpu=self.cores,
            cores=1,
            processes=1,
            protocol=TLS,
            security=place_in(folder, TLS).security(),
            scheduler_options=options,
            worker_extra_args=[
                "--resources", ",".join(f"{n}={v}" for n, v in RESOURCES.items()),
                "--no-dashboard", "--dashboard-address", NO_PAGES,
            ],
            job_extra_directives=[f"--gres={self.gres}", *self.directives],
            job_script_prologue=[f"export {line}" for line in environment()],
            local_directory="${TMPDIR:-/tmp}",
        )  # fmt: skip


@dataclass(frozen=True)
class Ssh:
    """Workers on machines over SSH; the first one has the scheduler as well."""

    hosts: Sequence[Host]
    python: str | None = None
    """The Python there, with the same GPU Explorer; None: at the same path as this one."""
    port: int = 0

    def launch(self, folder: Path) -> Any:
        """Bring the certificates there, and start scheduler and workers."""
        library = load_distributed()
        import dask

        there = f"/tmp/gpuexplorer-{secrets.token_hex(16)}"
        copy_certificates(self.hosts, folder, there)
        cert, key = f"{there}/{CERT}", f"{there}/{KEY}"
        files: dict[str, Any] = {"distributed.comm.tls.ca-file": cert}
        for role in ("scheduler", "worker", "client"):
            files[f"distributed.comm.tls.{role}.cert"] = cert
            files[f"distributed.comm.tls.{role}.key"] = key
        first, each = self.hosts[0], [host for host in self.hosts for _ in range(host.workers)]
        try:
            # The programs there read the settings of this one, and find the files at these paths.
            with dask.config.set(
                {
                    **files,
                    "distributed.comm.require-encryption": True,
                    "distributed.scheduler.idle-timeout": ORPHAN,
                    # SSHCluster reads there when scheduler and workers are ready.
                    "logging": {"distributed": "info"},
                    "distributed.nanny.pre-spawn-environ": {"DASK_LOGGING__DISTRIBUTED": "info"},
                }
            ):
                launched = library.SSHCluster(
                    [host.name for host in (first, *each)],
                    connect_options=[host.options for host in (first, *each)],
                    scheduler_options={
                        "host": first.name, "port": self.port, "protocol": TLS,
                        "dashboard_address": NO_PAGES,
                    },
                    worker_options={
                        "nthreads": 1, "resources": RESOURCES, "memory_limit": 0,
                        "protocol": TLS, "dashboard_address": NO_PAGES,
                    },
                    remote_python=self.python,
                    security=place_in(folder, TLS).security(),
                )  # fmt: skip
        except BaseException:
            remove_certificates(self.hosts, there)
            raise
        weakref.finalize(launched, remove_certificates, self.hosts, there)
        return launched


Launcher = Local | Slurm | Ssh


def environment() -> list[str]:
    """Return what sets Dask for measuring in another process, as ``NAME=VALUE``."""
    return [
        f"DASK_{name.upper().replace('.', '__').replace('-', '_')}={value}"
        for name, value in SETTINGS.items()
        if not isinstance(value, dict | list)
    ]


def start(launcher: Launcher, folder: Path) -> StartedCluster:
    """Start a cluster whose files are in ``folder``.

    Raises WorkFailed when one of that folder runs already, or cannot be started.
    """
    load_distributed()
    try:
        lock = FileLock(folder / ".lock")
    except OSError as error:
        raise write_error(folder, error) from None
    if not lock.taken:
        file = folder / FILE
        raise WorkFailed(
            f"a cluster of {folder} runs already",
            remedy=f"use {file}, end it with 'gpuexplorer cluster down', or name another "
            "folder with --folder",
        )
    try:
        make_certificates(folder)
        return StartedCluster(launcher.launch(folder), folder, lock)
    except ExplorerError:
        lock.close()
        raise
    except (OSError, RuntimeError, ValueError) as error:
        lock.close()
        raise WorkFailed(
            "the cluster cannot be started",
            remedy="see what the system says below",
            detail=str(error),
        ) from None
