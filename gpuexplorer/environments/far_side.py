"""What works on another machine while an engine is set up there: standard library alone.

It is sent as text to a Python there, reads one request as a line of JSON, and answers with such
lines; bytes of files follow the request. Each file stands under its own name once its SHA-256 is
right. The end of its input ends it, and what it has started.
"""

from __future__ import annotations

import base64
import configparser
import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any, BinaryIO

CHUNK_B = 1 << 18
TELL_EVERY_S = 0.2
START_S = 30.0
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FULL_WORDS = re.compile(
    r"No space left on device|\(os error (28|122|27)\)|Disk quota exceeded|File too large", re.I
)
BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""What tells one start of a machine from the next, on Linux."""
READY = "gpuexplorer-far.json"
"""In an environment that is finished: what it is."""


def tell(**words: Any) -> None:
    """Answer with a line."""
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def place(path: str) -> str:
    """Return a path with the home folder in it."""
    return os.path.expanduser(path)


def free_B(path: str) -> int:
    """Return the free space where a path is or would be, in bytes."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return shutil.disk_usage(path).free


# ---- files


def put(request: dict[str, Any], incoming: BinaryIO) -> None:
    """Take files into a folder, those that are not there yet; then it gets its own name."""
    final = place(request["folder"])
    complete = request["at_once"] and all(
        os.path.isfile(os.path.join(final, one["path"])) for one in request["files"]
    )
    if complete:
        tell(have=[one["size"] for one in request["files"]])
        tell(done=True)
        return
    begun = final + ".part" if request["at_once"] and not os.path.isdir(final) else final
    missing = sum(one["size"] for one in request["files"])
    os.makedirs(begun, exist_ok=True)
    have: list[int] = []
    wanted: list[tuple[str, dict[str, Any], int]] = []
    for one in request["files"]:
        path = os.path.join(begun, one["path"])
        if os.path.exists(path) and digest(path) == one["sha256"]:
            have.append(one["size"])
            continue
        part = part_of(path, one)
        have.append(min(os.path.getsize(part), one["size"]) if os.path.exists(part) else 0)
        wanted.append((path, one, have[-1]))
    missing -= sum(have)
    if missing > free_B(begun):
        tell(error="full", path=begun, missing_B=missing - free_B(begun))
        return
    tell(have=have)
    for path, one, there in wanted:
        take(path, one, there, incoming)
    if begun != final:
        os.rename(begun, final)
    tell(done=True)


def part_of(path: str, one: dict[str, Any]) -> str:
    """Return where a file is until all of it has come."""
    return f"{path}.{one['sha256'][:12]}.part"


def take(path: str, one: dict[str, Any], there: int, incoming: BinaryIO) -> None:
    """Take the rest of one file, which may be nothing, and give it its name."""
    part = part_of(path, one)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(part, "ab") as stream:
        stream.truncate(there)
        rest = one["size"] - there
        while rest:
            data = incoming.read(min(CHUNK_B, rest))
            if not data:
                os._exit(1)
            stream.write(data)
            rest -= len(data)
    if digest(part) != one["sha256"]:
        os.unlink(part)
        raise ValueError(f"{one['path']} arrived damaged")
    if one.get("program"):
        os.chmod(part, 0o755)
    os.replace(part, path)


def digest(path: str) -> str:
    """Return a file's SHA-256."""
    found = hashlib.sha256()
    with open(path, "rb") as stream:
        while data := stream.read(1 << 20):
            found.update(data)
    return found.hexdigest()


# ---- an environment


def make(request: dict[str, Any]) -> None:
    """Make an environment with uv, from the index that this machine is set up for or a folder."""
    threading.Thread(target=end_with_input, daemon=True).start()
    folder, scratch = place(request["folder"]), place(request["scratch"])
    os.makedirs(scratch, exist_ok=True)
    wanted, limits = os.path.join(scratch, "wanted.txt"), os.path.join(scratch, "limits.txt")
    for path, lines in ((wanted, request["requirements"]), (limits, request["constraints"])):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")
    ready, python = os.path.join(folder, READY), os.path.join(folder, "bin", "python")
    asked = [request["requirements"], request["constraints"]]
    if os.path.exists(python) and finished(ready) == asked:
        tell(done=True, python=python)
        return
    if os.path.exists(ready):
        check_idle(request["jobs"])
        os.unlink(ready)
    uv = place(request["uv"])
    always = ["--no-config", "--no-progress", "--no-python-downloads", "--cache-dir", scratch]
    venv = ["venv", "--quiet", "--allow-existing", "--python", request["python"], folder]
    install = [
        "pip", "install", "--python", os.path.join(folder, "bin", "python"), "--requirement",
        wanted, "--constraints", limits, "--only-binary", ":all:",
    ]  # fmt: skip
    if request["wheels"]:
        install += ["--no-index", "--offline", "--find-links", place(request["wheels"])]
    else:
        install += ["--index-strategy", "unsafe-best-match"]
        if request["index"]:
            install += ["--index", request["index"]]
    for phase, words in (("venv", venv), ("install", install)):
        status, text = run([uv, *words, *always], environment(scratch), scratch, phase)
        if status:
            if FULL_WORDS.search(text):
                tell(error="full", path=folder, missing_B=0)
            else:
                tell(error="uv", what=text[-2000:])
            return
    with open(ready, "w", encoding="utf-8") as stream:
        json.dump({"kind": request["kind"], "asked": asked}, stream)
    shutil.rmtree(scratch, ignore_errors=True)
    tell(done=True, python=python)


def finished(ready: str) -> Any:
    """Return what a finished environment was asked to have; None where there is none."""
    try:
        with open(ready, encoding="utf-8") as stream:
            return json.load(stream).get("asked")
    except (OSError, ValueError):
        return None


def environment(scratch: str) -> dict[str, str]:
    """Return the variables of uv: where pip is told to find packages, it finds them."""
    told = {name: text for name, text in os.environ.items() if not name.startswith("UV_")}
    told |= {"UV_SYSTEM_CERTS": "1", "UV_HTTP_RETRIES": "3", "TMPDIR": scratch}
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    config = os.environ.get("XDG_CONFIG_HOME") or place("~/.config")
    try:
        settings.read(["/etc/pip.conf", place("~/.pip/pip.conf"), f"{config}/pip/pip.conf"])
    except configparser.Error:
        pass
    index = os.environ.get("PIP_INDEX_URL") or settings.get("global", "index-url", fallback="")
    more = os.environ.get("PIP_EXTRA_INDEX_URL") or settings.get(
        "global", "extra-index-url", fallback=""
    )
    if index:
        told["UV_DEFAULT_INDEX"] = index
    if more:
        told["UV_INDEX"] = " ".join(more.split())
    return told


def run(command: list[str], variables: dict[str, str], scratch: str, phase: str) -> tuple[int, str]:
    """Run uv to its end, and tell meanwhile how much it has fetched."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=variables, text=True, errors="replace",
    ) as process:  # fmt: skip
        said: list[str] = []
        assert process.stdout is not None
        reader = threading.Thread(target=lambda: said.extend(process.stdout or ()), daemon=True)
        reader.start()
        while process.poll() is None:
            tell(phase=phase, fetched_B=size_of(scratch), words=(said or [""])[-1].strip())
            time.sleep(TELL_EVERY_S)
        reader.join()
    return process.returncode, "".join(said)


def size_of(folder: str) -> int:
    """Return the bytes of all files below a folder."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def end_with_input() -> None:
    """End this process and what it has started when nobody listens any more."""
    while os.read(0, 1 << 12):  # not through sys.stdin, whose lock the end would wait for
        pass
    os.killpg(0, signal.SIGKILL)


# ---- the rest


def look(request: dict[str, Any]) -> None:
    """Tell what is here."""
    base = place(request["home"])
    libc = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else None
    system = os.uname()
    tell(
        done=True, base=base, system=system.sysname, machine=system.machine, libc=libc or "",
        free_B=free_B(base), uv=shutil.which("uv", path=os.pathsep.join(
            [os.environ.get("PATH", ""), place("~/.local/bin"), place("~/.cargo/bin")]
        )) or "",
    )  # fmt: skip


def remove(request: dict[str, Any]) -> None:
    """Delete folders of ours, and with the last environment what serves all; tell the bytes."""
    check_idle(request["jobs"])
    freed = sum(delete(folder, request["home"]) for folder in request["folders"])
    environments = place(request["environments"])
    left = os.listdir(environments) if os.path.isdir(environments) else []
    if not left:
        freed += sum(delete(folder, request["home"]) for folder in request["with_the_last"])
    tell(done=True, freed_B=freed)


def check_idle(jobs: str) -> None:
    """Raise ValueError where a job is being measured, which may be in what is to be changed."""
    jobs = place(jobs)
    for name in sorted(os.listdir(jobs)) if os.path.isdir(jobs) else []:
        if running(os.path.join(jobs, name)):
            raise ValueError(f"the detached job {name} is being measured there")


def delete(folder: str, home: str) -> int:
    """Delete a folder of ours; return its bytes."""
    base, inside = os.path.realpath(place(home)), os.path.realpath(place(folder))
    if not inside.startswith(base + os.sep):
        raise ValueError(f"{folder} is none of ours")
    if not os.path.isdir(inside):
        return 0
    freed = size_of(inside)
    shutil.rmtree(inside)
    return freed


# ---- what goes on by itself


def running(folder: str) -> bool:
    """Whether a process is at work in a job's folder; who looks beside us is none."""
    try:
        with open(os.path.join(folder, "lock"), "r+b") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:  # a file system without locks
                return is_there(folder)
    except FileNotFoundError:
        pass
    return False


def is_there(folder: str) -> bool:
    """Whether the processes are there that a job says are its own."""
    group = read(folder, "pid")
    if not group or rebooted(folder):
        return False
    try:
        os.killpg(int(group), 0)
    except OSError:
        return False
    return True


def rebooted(folder: str) -> bool:
    """Whether this machine was started anew since a job began."""
    began_in = read(folder, "boot")
    return bool(began_in) and began_in != read(folder, BOOT_ID)


def job(request: dict[str, Any]) -> None:
    """Begin, look at, end or delete what goes on by itself in a folder."""
    folder, action = place(request["folder"]), request["action"]
    answers = os.path.join(folder, "answers")
    names = sorted(os.listdir(answers)) if os.path.isdir(answers) else []
    names = [name for name in names if name.isdigit()]
    if action == "write":
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, request["name"]), "wb") as stream:
            stream.write(base64.b64decode(request["data"]))
        tell(done=True)
    elif action == "start":
        begin(folder, request["command"])
    elif action == "state":
        stopped = os.path.exists(os.path.join(folder, "stop"))
        tell(
            done=True, running=running(folder), answers=len(names), stopped=stopped,
            said=read(folder, "log")[-2000:], rebooted=rebooted(folder),
            finished=os.path.exists(os.path.join(folder, "done")),
        )  # fmt: skip
    elif action == "fetch":
        wanted = [name for name in names if name not in set(request["have"])][: request["most"]]
        files = {}
        for name in wanted:
            with open(os.path.join(answers, name), "rb") as stream:
                files[name] = base64.b64encode(stream.read()).decode()
        tell(done=True, files=files)
    elif action == "stop":
        stop(folder)
        tell(done=True)
    else:
        shutil.rmtree(folder, ignore_errors=True)
        tell(done=True)


def begin(folder: str, command: list[str]) -> None:
    """Start a job's process, which outlives this one."""
    if running(folder):
        raise ValueError("it is being measured already")
    stop_file = os.path.join(folder, "stop")
    if os.path.exists(stop_file):
        os.unlink(stop_file)
    with open(os.path.join(folder, "boot"), "w", encoding="utf-8") as stream:
        stream.write(read(folder, BOOT_ID))
    with open(os.path.join(folder, "log"), "wb") as log:
        process = subprocess.Popen(
            [place(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd="/", start_new_session=True,
        )  # fmt: skip
    until = time.monotonic() + START_S
    while read(folder, "pid") != str(process.pid) and process.poll() is None:
        if time.monotonic() > until:
            break
        time.sleep(0.05)
    if process.poll():
        tell(error="other", what=read(folder, "log")[-300:].strip())
        return
    tell(done=True)


def read(folder: str, name: str) -> str:
    """Return the text of a job's file, or of an absolute path; nothing where there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except FileNotFoundError:
        return ""


def stop(folder: str) -> None:
    """End a job's process and its engine."""
    if not os.path.isdir(folder):
        return
    with open(os.path.join(folder, "stop"), "wb"):
        pass
    until = time.monotonic() + START_S
    while running(folder) and not read(folder, "pid"):  # it has just begun
        if time.monotonic() > until:
            raise ValueError("the job does not say which process it is")
        time.sleep(0.05)
    if not running(folder):
        return
    group = int(read(folder, "pid"))
    os.killpg(group, signal.SIGTERM)
    os.killpg(group, signal.SIGCONT)  # one that is suspended ends as well
    if not ended(folder):
        os.killpg(group, signal.SIGKILL)
        if not ended(folder):
            raise ValueError(f"the job of process {group} does not end")


def ended(folder: str) -> bool:
    """Wait for a job's process to end; return whether it has."""
    until = time.monotonic() + START_S
    while running(folder) and time.monotonic() < until:
        time.sleep(0.05)
    return not running(folder)


def main() -> None:
    """Do what the request says."""
    incoming = sys.stdin.buffer
    request = json.loads(incoming.readline())
    try:
        if request["action"] == "put":
            put(request, incoming)
        elif request["action"] == "make":
            make(request)
        elif request["action"] == "remove":
            remove(request)
        elif request["action"] == "look":
            look(request)
        else:
            job(request)
    except OSError as error:
        full = error.errno in FULL
        what = f"{error.filename or request.get('folder', '')}: {error.strerror or error}"
        tell(error="full" if full else "other", path=place(request.get("folder", "")), what=what)
    except ValueError as error:
        tell(error="other", what=str(error))


if __name__ == "__main__":
    main()
