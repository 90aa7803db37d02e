"""The patches to tinygrad: programs are correct with them, and still wrong without; otherwise a patch can go."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Context, Device, Tensor, dtypes, nn
from tinygrad.codegen import to_program
from tinygrad.dtype import Invalid
from tinygrad.renderer.cstyle import CStyleLanguage
from tinygrad.uop.ops import Ops, UOp

from branded import all_gather, tinygrad_compat, vmap
from branded.tinygrad_compat import c_compiler, private_api
from branded.tinygrad_compat.fixes.runtime import disk_cache_errors
from branded.tinygrad_compat.speed import compile_workers, share_compiled_kernels
from tests.project import packages
from tests.support.profiles import amount
from tests.tinygrad_compat import faults

pytestmark = pytest.mark.enabled("cpu")

ROOT = Path(__file__).parents[2]


def started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a process in which tinygrad is not patched."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize("program", (*faults.FIXED, *faults.OF_SOME_COMPILERS), ids=lambda f: f.__name__)
def test_correct_with_patches(program: Callable[[], None]) -> None:
    with Context(DEV="CPU"):
        program()


def test_still_wrong_without_patches(tmp_path: Path) -> None:
    """`make test` asks for a third of them: the outcomes change with the version of tinygrad only."""
    wanted = {f.__name__: "ends" if f.__name__ in faults.CRASHES else "wrong" for f in (*faults.FIXED, *faults.OPEN)}
    names = [*wanted][:: amount(3, 1)]
    words = ("-m", "tests.tinygrad_compat.faults", *names)
    output = started(*words, DEV="PYTHON", **packages.compiler(tmp_path)).communicate()[0]
    said = dict(line.split()[:2] for line in output.splitlines())
    wanted = {name: wanted[name] for name in names}
    assert said == wanted, "tinygrad has mended what is right here: its patch may go"


def test_no_fault_is_confirmed_without_a_compiler() -> None:
    missing = {"CC": "/missing/clang", "CACHELEVEL": "0"}  # no kernel is left of an earlier run
    process = started("-m", "tests.tinygrad_compat.faults", "quotients", "ranges", DEV="CPU", **missing)
    lines = process.communicate()[0].splitlines()
    assert lines == [f"quotients {faults.NO_COMPILER}", f"ranges {faults.NO_COMPILER}"] and process.returncode == 1


def test_loops_over_wrapping_indices_are_not_vectorized() -> None:
    x, z = Tensor.empty(5, 7, device="CPU").realize(), Tensor.empty(16, 64, dtype="uint8", device="CPU").realize()
    rolled, roll_of_rows = z.roll((1, 1), (0, 1)), z.roll(1, 0)
    for y, loops in ((x.pad((1, 1)), []), (x * 3, []), (rolled, ["0", "1"]), (roll_of_rows, ["0"])):
        (call,) = y.contiguous().schedule_linear().src
        with Context(BRANDED_CPU=0):  # where branded writes kernels, a comparison wraps these indices
            program = to_program(call.src[0], Device["CPU"].renderer)
        source = next(u.arg for u in program.src if u.op is Ops.SOURCE)
        assert re.findall(r"#pragma clang loop vectorize\(disable\)\n *for \(int \w+?(\d) ", source) == loops


def test_devices_sharing_kernels() -> None:
    Device["CPU"]  # opens the device
    assert (
        share_compiled_kernels._first_device("CPU:1")
        == share_compiled_kernels._first_device(("CPU:2", "CPU:1"))
        == share_compiled_kernels._first_device(("CPU", "CPU:1"))
        == "CPU"
    )
    assert share_compiled_kernels._first_device("CPU") is None
    assert share_compiled_kernels._first_device(("CPU:1", "PYTHON")) is None  # another compiler
    assert share_compiled_kernels._first_device("CUDA:1") is None  # the first device of this kind is not open
    assert not private_api.is_open("CUDA")
    own = Device["CPU"].renderer
    old, plain = copy(own), CStyleLanguage(own.target)
    old.target = replace(own.target, arch="x86_64,x86-64")
    assert [share_compiled_kernels._is_same(own, other) for other in (copy(own), old, plain)] == [True, False, False]


def test_comparison_bounds_of_nan() -> None:
    nan, one = UOp.const(float("nan")), UOp.const(1.0)
    pairs = [(nan, nan), (nan, one), (one, nan), (one, one), (one, UOp.const(2.0))]
    bounds = [(u.vmin, u.vmax) for u in (a.ne(b) for a, b in pairs)]
    assert bounds == [(False, True), (False, True), (False, True), (False, False), (True, True)]
    differ = private_api.python_alu[Ops.CMPNE]
    assert differ(Invalid, 1.0) and not differ(Invalid, Invalid) and differ(nan.arg, nan.arg)


def test_invalid_constant_does_not_wrap() -> None:
    assert dtypes.int32.const(Invalid) is Invalid and dtypes.weakint.const(Invalid) is Invalid


def test_small_ints_wrap_with_any_operand() -> None:
    with np.errstate(over="ignore"):
        for dtype in (np.uint8, np.int8, np.uint16, np.int16):
            top = np.iinfo(dtype).max
            n, m = np.array([1, 2, top, top - 3, 7], dtype), np.array([3, 9, top, 5, 1], dtype)
            a, b = Tensor(n, device="CPU").realize(), Tensor(m, device="CPU").realize()
            pairs = [(a + b, n + m), (a - b, n - m), (a * b, n * m), (a * 4, n * dtype(4)), (a - 5, n - dtype(5))]
            for x, right in pairs:
                assert x.cast(dtypes.int64).tolist() == right.astype(np.int64).tolist()
                assert (x > b).tolist() == (right > m).tolist() and (x // b).tolist() == (right // m).tolist()


def test_patches_can_be_switched_off() -> None:
    assert tinygrad_compat.select_patches("1") == list(tinygrad_compat.PATCHES)
    assert tinygrad_compat.select_patches("0") == []
    assert tinygrad_compat.select_patches("-ranges, -whole") == [
        name for name in tinygrad_compat.PATCHES if name not in ("ranges", "whole")
    ]
    program = "import branded, tests.tinygrad_compat.faults; tests.tinygrad_compat.faults.main(['ranges', 'whole'])"
    without = {
        "-ranges": "ranges wrong AssertionError\nwhole right\n",
        "0": "ranges wrong AssertionError\nwhole wrong AssertionError\n",
    }
    runs = {off: started("-c", program, BRANDED_PATCHES=off, DEV="PYTHON") for off in without}
    assert {off: run.communicate()[0] for off, run in runs.items()} == without


def test_page_lists_every_fault() -> None:
    page = (ROOT / "docs" / "tinygrad.md").read_text()
    names = {*tinygrad_compat.PATCHES, *(f.__name__ for f in (*faults.FIXED, *faults.OF_SOME_COMPILERS, *faults.OPEN))}
    assert {name for name in names if f"| `{name}` |" not in page} == set()


def test_compile_workers_have_their_patches() -> None:
    run = started(
        "-c",
        "import branded, tests.tinygrad_compat.faults; tests.tinygrad_compat.faults.main(['workers'])",
        BRANDED_PATCHES="-workers",
    )
    assert run.communicate()[0] == "workers wrong AssertionError\n"
    assert set(compile_workers.COMPILING) < set(tinygrad_compat.PATCHES)


def test_untested_tinygrad_is_not_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinygrad_compat, "TINYGRAD", "0.13.")
    assert tinygrad_compat.select_patches("1") == []
    assert tinygrad_compat.version.cache_info().misses == 1  # it is computed once for all callers


# ---- effects on mapped functions ----


def test_all_gather_counts_once() -> None:
    w = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    total = vmap(lambda x: (all_gather(w, "i", tiled=True) * x).sum(), axis_name="i")
    assert total(Tensor([1.0, 1.0, 1.0])).tolist() == [30.0] * 3


def test_view_of_a_contiguous_in_the_body() -> None:
    x = Tensor([[1.0, 2.0]]).realize()
    assert vmap(lambda a: a.contiguous()[:1])(x).tolist() == [[1.0]]


def test_view_realized_through_detach() -> None:
    """`sort` of a constant returns such a view, and the mapped axis is then in the middle."""
    x = Tensor.full((3, 4), 1.0).clone().detach().reshape(1, 3, 4).permute(1, 0, 2).realize()
    assert x.tolist() == [[[1.0] * 4]] * 3
    y = vmap(lambda _: Tensor.full((3, 4), 1.0).sort(1)[0].detach(), out_axes=-2)(Tensor([1.0])).realize()
    assert y.tolist() == [[[1.0] * 4]] * 3


def test_write_into_a_single_element_in_the_body() -> None:
    def body(x: Tensor) -> Tensor:
        shared, own = Tensor.zeros(1).contiguous().realize(), x.clone()
        own[0] = x[0] * 2
        shared[0] = 3
        return own + shared

    assert vmap(body)(Tensor([[1.0], [2.0]])).tolist() == [[5.0], [7.0]]


def test_correct_writes_stay_correct() -> None:
    x = Tensor([[1.0, 2.0]]).realize()
    x[0] += 1
    x[:, 1] = 7
    x.realize()[:, :1].assign(Tensor([[5.0]]))
    assert x.tolist() == [[5.0, 7.0]]
    x[:] = Tensor([[3.0, 4.0]])
    assert x.tolist() == [[3.0, 4.0]]
    layer = nn.Linear(1, 1)
    layer.weight[0] = Tensor([2.0])
    assert layer.weight.tolist() == [[2.0]]


def test_missing_chosen_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "nosuch-cc")
    said = str(c_compiler._compiler_error(FileNotFoundError(2, "No such file or directory")))
    assert "the chosen one cannot be run\n  CC:   nosuch-cc" in said


def test_cache_warning_points_to_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_api.CACHELEVEL, "value", private_api.CACHELEVEL.value)
    with pytest.warns(RuntimeWarning, match="cache: compiled kernels cannot be stored") as found:
        disk_cache_errors._disable_cache(OSError("full"))
    assert found[0].filename == __file__
