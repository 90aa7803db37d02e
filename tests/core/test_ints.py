"""Ints: powers, products, means, and Python ints that do not fit a dtype."""

from __future__ import annotations

import numpy as np
import pytest
from tinygrad import Tensor

from branded import (
    all_gather,
    array,
    associative_scan,
    cond,
    custom_jvp,
    custom_vjp,
    errors,
    fori_loop,
    jit,
    make_expr,
    map,
    scan,
    searchsorted,
    switch,
    vmap,
    while_loop,
)
from tests.errors.test_errors import Golden, check, params
from tests.fuzz import ints
from tests.support.profiles import amount

pytestmark = pytest.mark.enabled("cpu")

LARGE = 2**40
FOUR = Tensor([1, 2, 3, 4]).realize()
WIDE = Tensor([1, 2, 3, 4], dtype="int64").realize()


def _product(custom):
    """Return `x * n` with a custom rule."""
    return custom(lambda x, n: x * n)


def _assigned(x: Tensor) -> Tensor:
    y = x.reshape(1).contiguous()
    y[0] = LARGE
    return y


def test_random_int_programs_match_numpy() -> None:
    wrong = {seed: found for seed in range(amount(12, 40)) if (found := ints.check(ints.program(seed), seed % 2 == 1))}
    assert not wrong


INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", amount(["int8", "uint16", "int32", "uint64"], INTS))
def test_powers_of_ints_are_exact(dtype: str) -> None:
    a, b = np.array([3, 2, 0, 1, 255, 7], np.int64).astype(dtype), np.array([5, 70, 0, 9, 3, 11], dtype)
    x, n = Tensor(a).realize(), Tensor(b).realize()
    with np.errstate(over="ignore"):
        assert (x**n).numpy().tolist() == vmap(lambda x, n: x**n)(x, n).numpy().tolist() == (a**b).tolist()


def test_powers_of_known_ints() -> None:
    assert vmap(lambda i: 10**i)(Tensor([2, 3, 4])).tolist() == [100, 1000, 10000]
    assert (Tensor([10, 3]) ** Tensor([2, 5])).tolist() == [100, 243]
    assert (12345 // 10 ** Tensor.arange(5) % 10).tolist() == [5, 4, 3, 2, 1]
    assert (Tensor([1, -1, -1, 2, 0]) ** Tensor([-3, -3, -2, -1, -1])).tolist() == [1, -1, 1, 0, 0]


def test_shift_by_more_bits_than_the_dtype() -> None:
    for dtype in ("int8", "uint8", "int32", "int64"):
        x, n = (Tensor(v, dtype=dtype).realize() for v in ([1, 100, 100 if dtype == "uint8" else -100], [40, 65, 70]))
        minus = 0 if dtype == "uint8" else -1
        assert (x << n).tolist() == [2**40 if dtype == "int64" else 0, 0, 0] and (x << 70).tolist() == [0, 0, 0]
        assert (x >> n).tolist() == (x >> 70).tolist() == [0, 0, minus]


def test_shift_of_python_int_keeps_tensor_dtype() -> None:
    for dtype in ("uint8", "int32", "int64"):
        x = Tensor([0, 1, 2], dtype=dtype).realize()
        for f, expected in ((lambda x: 1 << x, [1, 2, 4]), (lambda x: 200 >> x, [200, 100, 50])):
            y, ys = f(x), vmap(f)(x)
            assert y.dtype == ys.dtype == x.dtype
            assert ys.tolist() == y.tolist() == expected


def test_chain_of_squares_terminates() -> None:
    x = Tensor([3, 2], dtype="int64").realize()
    for _ in range(64):
        x = x * x
    assert x.tolist() == [1, 0] and (x > 0).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_matmul_accumulates_in_requested_dtype(dtype: str) -> None:
    rng = np.random.default_rng(0)
    top = np.iinfo(dtype)
    a, b = (rng.integers(top.min, top.max, shape, dtype) for shape in ((2, 3, 5), (2, 5, 4)))
    right = a.astype("int32") @ b.astype("int32")
    x, y = Tensor(a), Tensor(b)
    assert (vmap(lambda x, y: x.matmul(y, dtype="int32"))(x, y).numpy() == right).all()
    assert (vmap(lambda x, y: Tensor.einsum("ij,jk->ik", x, y, dtype="int32"))(x, y).numpy() == right).all()
    assert ((x @ y).numpy() == right.astype(dtype)).all()


def test_float16_matmul_rounds_its_operands() -> None:
    rng = np.random.default_rng(0)
    a, b = (Tensor(rng.standard_normal(shape, dtype=np.float32)).realize() for shape in ((9, 40), (40, 7)))
    for dtype in ("half", "bfloat16"):
        x, y = a.cast(dtype), b.cast(dtype)
        assert (x @ y).float().tolist() == (x.clone().realize() @ y.clone().realize()).float().tolist()


def test_large_int_is_exact_with_64_bit_tensors() -> None:
    assert scan(lambda c, x: (c + x, None), LARGE, WIDE)[0].item() == LARGE + 10
    assert vmap(lambda x, n: x + n, in_axes=(0, None))(WIDE, LARGE).tolist() == [LARGE + i for i in range(1, 5)]
    add = jit(lambda x, n: x + n)
    assert add(WIDE, LARGE).tolist() == add(WIDE, LARGE).tolist() == [LARGE + i for i in range(1, 5)]
    assert add(WIDE, 1).tolist() == [2, 3, 4, 5] and add(1, 2).item() == 3
    unsigned = Tensor([1, 2], dtype="uint32").realize()
    assert jit(lambda x, n: x ^ n)(unsigned, 0xDEADBEEF).tolist() == [0xDEADBEEE, 0xDEADBEED]
    assert jit(lambda x, n: x + 2 * n)(Tensor([1.0]), LARGE).tolist() == [2.0**41]
    chosen = vmap(lambda x: cond(x > 2, lambda: LARGE, lambda: 5) * 2 + 1 + x)(WIDE)
    assert chosen.tolist() == [12, 13, 2 * LARGE + 4, 2 * LARGE + 5]
    assert vmap(lambda x: array([x, LARGE], dtype="int64"))(FOUR[:1]).tolist() == [[1, LARGE]]
    assert scan(lambda c, x: (LARGE, c + x), Tensor(0, dtype="int64"), WIDE)[0].item() == LARGE


def test_negative_int_wraps_in_unsigned_dtype() -> None:
    x = Tensor([1, 2], dtype="uint8").realize()
    assert scan(lambda c, x: (c + x, c), -1, x)[1].tolist() == [255, 0]
    assert vmap(lambda x: cond(x > 1, lambda: -1, lambda: x))(x).tolist() == [1, 255]
    assert vmap(lambda x: x + -(2**40))(x.cast("uint64")).tolist() == [2**64 - 2**40 + 1, 2**64 - 2**40 + 2]


@pytest.mark.parametrize("dtype", ["uint8", "uint32"])
def test_division_of_unsigned_by_negative_int(dtype: str) -> None:
    """A negative int wraps around to the dtype, as in JAX: for uint8, `n // -2` is `n // 254`."""
    x = Tensor([0, 1, 2, 200], dtype=dtype).realize()
    a, (two, three, seven) = x.numpy(), (np.array(-n).astype(dtype) for n in (2, 3, 7))
    cases = (
        (lambda n: n // -2, a // two),
        (lambda n: n % -3, a % three),
        (lambda n: n.fmod(-3), a % three),
        (lambda n: -7 // (n + 1), seven // (a + 1)),
        (lambda n: -7 % (n + 1), seven % (a + 1)),
        (lambda n: n // Tensor(-2), a // two),
        (lambda n: Tensor(-7) // (n + 1), seven // (a + 1)),
    )
    for f, wanted in cases:
        assert vmap(f)(x).tolist() == f(x).tolist() == wanted.tolist()
    assert vmap(lambda n: n / -2)(x).tolist() == [0, -0.5, -1, -100]


def _too_large(who: str, n: int, dtype: str = "i32", wide: str = "int64") -> str:
    return f"""
        {who}: the int {n} does not fit into {dtype}
          try: Tensor({n}, dtype="{wide}")
        """


def _golden(who: str, mistake, n: int = LARGE, dtype: str = "i32", wide: str = "int64") -> Golden:
    return Golden(mistake, errors.ArgumentError, _too_large(who, n, dtype, wide))


TOO_LARGE = {
    "jit": _golden("jit", lambda: jit(lambda x: x + 1)(LARGE)),
    "jit next to an int32": _golden("jit", lambda: jit(lambda x, n: x + n)(FOUR, LARGE)),
    "jit of a tree": _golden("jit", lambda: jit(lambda d: d["n"] + 1)({"n": -LARGE}), -LARGE),
    "jit uint32": _golden("jit", lambda: jit(lambda x: x + 1)(2**32 - 5), 2**32 - 5),
    "jit uint64": _golden("jit", lambda: jit(lambda x: x + 1)(2**63), 2**63, "i64", "uint64"),
    "scan": _golden("scan: carry", lambda: scan(lambda c, x: (c + x, None), LARGE, FOUR)),
    "an output of scan": _golden("scan: the output", lambda: scan(lambda c, x: (c, LARGE), Tensor(0), FOUR)),
    "fori_loop": _golden("fori_loop: carry", lambda: fori_loop(0, 3, lambda i, c: c + i, LARGE)),
    "while_loop": _golden("while_loop: carry", lambda: while_loop(lambda c: c < 5, lambda c: c + 1, -LARGE), -LARGE),
    "map": _golden("add", lambda: map(lambda x: x + LARGE, FOUR)),
    "vmap": _golden("add", lambda: vmap(lambda x, n: x + n, in_axes=(0, None))(FOUR, LARGE)),
    "vmap of a closure": _golden("lt", lambda: vmap(lambda x: x < LARGE)(FOUR)),
    "a result of vmap": _golden("vmap: a result", lambda: vmap(lambda x: LARGE)(FOUR)),
    "a choice of two": _golden("vmap: a result", lambda: vmap(lambda x: (x > 1).where(LARGE, 5))(FOUR)),
    "vmap uint32": _golden("add", lambda: vmap(lambda x: x + 2**31)(FOUR), 2**31),
    "a write": _golden("assign", lambda: vmap(_assigned)(FOUR)),
    "all_gather": _golden("vmap: a result", lambda: vmap(lambda x: all_gather(LARGE, "i"), axis_name="i")(FOUR)),
    "a result of jit": _golden("jit: the result", lambda: jit(lambda x: LARGE)(FOUR)),
    "cond": _golden("cond: the result of true_fun", lambda: cond(True, lambda: LARGE, lambda: 5)),
    "cond of a tensor": _golden("cond: the result of true_fun", lambda: cond(FOUR[0] > 0, lambda: LARGE, lambda: 5)),
    "cond in a jit": _golden("jit: the result", lambda: jit(lambda x: cond(x[0] > 0, lambda: LARGE, lambda: 5))(FOUR)),
    "cond next to an int32": _golden(
        "cond: the result[0] of false_fun",
        lambda: vmap(lambda x: cond(x > 1, lambda: (x, 1), lambda: (LARGE, 2)))(FOUR),
    ),
    "cond, then an int32": _golden("add", lambda: vmap(lambda x: cond(x > 1, lambda: LARGE, lambda: 5) * 2 + x)(FOUR)),
    "switch": _golden("switch: the result of branches[1]", lambda: switch(1, [lambda n: 5, lambda n: n], LARGE)),
    "result of a step": _golden("scan: carry", lambda: scan(lambda c, x: (LARGE, x), Tensor(0), FOUR)),
    "sum in a step": _golden("scan: carry", lambda: scan(lambda c, x: (c + LARGE, x), 0, FOUR)),
    "result of a body": _golden(
        "while_loop: carry[1]", lambda: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, LARGE), (0, 0))
    ),
    "associative_scan": _golden("associative_scan: elems", lambda: associative_scan(lambda a, b: a + b, [LARGE, 2])),
    "custom_jvp": _golden("custom_jvp: argument 2 of <lambda>", lambda: _product(custom_jvp)(WIDE, LARGE)),
    "custom_vjp": _golden(
        "custom_vjp: argument 2 of <lambda>", lambda: vmap(_product(custom_vjp), (0, None))(WIDE, LARGE)
    ),
    "a result of custom_jvp": _golden("custom_jvp: the result of <lambda>", lambda: custom_jvp(lambda x: LARGE)(FOUR)),
    "a function of arrays": _golden("searchsorted: v", lambda: searchsorted(FOUR, LARGE)),
    "array": _golden("array", lambda: array([LARGE, 1])),
    "array next to an int32": _golden("array: entry [0][1]", lambda: vmap(lambda x: array([[x, LARGE]]))(FOUR)),
}


@params(TOO_LARGE)
def test_too_large_int_is_an_error(g: Golden) -> None:
    check(g)


def test_suggested_fix_for_large_int_works() -> None:
    n = Tensor(1099511627776, dtype="int64")
    assert jit(lambda x: x + 1)(n).item() == LARGE + 1
    assert scan(lambda c, x: (c + x, None), n, FOUR)[0].item() == LARGE + 10
    assert cond(True, lambda: n, lambda: 5).item() == LARGE
    assert _product(custom_jvp)(WIDE, n).tolist() == [LARGE * i for i in (1, 2, 3, 4)]
    assert vmap(lambda x, n: x + n, in_axes=(0, None))(FOUR, n).tolist() == [LARGE + i for i in range(1, 5)]


def test_make_expr_of_int_powers() -> None:
    assert make_expr(lambda x, n: x**n)(FOUR, FOUR)(FOUR, FOUR).tolist() == [1, 4, 27, 256]
