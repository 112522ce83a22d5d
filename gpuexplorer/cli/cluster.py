"""``gpuexplorer cluster``: workers on many GPUs, started, shown and ended."""

from __future__ import annotations

import argparse
import os
import signal
import time
from pathlib import Path

import msgspec

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.hosts import read_hosts
from gpuexplorer.cluster.paces import SLOWER_BY
from gpuexplorer.cluster.place import FILE, ClusterPlace, find_cluster
from gpuexplorer.cluster.starting import (
    Launcher,
    Local,
    Slurm,
    Ssh,
    StartedCluster,
    default_folder,
    start,
)
from gpuexplorer.cluster.watch import end
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.interrupts import ENDING
from gpuexplorer.core.units import plural

SCHEMA = "gpuexplorer/cluster-workers/1"
LOOK_S = 1.0
COME_S = 60.0
"""Workers that have not come after so long are told of."""


def command(options: argparse.Namespace) -> int:
    """Do what was asked with a cluster."""
    check_targets(json_path(options.json))
    actions = {"up": _up, "show": _show, "down": _down}
    return actions[options.action](options)


def place_of(word: str | None) -> ClusterPlace:
    """Return the cluster that a user names: its file, that one's folder, an address."""
    if word is None and not (default_folder() / FILE).exists():
        raise InputError(
            "no cluster was started here",
            remedy="start one with 'gpuexplorer cluster up', or name its cluster.toml",
        )
    return find_cluster(str(default_folder()) if word is None else word)


def cluster_of(options: argparse.Namespace) -> Cluster | None:
    """Connect to the cluster that a search is to be spread over, and say who measures; or None."""
    if options.cluster is None:
        if options.slower_by is not None:
            raise InputError(
                "--slower-by is for the workers of a cluster", remedy="give --cluster as well"
            )
        return None
    if options.python is not None:
        raise InputError(
            "--engine names one of this machine's, and a cluster's workers use theirs",
            remedy="leave it out, or leave --cluster out",
        )
    slower_by = SLOWER_BY if options.slower_by is None else options.slower_by
    cluster = Cluster(find_cluster(options.cluster), slower_by=slower_by, on_trouble=say_trouble)
    for sentence in cluster.words():
        say(f"gpuexplorer: {sentence}")
    return cluster


def _up(options: argparse.Namespace) -> int:
    folder = Path(os.path.abspath(os.path.expanduser(options.folder or default_folder())))
    with _Ending() as ending:
        try:
            with start(_launcher(options), folder) as cluster:
                ending.started()
                return _stay(cluster)
        except KeyboardInterrupt:
            pass
        except ExplorerError:  # what starts it may have been ended as well
            if not ending.wanted:
                raise
        say("gpuexplorer: the cluster has ended")
        return EXIT_INTERRUPTED


def _launcher(options: argparse.Namespace) -> Launcher:
    if options.ssh is not None:
        return Ssh(read_hosts(options.ssh), options.remote_python, options.port)
    asked = options.local if options.local is not None else options.slurm
    if asked < 1:
        raise InputError(f"{asked} workers measure nothing", remedy="ask for 1 or more")
    if options.local is not None:
        return Local(asked, options.port)
    return Slurm(
        asked,
        partition=options.partition,
        account=options.account,
        time=options.time,
        memory=options.memory,
        cores=options.cores,
        gres=options.gres,
        directives=options.directive,
        host=options.host,
        port=options.port,
    )


def _stay(cluster: StartedCluster) -> int:
    """Say how to use the cluster, and stay until it is ended."""
    say(f"gpuexplorer: the scheduler listens at {cluster.scheduler}")
    say(f"gpuexplorer: use it with: gpuexplorer sweep ... --cluster {cluster.file}")
    before, told, since = -1, False, 0.0
    with cluster.watching() as watch:
        while not watch.ended(LOOK_S):
            number = watch.workers()
            if number != before:
                before, told, since = number, False, time.monotonic()
                say(plural(number, "gpuexplorer: {number} worker", "gpuexplorer: {number} workers"))
            if number < cluster.wanted and not told and time.monotonic() > since + COME_S:
                told = True
                _say_missing(cluster, number)
    say("gpuexplorer: the cluster was ended with 'cluster down'")
    return 0


def _say_missing(cluster: StartedCluster, number: int) -> None:
    say(
        f"gpuexplorer: {number} of {cluster.wanted} workers are there, and none has come for "
        f"{COME_S:.0f} s; {cluster.why_missing()}"
    )


class _Ending:
    """Ctrl-C, or being told to end by the system, ends the cluster; one that starts, afterwards.

    In the middle Dask would leave processes to themselves, and say so at length.
    """

    def __init__(self) -> None:
        self._starting = True
        self.wanted = False
        """Whether it was to end while it started."""

    def __enter__(self) -> _Ending:
        heard = [n for n in ENDING if signal.getsignal(n) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._end) for number in heard}
        return self

    def __exit__(self, *ended: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def started(self) -> None:
        """Note that it has started; KeyboardInterrupt where it is to end."""
        self._starting = False
        if self.wanted:
            raise KeyboardInterrupt

    def _end(self, number: int, frame: object) -> None:
        if not self._starting or self.wanted:
            raise KeyboardInterrupt
        self.wanted = True
        say("gpuexplorer: the cluster ends as soon as it has started; once more ends it at once")


def _show(options: argparse.Namespace) -> int:
    with Cluster(place_of(options.cluster), on_trouble=say_trouble) as cluster:
        workers = [
            {"address": lane.address, "host": lane.host, "devices": sorted(lane.devices)}
            for lane in cluster.workers
        ]
        document = {"schema": SCHEMA, "devices": cluster.devices.devices, "workers": workers}
        if options.json != "-":
            for sentence in cluster.words():
                output_console().print(sentence, markup=False)
        if options.json is not None:
            write_document(options.json, pretty_json(msgspec.to_builtins(document)))
    return 0


def _down(options: argparse.Namespace) -> int:
    place = place_of(options.cluster)
    end(place)
    say(f"gpuexplorer: the cluster at {place.scheduler} has ended")
    return 0


def say_trouble(sentence: str) -> None:
    """Tell what is wrong with a worker."""
    say(f"gpuexplorer: {sentence}")
