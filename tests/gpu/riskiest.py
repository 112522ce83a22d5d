"""What may go wrong at first contact with a GPU, one check a line. Run it before the tests."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable

import numpy as np

failed: list[str] = []


def check(name: str, function: Callable[[], object]) -> object:
    """Run one check, print what it found, and go on when it fails."""
    began = time.perf_counter()
    try:
        found = function()
    except Exception:  # noqa: BLE001 - every check is tried
        failed.append(name)
        print(f"FAIL {name}\n{traceback.format_exc()}", flush=True)
        return None
    print(f"ok   {name} ({time.perf_counter() - began:.2f} s): {found}", flush=True)
    return found


def main() -> int:
    """Check driver, CuPy, NVRTC, gate, timing, cuBLAS and NVML in that order."""
    from gpuexplorer.backends.cuda import CudaBackend, build, gate
    from gpuexplorer.backends.cuda import driver as cu
    from gpuexplorer.backends.cuda.describe import architecture
    from gpuexplorer.backends.cuda.session import Api, Session
    from gpuexplorer.backends.cuda.timing import Work, time_launches
    from gpuexplorer.telemetry.ladder import open_source

    library = cu.Driver.load()
    if library is None:
        print("no NVIDIA driver is installed")
        return 3
    driver = cu.Driver(library)
    check("driver's CUDA version", lambda: driver.version)
    facts = driver.devices()[0]
    check("attributes", lambda: facts)
    backend = CudaBackend(threads=1)
    found = check("devices", backend.discover)
    check("versions", backend.versions)
    arch = architecture(facts.capability)
    cubin = check(f"NVRTC compiles the gate for {arch}", lambda: len(build.gate_compiler(arch)()))
    if cubin is None:
        print(f"{len(failed)} failed: {', '.join(failed)}")
        return 1
    session = Session(facts, Api.of_cupy(), build.gate_compiler(arch))
    flag = check("the gate opens when told to", lambda: session.gate)
    if flag is None:
        failed.append("no gate")
    if isinstance(flag, gate.Gate):
        kernel = session.load(build.gate_compiler(arch)(), gate.ENTRY)
        check("kernel attributes", lambda: kernel)

        def held() -> float:
            began = time.perf_counter()
            with flag.closed():
                session.api.runtime.eventRecord(session.events(1)[0], session.stream)
                time.sleep(0.05)  # the stream must still be shut at the end of this
                busy = session.api.runtime.eventQuery(session.events(1)[0])
            session.wait()
            assert busy != 0, "the stream ran on behind the gate"
            assert not flag.take_late()
            return time.perf_counter() - began

        check("the gate holds the stream for 50 ms", held)
        empty = Work(lambda: None, None, 1)
        for gated in (True, False):
            check(
                f"median of 512 empty event pairs, gated {gated}",
                lambda gated=gated: np.median(  # type: ignore[misc]
                    time_launches(session, empty, 512, gated=gated).seconds
                ),
            )
    if isinstance(found, tuple):
        source = check("telemetry opens by UUID", lambda: open_source(found[0]))
        if source is not None:
            check("a reading", source.read)  # type: ignore[attr-defined]
    check("closing", session.close)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
