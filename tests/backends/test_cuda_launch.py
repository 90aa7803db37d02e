"""Launches of CUDA kernels from C, with functions of Python in place of the driver."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from branded.backends.cpu.runtime import native
from branded.backends.cuda import launch
from branded.errors import CompilerError

U64, U32 = ctypes.c_uint64, ctypes.c_uint32
NUMBERS = array("Q", [0] * 8)
AT = NUMBERS.buffer_info()[0]


class Driver:
    """A driver that moves memory of this process, and whose kernel 5 adds its third argument to its first."""

    def __init__(self, status: int = 0) -> None:
        self.calls: list[tuple[Any, ...]] = []

        def set_context(context: int) -> int:
            self.calls.append(("context", context))
            return 0

        def run(kernel: int, *rest: int) -> int:
            *dims, stream, arguments, _ = rest
            pointers = (U64 * 3).from_address(arguments)
            to, width, step = (U64.from_address(p).value for p in pointers)
            self.calls.append((kernel, tuple(dims), stream, width, step))
            U64.from_address(to).value += step
            return status

        def move(to: int, source: int, size: int) -> int:
            ctypes.memmove(to, source, size)
            return 0

        self.cuCtxSetCurrent = ctypes.CFUNCTYPE(ctypes.c_int, U64)(set_context)
        self.cuLaunchKernel = ctypes.CFUNCTYPE(ctypes.c_int, U64, *[U32] * 7, U64, U64, U64)(run)
        self.cuMemcpyDtoD_v2 = ctypes.CFUNCTYPE(ctypes.c_int, U64, U64, U64)(move)
        self.cuMemcpyDtoH_v2 = ctypes.CFUNCTYPE(ctypes.c_int, U64, U64, U64)(move)


RUNTIME = SimpleNamespace(prg=ctypes.c_void_p(5), smem=48)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], launch.Launcher]:
    monkeypatch.setattr(launch, "Device", {"CUDA": SimpleNamespace(context=ctypes.c_void_p(7))})
    return lambda driver: launch.Launcher("CUDA", driver)


def test_kernels_run_in_order_with_their_steps(made: Callable[[Any], launch.Launcher]) -> None:
    driver = Driver()
    cuda = made(driver)
    NUMBERS[0], NUMBERS[1] = 10, 0
    kernel = cuda.kernel(RUNTIME, ((2, 3, 1), (32, 1, 1)), [[native.Ref(0), 9, 0]] * 3, 2)
    copy = cuda.copy([[native.Ref(0, 8), native.Ref(0), 8]] * 3)
    native.Plan(native.Table([native.Inner([native.Table([kernel, copy], length=4)] * 3)])).run([AT])
    assert NUMBERS[0] == NUMBERS[1] == 10 + 0 + 1 + 2 + 3
    assert driver.calls[0] == ("context", 7)
    launches = [c for c in driver.calls if c[0] != "context"]
    assert launches == [(5, (2, 3, 1, 32, 1, 1, 48), 0, 9, step) for step in range(4)]


def test_a_flag_is_read_from_the_device(made: Callable[[Any], launch.Launcher]) -> None:
    cuda = made(Driver())
    here, NUMBERS[0], NUMBERS[2] = array("Q", [0]), 0, 1
    step = cuda.kernel(RUNTIME, ((1, 1, 1), None), [[AT, 0, 3]] * 3, -1)
    ends = cuda.copy([[AT + 16, AT + 24, 8]] * 3)  # the flag becomes the number that stands behind it
    test = cuda.copy([[here.buffer_info()[0], AT + 16, 8]] * 3, to_host=True)
    NUMBERS[3] = 0
    table = native.Table([step, ends], native.WITHOUT_END, tests=[test], flag=here.buffer_info()[0], move=cuda.move)
    assert native.Plan(table).run([]) == 1
    assert NUMBERS[0] == 3


def test_an_error_of_the_driver_is_raised(made: Callable[[Any], launch.Launcher]) -> None:
    kernel = made(Driver(status=700)).kernel(RUNTIME, ((1, 1, 1), None), [[AT, 0, 0]], -1)
    with pytest.raises(RuntimeError, match="700"):
        native.Plan(native.Table([kernel])).run([])


def test_there_is_no_launcher_elsewhere() -> None:
    assert launch.launcher("CPU") is None
    assert launch.launcher("METAL") is None


def test_tinygrad_launches_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(device: str) -> bool:
        raise CompilerError("compiler: there is none")

    monkeypatch.setattr(launch, "load_driver", Driver)
    monkeypatch.setattr(native, "can_run", refused)
    assert launch.launcher.__wrapped__("CUDA") is None
