"""Several kernels in one C file: their machine code, and files that clang rejects."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import Context

from branded import jit, scan, vmap
from branded.backends.cpu.runtime import native
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import clang_batches, joined_kernels, threaded_compile
from branded.tinygrad_compat.speed.joined_kernels import compile_together

pytestmark = pytest.mark.enabled("cpu")
COMPILER: Any = getattr(Device["CPU"].renderer, "compiler", None)
if not clang_batches.runs(COMPILER) or not native.can_run("CPU"):
    pytest.skip("clang does not compile here", allow_module_level=True)

TABLE = "static const float table[3] = {{{0}, 2, 3}}, other[1] = {{{0}}};\n"
HELPER = "static float scaled(float x) {{ return x * {0}; }}\n#define PLUS {0}\n"
VECTOR = "typedef float few __attribute__((aligned({0}), ext_vector_type(4)));\n"
KERNEL = "void k(float* restrict x) {{ for (int i = 0; i < 3; i++) x[i] = scaled(x[i]) + table[i] * {1} + PLUS; }}"
SOURCES = [(TABLE + HELPER + VECTOR + KERNEL).format(4 * n, n + 0.125) for n in (1, 2, 4)]
"""Kernels with the same names for different functions, tables, macros and types."""


@pytest.fixture(autouse=True)
def no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joined_kernels, "_failed", [])


def computed(code: bytes) -> list[float]:
    """Run a kernel on [1, 2, 3]."""
    program = private_api.CPUProgram(Device["CPU"], private_api.TinyELF(code, "k", Device["CPU"].renderer.target, ()))
    x = (ctypes.c_float * 3)(1, 2, 3)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(program.addr)(ctypes.addressof(x))
    return list(x)


def test_joined_kernels_compute_as_kernels_of_their_own() -> None:
    codes = compile_together(COMPILER, SOURCES)
    assert codes is not None
    expected = [[4 * n * x + [4 * n, 2, 3][x - 1] * (n + 0.125) + 4 * n for x in (1, 2, 3)] for n in (1, 2, 4)]
    assert [computed(code) for code in codes] == expected


@pytest.mark.parametrize("wrong", ["void k(float* x) { x[0] = ; }", "int k(int* x) { x[0] == 1; return x[0]; }"])
def test_a_rejected_file_leaves_each_kernel_to_its_own(wrong: str) -> None:
    assert compile_together(COMPILER, [SOURCES[0], wrong]) is None
    assert compile_together(COMPILER, SOURCES) is None, "a second file would fail too"


def test_one_kernel_is_not_joined() -> None:
    assert compile_together(COMPILER, SOURCES[:1]) is None


def test_a_program_joins_its_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[int] = []

    def noted(compiler: Any, sources: list[str]) -> list[bytes] | None:
        joined.append(len(sources))
        return compile_together(compiler, sources)

    monkeypatch.setattr(joined_kernels, "compile_together", noted)
    monkeypatch.setattr(threaded_compile, "MANY", 10**6)
    monkeypatch.setattr(private_api.worker.PARALLEL, "value", 2)

    def f(x: Tensor) -> Tensor:
        for i in range(5):
            x = x.softmax() * (i + 1.25) + x.max()
        return x

    x = np.linspace(-1, 1, 33, dtype=np.float32).reshape(3, 11)
    with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
        y = jit(vmap(f))(Tensor(x)).numpy()
    np.testing.assert_allclose(y, vmap(f)(Tensor(x)).numpy(), rtol=1e-5)
    assert max(joined) > 1


def test_kernels_of_two_devices_have_two_files() -> None:
    """The kernel that converts the list is compiled for the device of Python, in the same program as its sum."""
    with Context(CACHELEVEL=0):  # type: ignore[no-untyped-call]
        x = Tensor([3, 4], dtype=dtypes.bfloat16)
        total = scan(lambda c, x: (c + x, None), 0, x)[0]
        assert total.cast(dtypes.float32).item() == 7
