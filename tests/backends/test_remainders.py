"""The last elements of rows of any length have the values of numpy, also NaN and infinities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import jit, vmap
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.renderer import remainders
from tests.support.profiles import amount

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(not blas.is_there("CPU"), reason="numpy has no BLAS here, or there is no compiler"),
]

HEAD = "  for (int Lidx1 = 0; Lidx1 < {n}; Lidx1++) {{"
CHEAP, DEAR = "    *(data0+Lidx1) = (val0/val1);", "    *(data0+Lidx1) = power_of_e(val0);"


def loop(n: int, body: str) -> list[str]:
    return [HEAD.format(n=n), body, "  }"]


def test_dear_loop_is_divided() -> None:
    lines = ["for (int Lidx0 = 0; Lidx0 < 7; Lidx0++) {", *loop(127, DEAR), "}"]
    rest = ["  for (int Lidx1 = 112; Lidx1 < 127; Lidx1++) {", DEAR, "  }"]
    want = [lines[0], *loop(112, DEAR), f"  {remainders.NAME}", *rest, "}"]
    assert remainders.vectorize(lines) == want


@pytest.mark.parametrize(("n", "body"), [(31, CHEAP), (127, CHEAP), (31, DEAR)])
def test_short_loop_computes_parts_of_vectors(n: int, body: str) -> None:
    assert remainders.vectorize(loop(n, body)) == [f"  {remainders.NAME}", *loop(n, body)]


BORDERS = {
    "of the index": ["float val0 = ((0<Lidx1)?*(data1+(Lidx1+-1)):0.0f);"],
    "of a value of the index": ["_Bool alu2 = (Lidx1<30);", "float val0 = (alu2?*(data1+(Lidx1+1)):0.0f);"],
}


@pytest.mark.parametrize("name", BORDERS)
def test_loop_that_reads_at_borders_is_left_to_clang(name: str) -> None:
    short, long = ["    *(data0+Lidx1) = val0;"], ["    *(data0+Lidx1) = val0;"] * 20
    for rest in (short, long):
        lines = [HEAD.format(n=31), *(f"    {line}" for line in BORDERS[name]), *rest, "  }"]
        assert remainders.vectorize(lines) == lines
    ends = [HEAD.format(n=31), "    float val0 = ((Lidx1<1)?*(data1+0):0.0f);", *long, "  }"]
    assert remainders.vectorize(ends) != ends
    row = [HEAD.format(n=31), "    float val0 = (alu9?*(data1+Lidx1):0.0f);", *long, "  }"]
    assert remainders.vectorize(row) != row


def test_borders_of_images_of_all_widths() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5, 61)).astype(np.float32)
    for n in (17, 31, 40, 61):
        image = x[:, :, :n]
        p = np.pad(image, ((0, 0), (1, 1), (1, 1)))
        want = np.minimum(np.minimum(p[:, :-2, 1:-1], p[:, 2:, 1:-1]), np.minimum(p[:, 1:-1, :-2], p[:, 1:-1, 2:]))
        assert np.array_equal(jit(vmap(_least_neighbour))(Tensor(image.copy())).numpy(), want)


def _least_neighbour(image: Any) -> Any:
    p = image.pad(((1, 1), (1, 1)))
    return p[:-2, 1:-1].minimum(p[2:, 1:-1]).minimum(p[1:-1, :-2].minimum(p[1:-1, 2:]))


CHAIN = "    *(data0+Lidx1) = power_of_e((sine(alu0, 0)+val0));"


@pytest.mark.parametrize(
    ("n", "body", "is_in_turns"),
    [
        (256, ["    float alu0 = sine((val0*2.0f), 1);", CHAIN], True),
        (32, ["    float alu0 = sine((val0*2.0f), 1);", CHAIN], False),  # fewer than four vectors
        (256, [CHAIN], False),  # two calls in a chain
        (256, ["    float alu0 = ((sine(val0, 0)+sine(val1, 0))+sine(val2, 0));"], False),  # three independent calls
        (256, ["    *(data0+Lidx1) = " + "sine(" * 17 + "val0" + ", 0)" * 17 + ";"], False),  # clang takes long
    ],
)
def test_chain_of_calls_computes_vectors_in_turns(n: int, body: list[str], is_in_turns: bool) -> None:
    lines = [HEAD.format(n=n), *body, "  }"]
    pragma = ['  _Pragma("clang loop interleave_count(4)")'] if is_in_turns else []
    assert remainders.vectorize(lines) == [*pragma, *lines]


@pytest.mark.parametrize("n", [1, 63, 64, 127, 1000])
@pytest.mark.parametrize("count", [3, 16, 17, 40])
def test_chain_has_values_of_numpy(n: int, count: int) -> None:
    x = np.random.default_rng(n).uniform(-3, 3, n).astype(np.float32)

    def chain(r: Tensor) -> Tensor:
        for i in range(count):
            r = (r * 1.5 + i).sin()
        return r

    want = x
    for i in range(count):
        want = np.sin((want * np.float32(1.5) + np.float32(i)).astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(jit(vmap(chain))(Tensor(x)).numpy(), want, atol=2e-4)


def test_maximum_is_computed_by_keys() -> None:
    body = ["    float val0 = (*(data1+Lidx1));", "    *(buf0+0) = largest_float((*(buf0+0)), val0);"]
    keys = [body[0], "    key_buf0_0 = largest_key_of_float(key_buf0_0, key_of_float(val0));", "  }"]
    lines = [HEAD.format(n=256), *keys, "  *(buf0+0) = float_of_key(key_buf0_0);"]
    want = ["  int key_buf0_0 = key_of_float(*(buf0+0));", *lines]
    assert remainders.vectorize([HEAD.format(n=256), *body, "  }"]) == want


def test_maximum_of_bools_is_computed_in_a_byte() -> None:
    body = ["    _Bool val0 = (*(data1+Lidx1));", "    *(buf0+0) = ((*(buf0+0))|(val0!=1));"]
    lines = [HEAD.format(n=256), body[0], "    key_buf0_0 = key_buf0_0|(val0!=1);", "  }", "  *(buf0+0) = key_buf0_0;"]
    want = ["  unsigned char key_buf0_0 = *(buf0+0);", *lines]
    assert remainders.vectorize([HEAD.format(n=256), *body, "  }"]) == want


@pytest.mark.parametrize("n", [40, 127, 128, 1009])
def test_any_and_all_of_bools(n: int) -> None:
    a = np.zeros((5, n), bool)
    a[1, n - 1] = a[2, 0] = a[3, 1:] = a[4] = True
    x = Tensor(a).realize()
    for of, expected in (
        (lambda x: x.any(1), a.any(1)),
        (lambda x: x.all(1), a.all(1)),
        (lambda x: x.max(1), a.any(1)),
    ):
        np.testing.assert_array_equal(jit(of)(x).numpy(), expected)
    np.testing.assert_array_equal(jit(lambda x: (x.int() - 1 > -1).any())(x).numpy(), True)


@pytest.mark.parametrize(
    "lines",
    [
        loop(128, DEAR),
        loop(15, DEAR),
        loop(1009, CHEAP),
        ["for (;;) {", "  if (!(alu0)) { break; }\n}"],
        [HEAD.format(n=31), "    if (alu0) {", CHEAP, "    }", "  }"],
    ],
)
def test_other_lines_stay(lines: list[str]) -> None:
    assert remainders.vectorize(lines) == [part for text in lines for part in text.split("\n")]


def softmax(x: Any) -> Any:
    y = np.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


def mask(n: int) -> np.ndarray:
    keep: np.ndarray = np.arange(n) % 3 != 1
    return keep


PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], tuple[str, ...]]] = {
    "softmax": (lambda x: x.softmax(-1), softmax, ("float32", "float64", "float16")),
    "masked softmax": (
        lambda x: Tensor(mask(x.shape[-1])).where(x, -1e9).softmax(-1),
        lambda x: softmax(np.where(mask(x.shape[-1]), x, -1e9)),
        ("float32", "float64"),
    ),
    "logsumexp": (lambda x: x.logsumexp(-1), lambda x: np.log(np.exp(x).sum(-1)), ("float32", "float64")),
    "sines": (
        lambda x: (x - x.max(-1, keepdim=True)).sin(),
        lambda x: np.sin(x - x.max(-1, keepdims=True)),
        ("float32",),
    ),
    "centered": (
        lambda x: x - x.max(-1, keepdim=True),
        lambda x: x - x.max(-1, keepdims=True),
        ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "int16"),
    ),
    "sum": (
        lambda x: x.sum(-1),
        lambda x: x.sum(-1, dtype=None if x.dtype.itemsize > 2 else np.float32 if x.dtype.kind == "f" else np.int32),
        ("float32", "float64", "int32", "int64", "int8"),
    ),
    "number of positive": (lambda x: (x > 0).sum(-1), lambda x: (x > 0).sum(-1), ("float32", "int32", "int8")),
}
CASES = [(name, dtype) for name, (_, _, dtypes) in PROGRAMS.items() for dtype in dtypes]
FEW = [(name, dtype) for name, dtype in CASES if dtype == "float32" or name == "centered"]


@pytest.mark.parametrize(("name", "dtype"), amount(FEW, CASES))
def test_rows_of_all_lengths(name: str, dtype: str) -> None:
    ours, by_numpy, _ = PROGRAMS[name]
    lengths = amount((1, 17, 515), (1, 16, 17, 31, 61, 127, 251, 515))
    xs = [(np.random.default_rng(n).standard_normal((23, n)) * 3).astype(dtype) for n in lengths]
    tolerance = {"rtol": 1e-2 if dtype == "float16" else 1e-5, "atol": 1e-5}

    @jit  # for all lengths, so that one call of the compiler serves their kernels
    def both(xs: list[Tensor]) -> list[list[Tensor]]:
        return [[f(x) for x in xs] for f in (ours, vmap(ours))]

    for results in both([Tensor(x).realize() for x in xs]):
        for x, y in zip(xs, results, strict=True):
            found = y.numpy()
            np.testing.assert_allclose(found, by_numpy(x).astype(found.dtype), **tolerance)


@pytest.mark.parametrize("n", [17, 31, 127])
def test_special_values_at_the_end_of_a_row(n: int) -> None:
    x = np.random.default_rng(0).standard_normal((40, n)).astype(np.float32)
    x[0, -1], x[1, -1], x[2, -1], x[3, -2] = np.nan, np.inf, -np.inf, np.nan

    def ours(x: Tensor) -> tuple[Tensor, ...]:
        total = x.sum(-1, keepdim=True)
        return (x - total).exp(), total, x / total

    with np.errstate(all="ignore"):
        total = x.sum(-1, keepdims=True)
        want = (np.exp(x - total), total, x / total)
    for found, expected in zip(jit(ours)(Tensor(x).realize()), want, strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [28, 31, 64, 127, 251, 515])
def test_maximum_of_floats_by_their_keys(n: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((40, n)) * 10.0 ** rng.integers(-30, 30, (40, n))).astype(dtype)
    special = rng.choice(np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype), x.shape)
    x[10:] = np.where(rng.random((30, n)) < 0.5, special[10:], x[10:])
    x[30], x[31], x[32, :-1], x[33, 1:] = np.nan, -np.inf, -np.inf, np.nan
    want = np.where(np.isnan(x), -np.inf, x).max(-1)
    for f in (lambda x: x.max(-1), vmap(lambda r: r.max()), lambda x: -(-x).min(-1)):
        np.testing.assert_array_equal(jit(f)(Tensor(x).realize()).numpy(), want)
