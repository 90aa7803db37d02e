"""What we mend in tinygrad: right with us, and still wrong without us, or the patch may go."""

from __future__ import annotations

import os
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
from tests.tinygrad_compat import faults

pytestmark = pytest.mark.enabled("cpu")

ROOT = Path(__file__).parents[2]


def started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A process of its own, of the tinygrad that nobody has mended."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize("program", (*faults.MENDED, *faults.OF_SOME_COMPILERS), ids=lambda f: f.__name__)
def test_with_us_it_is_right(program: Callable[[], None]) -> None:
    with Context(DEV="CPU"):
        program()


def test_without_us_it_is_still_wrong(tmp_path: Path) -> None:
    output = started("-m", "tests.tinygrad_compat.faults", DEV="PYTHON", **packages.compiler(tmp_path)).communicate()[0]
    said = dict(line.split()[:2] for line in output.splitlines())
    wanted = {f.__name__: "ends" if f.__name__ in faults.CRASHES else "wrong" for f in (*faults.MENDED, *faults.OPEN)}
    assert said == wanted, "tinygrad has mended what is right here: its patch may go"


def test_loops_with_loads_under_a_condition_are_not_made_vectors() -> None:
    x = Tensor.empty(5, 7, device="CPU").realize()
    for y, gated in ((x.pad((1, 1)), True), (x * 3, False)):
        (call,) = y.contiguous().schedule_linear().src
        program = to_program(call.src[0], Device["CPU"].renderer)
        source = next(u.arg for u in program.src if u.op is Ops.SOURCE)
        assert ("#pragma clang loop vectorize(disable)" in source) == gated


def test_which_devices_are_alike() -> None:
    Device["CPU"]  # it is there
    assert (
        share_compiled_kernels._first("CPU:1")
        == share_compiled_kernels._first(("CPU:2", "CPU:1"))
        == share_compiled_kernels._first(("CPU", "CPU:1"))
        == "CPU"
    )
    assert share_compiled_kernels._first("CPU") is None
    assert share_compiled_kernels._first(("CPU:1", "PYTHON")) is None  # another compiler
    assert share_compiled_kernels._first("CUDA:1") is None  # the first of which nobody has used
    assert not private_api.is_open("CUDA")
    own = Device["CPU"].renderer
    old, plain = copy(own), CStyleLanguage(own.target)
    old.target = replace(own.target, arch="x86_64,x86-64")
    assert [share_compiled_kernels._is_same(own, other) for other in (copy(own), old, plain)] == [True, False, False]


def test_what_is_known_of_nan() -> None:
    nan, one = UOp.const(float("nan")), UOp.const(1.0)
    pairs = [(nan, nan), (nan, one), (one, nan), (one, one), (one, UOp.const(2.0))]
    bounds = [(u.vmin, u.vmax) for u in (a.ne(b) for a, b in pairs)]
    assert bounds == [(False, True), (False, True), (False, True), (False, False), (True, True)]
    differ = private_api.python_alu[Ops.CMPNE]
    assert differ(Invalid, 1.0) and not differ(Invalid, Invalid) and differ(nan.arg, nan.arg)


def test_what_is_no_number_does_not_go_round() -> None:
    assert dtypes.int32.const(Invalid) is Invalid and dtypes.weakint.const(Invalid) is Invalid


def test_small_ints_go_round_with_any_operand() -> None:
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


def test_the_page_has_every_fault() -> None:
    page = (ROOT / "docs" / "tinygrad.md").read_text()
    names = {*tinygrad_compat.PATCHES, *(f.__name__ for f in (*faults.MENDED, *faults.OF_SOME_COMPILERS, *faults.OPEN))}
    assert {name for name in names if f"| `{name}` |" not in page} == set()


def test_the_processes_that_compile_have_what_they_need() -> None:
    run = started(
        "-c",
        "import branded, tests.tinygrad_compat.faults; tests.tinygrad_compat.faults.main(['workers'])",
        BRANDED_PATCHES="-workers",
    )
    assert run.communicate()[0] == "workers wrong AssertionError\n"
    assert set(compile_workers.COMPILING) < set(tinygrad_compat.PATCHES)


def test_a_tinygrad_that_was_not_tried_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinygrad_compat, "TINYGRAD", "0.13.")
    assert tinygrad_compat.select_patches("1") == []
    assert tinygrad_compat.version.cache_info().misses == 1  # it is looked for once, for all who ask


# ---- how they reach those who write mapped functions ----


def test_what_is_gathered_is_counted_once() -> None:
    w = Tensor([[1.0, 2.0], [3.0, 4.0]]).realize()
    total = vmap(lambda x: (all_gather(w, "i", tiled=True) * x).sum(), axis_name="i")
    assert total(Tensor([1.0, 1.0, 1.0])).tolist() == [30.0] * 3


def test_a_view_of_what_was_made_contiguous_in_the_body() -> None:
    x = Tensor([[1.0, 2.0]]).realize()
    assert vmap(lambda a: a.contiguous()[:1])(x).tolist() == [[1.0]]


def test_a_view_that_was_realized_through_a_detach() -> None:
    """`sort` of a constant, as a result of which the axis of examples is in the middle."""
    x = Tensor.full((3, 4), 1.0).clone().detach().reshape(1, 3, 4).permute(1, 0, 2).realize()
    assert x.tolist() == [[[1.0] * 4]] * 3
    y = vmap(lambda _: Tensor.full((3, 4), 1.0).sort(1)[0].detach(), out_axes=-2)(Tensor([1.0])).realize()
    assert y.tolist() == [[[1.0] * 4]] * 3


def test_a_write_into_a_tensor_of_one_entry_in_the_body() -> None:
    def body(x: Tensor) -> Tensor:
        shared, own = Tensor.zeros(1).contiguous().realize(), x.clone()
        own[0] = x[0] * 2
        shared[0] = 3
        return own + shared

    assert vmap(body)(Tensor([[1.0], [2.0]])).tolist() == [[5.0], [7.0]]


def test_writes_that_were_right_stay_right() -> None:
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


def test_a_compiler_that_was_chosen_and_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "nosuch-cc")
    said = str(c_compiler._compiler_error(FileNotFoundError(2, "No such file or directory")))
    assert "the one that was chosen cannot be run\n  CC:   nosuch-cc" in said


def test_a_cache_that_cannot_be_kept_is_said_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_api.CACHELEVEL, "value", private_api.CACHELEVEL.value)
    with pytest.warns(RuntimeWarning, match="cache: compiled kernels cannot be kept") as found:
        disk_cache_errors._off(OSError("full"))
    assert found[0].filename == __file__
