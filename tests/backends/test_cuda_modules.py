"""Compiled code on a GPU: it stays while a run may launch it, and makes room afterwards."""

from __future__ import annotations

from gpuexplorer.backends.cuda.session import MAX_MODULES, CudaSession
from tests.backends.fake_cuda import FACTS, FakeCuda


def load_many(session: CudaSession, count: int) -> None:
    for number in range(count):
        session.load(b"code %d" % number, "axpy")


def test_modules_of_runs_that_are_over_make_room() -> None:
    fake = FakeCuda()
    session = CudaSession(FACTS, fake.api, lambda: b"gate")
    gate_module = next(iter(fake.modules))
    load_many(session, 3 * MAX_MODULES)
    assert len(fake.modules) == MAX_MODULES + 1
    assert gate_module in fake.modules  # its kernels are launched around every batch
    loaded = dict(fake.modules)
    session.load(b"code %d" % (3 * MAX_MODULES - 1), "axpy")
    assert fake.modules == loaded  # the latest are there still
    session.close()
    assert not fake.modules


def test_a_module_stays_while_a_kernel_of_it_is_held() -> None:
    fake = FakeCuda()
    session = CudaSession(FACTS, fake.api, None)
    kernel = session.load(b"held", "axpy")
    load_many(session, 3 * MAX_MODULES)
    assert b"held" in fake.modules.values()
    assert session.load(b"held", "axpy") is kernel
    del kernel
    load_many(session, 3 * MAX_MODULES)
    assert b"held" not in fake.modules.values()


def test_a_function_of_a_module_that_was_unloaded_was_not_launched() -> None:
    fake = FakeCuda()
    session = CudaSession(FACTS, fake.api, None)
    kernel = session.load(b"old", "axpy")
    function = kernel.function
    session.remember_launched(function)
    session.allow_dynamic(kernel, 100_000)
    del kernel
    load_many(session, 3 * MAX_MODULES)
    assert not session.was_launched(function)  # another may get its handle
