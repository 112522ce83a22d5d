"""Clusters are started by Dask's own launchers, speak TLS alone, and leave nothing behind."""

from __future__ import annotations

import getpass
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import psutil
import pytest

pytest.importorskip("distributed")

from gpuexplorer.cli import cluster, main
from gpuexplorer.cluster.certificates import make_certificates, place_in
from gpuexplorer.cluster.connection import connect
from gpuexplorer.cluster.hosts import Host, read_hosts
from gpuexplorer.cluster.place import FILE, is_loopback
from gpuexplorer.cluster.starting import Launcher, start
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.exchange.files import NotWritten
from tests.support.cli import assert_one_sentence, run_cli
from tests.support.clusters import cluster_up
from tests.support.detached_jobs import until
from tests.support.sshd import Sshd

SBATCH = """#!/bin/sh
# Stands for SLURM's: keeps the script, which is gone afterwards, and runs that on this machine.
cp "$1" "$STUB/script.sh"
sh "$STUB/script.sh" > "$STUB/job.log" 2>&1 &
echo $! > "$STUB/job.pid"
echo "Submitted batch job 42"
"""
SCANCEL = """#!/bin/sh
echo "$@" >> "$STUB/cancelled"
kill "$(cat "$STUB/job.pid")"
"""


def listening(pid: int) -> set[str]:
    """Return the addresses at which a process and those below it listen."""
    main = psutil.Process(pid)
    return {
        connection.laddr.ip
        for process in [main, *main.children(recursive=True)]
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }


@pytest.mark.parametrize(
    "how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL]
)
def test_a_cluster_that_is_ended_leaves_no_process(how: signal.Signals, tmp_path: Path) -> None:
    with cluster_up(tmp_path / "cluster", "--local", "1") as up:
        up.wait_for("1 worker")
        code, left = up.end(how, group=how == signal.SIGINT)
        if how != signal.SIGKILL:
            up.wait_for("the cluster has ended")
            assert [line for line in up.said if not line.startswith("gpuexplorer: ")] == []
    assert left == []
    assert code == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    assert (tmp_path / "cluster" / "cluster.toml").exists() == (how == signal.SIGKILL)


def test_a_cluster_that_is_ended_while_it_starts_leaves_no_process_and_says_so(
    tmp_path: Path,
) -> None:
    """Dask printed pages of what it was in the middle of."""
    with cluster_up(tmp_path / "cluster", "--local", "1") as up:
        until((tmp_path / "cluster" / "key.pem").exists)
        assert up.end(signal.SIGINT) == (130, [])
        up.wait_for("the cluster has ended")
    assert up.said == [
        "gpuexplorer: the cluster ends as soon as it has started; once more ends it at once\n",
        "gpuexplorer: the cluster has ended\n",
    ]


class MadeUp:
    """Workers that say whether they were ended."""

    wanted, scheduler_address, ended = 1, "tls://127.0.0.1:1", False

    def launch(self, folder: Path) -> MadeUp:
        return self

    def close(self) -> None:
        self.ended = True


def test_a_cluster_whose_file_cannot_be_written_leaves_no_workers(tmp_path: Path) -> None:
    """Its scheduler, jobs and workers went on, and nothing was left to end them by."""
    folder, workers = tmp_path / "cluster", MadeUp()
    (folder / FILE).mkdir(parents=True)
    with pytest.raises(NotWritten):
        start(cast("Launcher", workers), folder)
    assert workers.ended
    (folder / FILE).rmdir()
    start(cast("Launcher", MadeUp()), folder).close()  # and nobody holds its folder


def test_a_cluster_here_is_reached_from_here_with_its_certificate_alone_and_ended_by_down(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "cluster"
    with cluster_up(folder, "--local", "1") as up:
        up.wait_for("1 worker")
        assert listening(up.process.pid) == {"127.0.0.1"}
        assert up.place.encrypted and is_loopback(up.place.scheduler)
        assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

        make_certificates(tmp_path / "other")
        with pytest.raises(CannotRunHere, match="no scheduler answers"):
            connect(place_in(tmp_path / "other", up.place.scheduler), timeout_s=3.0)

        said = run_cli("cluster", "up", "--local", "1", "--folder", folder, cwd=tmp_path)
        assert "runs already; use " in assert_one_sentence(said, 1)

        below = psutil.Process(up.process.pid).children(recursive=True)
        done = run_cli("cluster", "down", folder, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert up.process.wait(60) == 0
        assert psutil.wait_procs(below, timeout=60)[1] == []


def test_a_cluster_that_has_nothing_to_do_stays_while_it_is_watched(tmp_path: Path) -> None:
    """One over SSH ended after an hour, in the middle of a day's work."""
    idle = {"DASK_DISTRIBUTED__SCHEDULER__IDLE_TIMEOUT": "4s"}
    with cluster_up(tmp_path / "cluster", "--local", "1", **idle) as up:
        up.wait_for("1 worker")
        with pytest.raises(subprocess.TimeoutExpired):
            up.process.wait(8)
        assert up.end(signal.SIGINT) == (130, [])


def test_a_folder_that_holds_other_things_keeps_its_rights_and_one_of_others_is_refused(
    tmp_path: Path,
) -> None:
    """Its rights were changed, whatever it was; others could have put their scheduler in there."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "thesis.txt").write_text("")
    folder.chmod(0o755)
    make_certificates(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    folder.chmod(0o777)
    said = run_cli("cluster", "up", "--local", "1", "--folder", folder, cwd=tmp_path)
    assert assert_one_sentence(said, 2).startswith(f"others may write in {folder}, and whoever")
    assert not (folder / ".lock").exists()


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine where SLURM's commands are, which they stand for."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}", "STUB": str(tmp_path)}


@pytest.mark.skipif(os.name == "nt", reason="SLURM runs on Linux")
def test_a_job_of_slurm_asks_for_a_gpu_shows_the_certificate_and_becomes_a_worker(
    tmp_path: Path, slurm: dict[str, str]
) -> None:
    folder = tmp_path / "cluster"
    options = (
        "--slurm", "1", "--partition", "gpu", "--account", "lab", "--time", "02:30:00",
        "--memory", "8GB", "--cores", "3", "--gres", "gpu:a100:1", "--directive=--constraint=ib",
        "--host", "127.0.0.1",
    )  # fmt: skip
    with cluster_up(folder, *options, **slurm) as up:
        up.wait_for("1 worker")
        script = (tmp_path / "script.sh").read_text()
        subprocess.run(["sh", "-n", str(tmp_path / "script.sh")], check=True)
        for line in (
            "#SBATCH -p gpu", "#SBATCH -A lab", "#SBATCH -n 1", "#SBATCH --cpus-per-task=3",
            "#SBATCH --mem=8G", "#SBATCH -t 02:30:00", "#SBATCH --gres=gpu:a100:1",
            "#SBATCH --constraint=ib", "export DASK_DISTRIBUTED__WORKER__DAEMON=False",
        ):  # fmt: skip
            assert line in script.splitlines(), script
        (command,) = (line for line in script.splitlines() if "distributed.cli.dask_worker" in line)
        for words in (
            up.place.scheduler, "--nthreads 1", "--resources GPU=1", "--no-dashboard",
            f"--tls-ca-file {folder}/cert.pem", f"--tls-key {folder}/key.pem", "--protocol tls://",
        ):  # fmt: skip
            assert words in command
        assert "PRIVATE KEY" not in script
        worker = psutil.Process(int((tmp_path / "job.pid").read_text()))
        assert up.end(signal.SIGINT) == (130, [])
        assert psutil.wait_procs([worker], timeout=60)[1] == []
    assert (tmp_path / "cancelled").read_text().split() == ["42"]


TAKES_ONE = """#!/bin/sh
mkdir "$STUB/first" 2> /dev/null && echo Submitted batch job 42 && exit
echo 'sbatch: error: invalid partition specified: gpu' >&2
exit 1
"""


def test_jobs_that_slurm_does_not_take_are_told_and_nothing_is_left(
    tmp_path: Path, slurm: dict[str, str]
) -> None:
    stub, folder = tmp_path / "bin" / "sbatch", tmp_path / "cluster"
    stub.write_text(TAKES_ONE)
    (tmp_path / "job.pid").write_text("")
    words = ("cluster", "up", "--slurm", "2", "--host", "127.0.0.1", "--folder", str(folder))
    done = run_cli(*words, cwd=tmp_path, environment=slurm)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "gpuexplorer: error: SLURM does not take a job of the cluster; ask for less or for "
        "something else, by what it says below",
        "  sbatch: error: invalid partition specified: gpu",
    ]
    assert not (folder / "cluster.toml").exists()
    assert (tmp_path / "cancelled").read_text().split() == ["42"], "the one that it took"
    stub.unlink()
    nowhere = {**slurm, "PATH": str(tmp_path / "bin")}
    said = assert_one_sentence(run_cli(*words, cwd=tmp_path, environment=nowhere), 3)
    assert said.startswith("this machine has no sbatch")


def test_workers_that_do_not_come_are_told_with_where_to_look(
    tmp_path: Path, slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A job that waits in SLURM's queue, or that ended before it was a worker."""
    monkeypatch.setattr(cluster, "COME_S", 0.1)
    for name, text in slurm.items():
        monkeypatch.setenv(name, text)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\necho Submitted batch job 42\n")
    (tmp_path / "job.pid").write_text("")
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if "of 1 workers" in text:
            raise KeyboardInterrupt

    monkeypatch.setattr(cluster, "say", say)
    words = ["cluster", "up", "--slurm", "1", "--host", "127.0.0.1", "--folder"]
    assert main([*words, str(tmp_path / "cluster")]) == 130
    told = said[-2]
    assert told.startswith("gpuexplorer: 0 of 1 workers are there, and none has come for ")
    assert f"'squeue --me' whether jobs wait (42), and in {tmp_path}, in the file slurm-" in told


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """Another machine over SSH, which this user's settings know."""
    server = Sshd(tmp_path / "machine", monkeypatch)
    settings = tmp_path / "home" / ".ssh" / "config"
    settings.parent.mkdir(parents=True)
    settings.write_text(server.settings.read_text())
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    yield server
    server.close()


def copies_of_the_key(folder: Path) -> set[Path]:
    """Return where a cluster's key lies beside its ``folder``; other clusters have others."""
    key, found = (folder / "key.pem").read_text(), set[Path]()
    for path in Path("/tmp").glob("gpuexplorer-*/key.pem"):
        with suppress(FileNotFoundError):  # of another cluster, which has just ended
            if path.read_text() == key:
                found.add(path)
    return found


@pytest.mark.parametrize("end", ["ctrl-c", pytest.param("down", marks=pytest.mark.long)])
def test_workers_over_ssh_get_certificates_and_leave_neither_these_nor_a_process(
    machine: Sshd, tmp_path: Path, end: str
) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"# one machine\n{getpass.getuser()}@127.0.0.1:{machine.port} 2\n")
    folder = tmp_path / "cluster"
    with cluster_up(folder, "--ssh", str(hosts)) as up:
        up.wait_for("2 workers")
        (key,) = copies_of_the_key(folder)
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
        client = connect(up.place)
        far = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        far += [psutil.Process(client.run_on_scheduler(os.getpid))]
        client.close()
        assert not [one for one in far if "PRIVATE KEY" in " ".join(one.cmdline())]
        if end == "ctrl-c":
            assert up.end(signal.SIGINT) == (130, [])
        else:
            assert run_cli("cluster", "down", folder, cwd=tmp_path).returncode == 0
            assert up.process.wait(60) == 0
        assert psutil.wait_procs(far, timeout=60)[1] == []
    assert not copies_of_the_key(tmp_path / "cluster")


@pytest.mark.long
def test_a_scheduler_that_died_is_told_as_such_and_up_fails(machine: Sshd, tmp_path: Path) -> None:
    """It said that 'cluster down' had ended it."""
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"{getpass.getuser()}@127.0.0.1:{machine.port}\n")
    with cluster_up(tmp_path / "cluster", "--ssh", str(hosts)) as up:
        up.wait_for("1 worker")
        client = connect(up.place)
        scheduler = client.run_on_scheduler(os.getpid)
        workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        client.close()
        os.kill(scheduler, signal.SIGKILL)
        up.wait_for(f"the scheduler at {up.place.scheduler} does not answer any more; see whether")
        assert up.process.wait(60) == 1
        assert not [line for line in up.said if not line.startswith("gpuexplorer: ")]
        assert psutil.wait_procs(workers, timeout=60)[1] == []
    assert not copies_of_the_key(tmp_path / "cluster")


@pytest.mark.parametrize("without", ["scheduler", "workers"])
def test_programs_that_do_not_start_over_ssh_are_told_with_what_they_said(
    machine: Sshd, tmp_path: Path, without: str
) -> None:
    hosts, python = tmp_path / "hosts.txt", tmp_path / "python"
    hosts.write_text(f"{getpass.getuser()}@127.0.0.1:{machine.port}\n")
    here = 'case "$*" in *"dask_spec tls"*) {};; *) {};; esac\n'
    fails, starts = "echo No module named distributed >&2; exit 1", f'exec {sys.executable} "$@"'
    both = (fails, starts) if without == "workers" else (starts, fails)
    python.write_text("#!/bin/sh\n" + here.format(*both))
    python.chmod(0o755)
    done = run_cli(
        "cluster", "up", "--ssh", hosts, "--remote-python", python, "--folder",
        tmp_path / "cluster", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    first, *below = done.stderr.splitlines()
    assert first.startswith("gpuexplorer: error: scheduler and workers do not start on the machin")
    assert "  No module named distributed" in below
    assert not copies_of_the_key(tmp_path / "cluster")


def test_a_machine_that_ssh_does_not_reach_is_told_with_what_to_run_once(
    machine: Sshd, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"127.0.0.1:{machine.port}\n")
    machine.known_hosts.write_text("")
    with cluster_up(tmp_path / "cluster", "--ssh", str(hosts)) as up:
        up.wait_for("127.0.0.1 cannot be used over SSH; run 'ssh 127.0.0.1 true' once")
        assert up.process.wait(60) == 1


def test_no_machine_keeps_the_key_of_a_cluster_that_lacks_one(
    machine: Sshd, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts.txt"
    hosts.write_text(f"{getpass.getuser()}@127.0.0.1:{machine.port}\n127.0.0.1:1\n")
    options = ("--ssh", str(hosts), "--folder", str(tmp_path / "cluster"))
    done = run_cli("cluster", "up", *options, cwd=tmp_path)
    assert "127.0.0.1 cannot be used over SSH; run 'ssh" in done.stderr
    assert done.returncode == 1
    assert not copies_of_the_key(tmp_path / "cluster")


@pytest.mark.parametrize("line", ["gpu 0", "gpu 65", "a b c", "user@", "gpu:port", "-oProxy=x y"])
def test_a_line_that_is_no_machine_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text(f"gpu1\n\n{line}\n")
    with pytest.raises(InputError, match=r"^line 3 of .*hosts.txt is no machine: "):
        read_hosts(path)


def test_machines_are_read_with_user_port_and_workers(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("gpu1\nme@gpu2:2222 4  # the big one\n[fe80::1]:22\n")
    assert read_hosts(path) == [
        Host("gpu1"), Host("gpu2", "me", 2222, 4), Host("fe80::1", None, 22),
    ]  # fmt: skip
