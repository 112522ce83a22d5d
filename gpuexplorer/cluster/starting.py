"""Clusters by Dask's own launchers: on this machine, over SSH, in jobs of SLURM.

All speak TLS, and both sides have to show the cluster's certificate. Beside the scheduler's and the
workers' ports nothing listens but to this machine itself, and there is nothing to see there.
"""

from __future__ import annotations

import logging
import queue
import secrets
import shutil
import signal
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.cluster.certificates import (
    CERT,
    KEY,
    LOCK,
    check_folder,
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
from gpuexplorer.core.units import listed
from gpuexplorer.exchange.files import write_error

RESOURCES = {"GPU": 1}
TLS = "tls://"
NO_PAGES = "127.0.0.1:0"
"""Where Dask's pages are: it always serves some, so nowhere but here, on any port."""
LOOPBACK = "127.0.0.1"
MOST_NAMED = 4
"""Jobs or machines that a sentence names."""
MOST_SAID = 20
"""Lines that are kept of what programs on other machines print until they are ready."""
ORPHAN = "1 hour"
"""A scheduler on another machine that nobody watches and that has had nothing to do for so long
ends, and its workers."""


def default_folder() -> Path:
    """Return where a cluster's files are unless a user names another folder."""
    return data_folder() / "cluster"


class StartedCluster(Closing):
    """A cluster that this program has started and ends."""

    def __init__(self, launcher: Launcher, launched: Any, folder: Path, lock: FileLock) -> None:
        """End what was launched where its file for clients cannot be written."""
        self._launcher, self._launched, self._lock = launcher, launched, lock
        self.scheduler: str = launched.scheduler_address
        self.place = place_in(folder, self.scheduler)
        try:
            self.file = write_place(folder, self.scheduler)
            """What clients are given."""
        except BaseException:
            self._end()
            raise

    @property
    def wanted(self) -> int:
        """How many workers were asked for."""
        return self._launcher.wanted

    def why_missing(self) -> str:
        """Return where a user sees why workers do not come."""
        return self._launcher.why_missing(self._launched)

    def watching(self) -> Watch:
        """Return what tells how the cluster is, and when somebody wants it to end."""
        return Watch(self.place)

    def close(self) -> None:
        """End workers and scheduler, and take back the file for clients."""
        if self._launched is not None:
            try:
                self._end()
            finally:
                self.file.unlink(missing_ok=True)
                self._lock.close()

    def _end(self) -> None:
        """End workers and scheduler."""
        launched, self._launched = self._launched, None
        try:
            # A scheduler elsewhere that is gone ends nothing.
            with suppress(OSError) if isinstance(self._launcher, Ssh) else nullcontext():
                launched.close()
        finally:
            if isinstance(self._launcher, Ssh):
                launched.remove_certificates()


class Local(msgspec.Struct, frozen=True):
    """Workers on this machine, which nobody else reaches."""

    workers: int
    port: int = 0

    @property
    def wanted(self) -> int:
        """How many workers that is."""
        return self.workers

    def why_missing(self, launched: Any) -> str:
        """Return where a user sees why some have not come."""
        return "see with 'gpuexplorer doctor' whether an engine starts on this machine"

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


class Slurm(msgspec.Struct, frozen=True):
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

    @property
    def wanted(self) -> int:
        """How many workers that is."""
        return self.jobs

    def why_missing(self, launched: Any) -> str:
        """Return where a user sees why some have not come."""
        jobs = [str(job.job_id) for job in launched.workers.values()]
        return (
            f"see with 'squeue --me' whether jobs wait ({listed(jobs[:MOST_NAMED])}), and in "
            f"{Path.cwd()}, in the file slurm-JOB.out, what one that has ended said"
        )

    def launch(self, folder: Path) -> Any:
        """Submit the jobs, and start the scheduler here.

        Raises CannotRunHere without SLURM, WorkFailed where it takes no such jobs.
        """
        if shutil.which("sbatch") is None:
            raise CannotRunHere(
                "this machine has no sbatch, by which SLURM takes jobs",
                remedy="start the cluster on the machine where you submit jobs",
            )
        library = load_distributed()
        interrupt = signal.getsignal(signal.SIGINT)
        try:
            from dask_jobqueue import SLURMCluster
            from dask_jobqueue.slurm import SLURMJob
        except ImportError:
            raise CannotRunHere(
                "jobs of SLURM need dask-jobqueue, which is not installed here",
                remedy="install it with: pip install 'gpuexplorer[cluster]'",
            ) from None
        signal.signal(signal.SIGINT, interrupt)  # its import has Ctrl-C end the program at once
        options: dict[str, Any] = {"dashboard_address": NO_PAGES, "port": self.port}
        if self.host is not None:
            options["host"] = self.host
        refused: queue.SimpleQueue[str] = queue.SimpleQueue()

        class Job(SLURMJob):  # type: ignore[misc]
            """Tells what came of its submission, which Dask keeps for itself."""

            async def start(self) -> None:
                """Submit it."""
                try:
                    await super().start()
                except (OSError, RuntimeError, ValueError) as error:
                    self.status = library.Status.failed
                    refused.put(str(error))
                else:
                    refused.put("")

            async def close(self) -> None:
                """Take it back."""
                await super().close()
                self.status = library.Status.closed  # which Dask looks for

        launched = SLURMCluster(
            n_workers=self.jobs,
            job_cls=Job,
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
        try:
            for _ in range(self.jobs):
                if said := refused.get():
                    raise WorkFailed(
                        "SLURM does not take a job of the cluster",
                        remedy="ask for less or for something else, by what it says below",
                        detail=said.partition("stderr:")[2].strip() or said,
                    )
        except BaseException:
            launched.close()
            raise
        return launched


class Ssh(msgspec.Struct, frozen=True):
    """Workers on machines over SSH; the first one has the scheduler as well."""

    hosts: Sequence[Host]
    python: str | None = None
    """The Python there, with the same GPU Explorer; None: at the same path as this one."""
    port: int = 0

    @property
    def wanted(self) -> int:
        """How many workers that is."""
        return sum(host.workers for host in self.hosts)

    def why_missing(self, launched: Any) -> str:
        """Return where a user sees why some have not come."""
        names = [host.name for host in self.hosts]
        return (
            f"see with 'gpuexplorer doctor' on {listed(names[:MOST_NAMED])} whether an engine "
            "starts there, and whether that machine reaches the scheduler"
        )

    def launch(self, folder: Path) -> Any:
        """Bring the certificates there, and start scheduler and workers."""
        library = load_distributed()
        import dask

        there = f"/tmp/gpuexplorer-{secrets.token_hex(16)}"
        cert, key = f"{there}/{CERT}", f"{there}/{KEY}"
        files: dict[str, Any] = {"distributed.comm.tls.ca-file": cert}
        for role in ("scheduler", "worker", "client"):
            files[f"distributed.comm.tls.{role}.cert"] = cert
            files[f"distributed.comm.tls.{role}.key"] = key
        first, each = self.hosts[0], [host for host in self.hosts for _ in range(host.workers)]
        try:
            copy_certificates(self.hosts, folder, there)
            # The programs there read the settings of this one, and find the files at these paths.
            with (
                _told_why(),
                dask.config.set(
                    {
                        **files,
                        "distributed.comm.require-encryption": True,
                        "distributed.scheduler.idle-timeout": ORPHAN,
                        # SSHCluster reads there when scheduler and workers are ready.
                        "logging": {"distributed": "info"},
                        "distributed.nanny.pre-spawn-environ": {
                            "DASK_LOGGING__DISTRIBUTED": "info"
                        },
                    }
                ),
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
        launched.remove_certificates = weakref.finalize(
            launched, remove_certificates, self.hosts, there
        )
        return launched


Launcher = Local | Slurm | Ssh


@contextmanager
def _told_why() -> Iterator[None]:
    """Raise WorkFailed with what programs on other machines printed before they ended."""
    said: deque[str] = deque(maxlen=MOST_SAID)

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger, handler = logging.getLogger("distributed.deploy.ssh"), Said()
    before = logger.level, logger.propagate
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield
    except Exception as error:  # noqa: BLE001 - Dask's launcher raises just this
        raise WorkFailed(
            "scheduler and workers do not start on the machines",
            remedy="see that each has this version of GPU Explorer with the extra cluster, at the "
            "path of this Python or where --remote-python says",
            detail="\n".join([*said, str(error)]),
        ) from None
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


def environment() -> list[str]:
    """Return what sets Dask for measuring in another process, as ``NAME=VALUE``."""
    return [
        f"DASK_{name.upper().replace('.', '__').replace('-', '_')}={value}"
        for name, value in SETTINGS.items()
        if not isinstance(value, dict | list)
    ]


def start(launcher: Launcher, folder: Path) -> StartedCluster:
    """Start a cluster whose files are in ``folder``.

    Raises WorkFailed when one of that folder runs already, or cannot be started, and InputError
    for a folder that is not one's own.
    """
    load_distributed()
    try:
        check_folder(folder)
        lock = FileLock(folder / LOCK)
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
        return StartedCluster(launcher, launcher.launch(folder), folder, lock)
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
