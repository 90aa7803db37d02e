"""Test the laws of `branded.functions`, on the calls of `tests/golden/functions.py`: vmap, derivatives, IR, types."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor

import branded
from branded import functions, jvp, make_expr, vmap
from tests.golden import registry, with_branded
from tests.golden.functions import CASES, Case, moving
from tests.support.by_numpy import reads, values
from tests.support.examples import in_memory

registry.load()
TAKING = {name: c for name, c in CASES.items() if c.args}


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with Context(DEV="PYTHON", NOOPT=1):
        yield


def numbers(out: Any) -> list[np.ndarray]:
    return reads([y for _, y in registry.flat(out)])


def batches(c: Case) -> list[np.ndarray]:
    """Stack three examples of each argument: the value in the table, and two permutations of its elements."""
    return [np.stack([np.roll(a.reshape(-1), i).reshape(a.shape) for i in range(3)]) for a in c.args]


def loop(c: Case, xs: list[np.ndarray]) -> Callable[[tuple[int, ...]], list[np.ndarray]]:
    """Return a function that evaluates the graph of the first examples for any examples of the arguments."""
    first = [in_memory(x[0]) for x in xs]
    out = [y for _, y in registry.flat(c.f(with_branded, *first))]

    @functools.cache
    def one(at: tuple[int, ...]) -> list[np.ndarray]:
        return values(out, {t.uop: x[i] for t, x, i in zip(first, xs, at, strict=True)})

    return one


def same(got: Any, wanted: Any, **given: Any) -> None:
    close(numbers(got), numbers(wanted), **given)


def close(got: list[np.ndarray], wanted: list[np.ndarray], **given: Any) -> None:
    for y, z in zip(got, wanted, strict=True):
        assert (y.dtype, y.shape) == (z.dtype, z.shape)
        np.testing.assert_allclose(y, z, **({"rtol": 1e-5, "atol": 1e-6} | given))


def test_every_function_has_a_case() -> None:
    public = {*functions.__all__}
    assert public <= {*branded.__all__}
    assert all(getattr(branded, name) is getattr(functions, name) for name in public)
    begun = {name.partition(" ")[0] for name in CASES}
    assert public - begun == set()


@pytest.mark.parametrize("name", TAKING)
def test_vmap_matches_loop(name: str) -> None:
    """Map all arguments, only one of them, and all but one."""
    c = TAKING[name]
    examples = batches(c)
    one, xs, n = loop(c, examples), [in_memory(x) for x in examples], len(examples)
    masks = {(True,) * n} | {tuple((i == k) == way for i in range(n)) for k in range(n) for way in (True, False)}
    for mask in sorted(mask for mask in masks if any(mask)):
        given = [x if mapped else x[0] for x, mapped in zip(xs, mask, strict=True)]
        got = vmap(lambda *ys: c.f(with_branded, *ys), in_axes=tuple(0 if m else None for m in mask))(*given)
        batch = numbers(got)
        for i in range(3):
            close([y[i] for y in batch], one(tuple(i if m else 0 for m in mask)))


@pytest.mark.parametrize("name", [name for name, c in CASES.items() if len(c.args) >= 2])
def test_each_argument_has_its_own_brand(name: str) -> None:
    c = CASES[name]
    examples = batches(c)
    one, xs = loop(c, examples), [in_memory(x) for x in examples]

    def nested(*ys: Tensor) -> Any:
        k = len(ys)
        return c.f(with_branded, *ys) if k == len(xs) else vmap(lambda x: nested(*ys, x))(xs[k])

    got = numbers(nested())
    for at in itertools.product(range(3), repeat=len(xs)):
        if sum(at) % 3 == 1:
            close([y[at] for y in got], one(at))


@pytest.mark.parametrize("name", [name for name, c in CASES.items() if c.wrt and c.smooth])
def test_derivatives_match_finite_differences(name: str) -> None:
    c = CASES[name]
    xs = [in_memory(a.astype(np.float64) if a.dtype == np.float32 else a) for a in c.args]
    f, at = moving(with_branded, c, xs), [xs[i] for i in c.wrt]
    ts = [Tensor(np.cos(np.arange(x.numel()) * 3.7 + 1).reshape(x.shape)) for x in at]
    h = 1e-5
    out = [y for _, y in registry.flat(f(*at))]
    up, down = (
        values(out, {x.uop: x.numpy() + sign * h * t.numpy() for x, t in zip(at, ts, strict=True)}) for sign in (1, -1)
    )
    wanted = [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]
    got = numbers(jvp(f, tuple(at), tuple(ts))[1])
    for y, z in zip(got, wanted, strict=True):
        assert y.dtype == np.float64, "a function of float64 gives float64"
        np.testing.assert_allclose(y, z, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("name", TAKING)
def test_call_is_one_operation_of_ir(name: str) -> None:
    c = TAKING[name]
    xs = [Tensor(a) for a in c.args]
    e = make_expr(lambda *ys: c.f(with_branded, *ys))(*xs)
    assert name in {"array of one", "fft 1", "ifft 1"} or f"functions.{name.partition(' ')[0]}" in str(e)
    assert e.from_text(str(e)) == e
    same(e(*xs), c.f(with_branded, *xs))


def test_start_indices_in_an_array() -> None:
    x = Tensor.arange(12).reshape(3, 4)
    assert functions.dynamic_slice(x, np.array([1, -1]), (2, 1)).tolist() == [[7], [11]]
    with pytest.raises(branded.errors.ArgumentError, match="does not have one int per axis"):
        functions.dynamic_slice(x, 1, (2, 1))


@pytest.mark.parametrize("update", ["index_add", "index_mul", "index_max", "index_min", "index_update"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16"])
def test_updates_keep_the_dtype(update: str, dtype: str) -> None:
    """tinygrad sums small ints in 32 bits."""
    x = Tensor([1, 2], dtype=dtype)
    assert getattr(functions, update)(x, Tensor([0, 0]), 3).dtype == x.dtype


def test_index_add_wraps_around() -> None:
    assert functions.index_add(Tensor([250, 1], dtype="uint8"), Tensor([0, 0]), 3).tolist() == [0, 1]


def test_order_of_values_from_python_numbers() -> None:
    """`argsort() * 0.1` has no strong dtype, which decides how many bits the keys of the order have."""
    x = Tensor([[3.0, 1, 2, 5], [4.0, 2, 9, 1]])
    out, indices = vmap(lambda a: functions.top_k(a.argsort() * 0.1, 2))(x)
    np.testing.assert_allclose(out.numpy(), [[0.3, 0.2], [0.3, 0.2]], rtol=1e-6)
    assert indices.tolist() == [[3, 1], [0, 3]]
