"""A loop updates a few entries of a carry in place; the values are those of a Python loop on copies."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

from branded import (
    dynamic_update_slice,
    fori_loop,
    index_add,
    index_max,
    index_mul,
    index_update,
    jit,
    scan,
    vmap,
    while_loop,
)
from branded.backends.cpu.runtime import native
from branded.compile import compiled_loop, kernel_times, linear_program

ROWS, COLUMNS, STEPS = 12, 10, 7
PLACES = np.random.default_rng(3).integers(-2, ROWS, (3, STEPS)).astype(np.int32)
PLACES[0, :3] = 5, 5, -1  # repeated, and from the end


def _set(c: Any, i: Any, y: Any) -> Any:
    out = c.copy()
    out[i] = y
    return out


def _add(c: Any, *entries: Any) -> Any:
    out = c.copy()
    for i, y in entries:
        out[i] += y
    return out


Case = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]
CASES: dict[str, Case] = {
    "a row": (lambda c, i: index_update(c, i, c[0] * 2 + 1), lambda c, i: _set(c, i, c[0] * 2 + 1)),
    "its own row": (lambda c, i: index_update(c, i, c[i] + 1), lambda c, i: _set(c, i, c[i] + 1)),
    "an entry": (lambda c, i: index_update(c, (i, 2), 7), lambda c, i: _set(c, (i, 2), 7)),
    "a column": (lambda c, i: index_update(c, (slice(None), 3), i * i), lambda c, i: _set(c, (slice(None), 3), i * i)),
    "two rows": (
        lambda c, i: index_update(c, Tensor.stack(i, i - 1), Tensor([[3], [4]])),
        lambda c, i: _set(_set(c, i, 3), i - 1, 4),
    ),
    "a sum": (lambda c, i: index_add(c, i, i + 2), lambda c, i: _add(c, (i, i + 2))),
    "sums": (
        lambda c, i: index_add(c, Tensor.stack(i, 0 * i, i), Tensor([[3], [4], [5]])),
        lambda c, i: _add(c, (i, 3), (0, 4), (i, 5)),
    ),
    "a product": (lambda c, i: index_mul(c, i, 2), lambda c, i: _set(c, i, c[i] * 2)),
    "a maximum": (lambda c, i: index_max(c, i, 4), lambda c, i: _set(c, i, np.maximum(c[i], 4))),
    "a slice": (
        lambda c, i: dynamic_update_slice(c, (c[:1] * 0 + 9), (i, 0)),
        lambda c, i: _set(c, i, 9),
    ),
    "a row of a flat array": (
        lambda c, i: index_update(c.reshape(ROWS, 2, -1), (i, 1), 6).reshape(c.shape),
        lambda c, i: _set(c.reshape(ROWS, 2, -1), (i, 1), 6).reshape(c.shape),
    ),
    "out of range": (lambda c, i: index_update(c, i + ROWS, 6), lambda c, i: c if i >= 0 else _set(c, i, 6)),
    "twice": (
        lambda c, i: index_update(index_add(c, i, 2), 3, c[i]),
        lambda c, i: _set(_add(c, (i, 2)), 3, c[i]),
    ),
}


def _first(dtype: Any) -> Tensor:
    return (Tensor.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 5).cast(dtype)


def _wanted(case: Case, places: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    c, sums = _first(dtype).numpy(), []
    for i in places:
        sums.append(c.sum(dtype=np.float64))
        c = case[1](c, int(i))
    return c, np.array(sums)


def _loop(case: Case, dtype: Any, factor: float = 1) -> Callable[[Tensor], Any]:
    def loop(places: Tensor) -> Any:
        return scan(
            lambda c, i: (case[0](c, i).cast(dtype), factor * c.cast(dtypes.float64).sum()), _first(dtype), places
        )

    return loop


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.int64, dtypes.float16], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_scan_equals_loop_on_copies(case: str, dtype: Any) -> None:
    f = _loop(CASES[case], dtype)
    wanted = [_wanted(CASES[case], places, dtype) for places in PLACES]
    for run in (vmap(f), jit(vmap(f))):
        carry, sums = run(Tensor(PLACES))
        np.testing.assert_array_equal(carry.numpy(), np.stack([c for c, _ in wanted]))
        np.testing.assert_array_equal(sums.numpy(), np.stack([s for _, s in wanted]))
    carry, sums = jit(f)(Tensor(PLACES[1]))
    np.testing.assert_array_equal(carry.numpy(), wanted[1][0])
    np.testing.assert_array_equal(sums.numpy(), wanted[1][1])


@pytest.mark.parametrize("steps", range(4))
def test_initial_carry_is_kept(steps: int) -> None:
    first = Tensor.zeros(3, ROWS).contiguous().realize()

    def by_fori(c: Tensor) -> Any:
        return fori_loop(0, steps, lambda i, c: index_add(c, i + 1, c[i] + 1), c)

    def by_while(c: Tensor) -> Any:
        def body(s: Any) -> Any:
            return s[0] + 1, index_add(s[1], s[0] + 1, s[1][s[0]] + 1)

        return while_loop(lambda s: s[0] < steps, body, (0, c))[1]

    wanted = [*range(steps + 1), *[0] * (ROWS - steps - 1)]
    for f in (by_fori, by_while):
        for run in (f, jit(f)):
            assert run(first[1]).tolist() == wanted
            assert vmap(run)(first).tolist() == [wanted] * 3
    assert first.sum().item() == 0


def test_new_entry_may_be_a_number() -> None:
    """tinygrad simplifies `c * 0 + 2` to a Python number, which has no dtype of its own."""
    first = Tensor.zeros(3, ROWS).contiguous()
    places = Tensor([1, 3])
    out = vmap(lambda x: scan(lambda x, i: (index_update(x, i, x[0] * 0 + 2), i), x, places)[0])(first)
    assert out.tolist() == [[0, 2, 0, 2] + [0] * (ROWS - 4)] * 3


def test_loop_within_a_loop() -> None:
    def inner(c: Tensor, i: Tensor) -> tuple[Tensor, Tensor]:
        return fori_loop(0, 4, lambda k, c: index_add(c, (i + k) % ROWS, k + 1), c), c[i]

    def f(places: Tensor) -> Any:
        return scan(inner, Tensor.zeros(ROWS, dtype=dtypes.int32), places)

    carry, before = jit(vmap(f))(Tensor(PLACES))
    for places, total, seen in zip(PLACES, carry.tolist(), before.tolist(), strict=True):
        c = np.zeros(ROWS, np.int32)
        for i, was in zip(places, seen, strict=True):
            assert c[i] == was
            for k in range(4):
                c[(i + k) % ROWS] += k + 1
        assert c.tolist() == total


def _updated(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many carries the loop of a program updates in place."""
    done, original = list[int](), linear_program.update_in_place

    def count(*args: Any) -> Any:
        found = original(*args)
        done.extend(found[1])
        return found

    monkeypatch.setattr(linear_program, "update_in_place", count)
    monkeypatch.setattr(compiled_loop, "_steps", weakref.WeakValueDictionary())
    jit(vmap(f))(Tensor(PLACES))
    return len(done)


@pytest.mark.parametrize("case", [x for x in CASES if x not in ("a row", "a column", "twice")])
def test_update_is_in_place(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _updated(_loop(CASES[case], dtypes.float32, 1.25), monkeypatch) == 1


@pytest.mark.parametrize(
    "step",
    [
        lambda c, i: index_update(c.flip(0), i, 1.0),  # reads another entry
        lambda c, i: c.cumsum(0) * 0.5,
        lambda c, i: (c > 2).where(c, 0.5),  # changes any number of entries
    ],
)
def test_other_steps_write_a_copy(step: Callable[[Any, Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def f(places: Tensor) -> Any:
        return scan(lambda c, i: (step(c, i), c.sum()), _first(dtypes.float32), places)

    assert _updated(f, monkeypatch) == 0


def test_mask_is_of_the_carry_before_its_update() -> None:
    def f(x: Tensor) -> Any:
        def body(_: Any, s: Any) -> Any:
            heads, c = s
            return index_add(heads, 0, 3), index_update(c, heads[0] % ROWS, x)

        return fori_loop(0, 3, body, (Tensor.ones(ROWS, dtype=dtypes.int32), 0 * x + Tensor.zeros(ROWS)))[1]

    wanted = [[y if k in (1, 4, 7) else 0 for k in range(ROWS)] for y in (2.0, 3.0)]
    assert jit(vmap(f))(Tensor([2.0, 3.0])).tolist() == wanted


WIDTH, SCALES = 128, (1.0, 2.0, 0.5)


@pytest.fixture(params=["one call of C", "one step per call of C", "Python"])
def replayed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the steps of loops in each of the ways."""
    if request.param == "Python":
        monkeypatch.setattr(compiled_loop.LoopStep, "plan", lambda *_: None)
        monkeypatch.setattr(linear_program.Linear, "ops", lambda *_: None)
    elif request.param == "one step per call of C":
        monkeypatch.setattr(native, "SLICE", 1)
        monkeypatch.setattr(compiled_loop, "_steps", weakref.WeakValueDictionary())


def _inner(kind: str, steps: int) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a loop whose first step also runs an invariant kernel: it transposes a matrix."""

    def step(c: Tensor, i: Tensor, w: Tensor) -> Tensor:
        return index_update(c, i, (c @ w.T)[i] + 1)

    def loop(c: Tensor, w: Tensor) -> Tensor:
        if kind == "while":
            return while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, step(s[1], s[0], w)), (0, c))[1]
        places = Tensor.arange(steps, dtype=dtypes.int32)
        return scan(lambda c, i: (step(c, i, w), None), c, places, reverse=kind == "reverse")[0]

    return loop


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("kind", ["scan", "reverse", "while"])
def test_loop_that_starts_again_copies_its_initial_carry(kind: str, steps: int) -> None:
    rng = np.random.default_rng(0)
    first, w = (rng.normal(size=(n, WIDTH), scale=WIDTH**-0.5).astype(np.float32) for n in (32, WIDTH))

    def nested(c: Tensor, w: Tensor) -> Tensor:
        return scan(lambda c, scale: (_inner(kind, steps)(c, w * scale), c.sum()), c, Tensor(SCALES))[0]

    def wanted(scales: tuple[float, ...], factor: int) -> np.ndarray:
        c = factor * first
        for scale in scales:
            for i in range(steps)[:: -1 if kind == "reverse" else 1]:
                c = _set(c, i, (c @ (w * scale).T)[i] + 1)
        return c

    for f, scales in ((_inner(kind, steps), (1.0,)), (nested, SCALES)):
        kept, donated = jit(f), jit(f, donate_argnums=0)
        for factor in (1, 2):
            c, matrix = Tensor(factor * first).realize(), Tensor(w)
            for run in (kept, donated):
                found = run(c, matrix).numpy()
                np.testing.assert_allclose(found, wanted(scales, factor), rtol=1e-4, atol=1e-4)
                if run is not donated:
                    np.testing.assert_array_equal(c.numpy(), factor * first)


def test_profile_counts_the_kernels_of_steps_alone() -> None:
    c, w = Tensor.ones(32, WIDTH).contiguous().realize(), Tensor.ones(WIDTH, WIDTH).contiguous().realize()
    timed = kernel_times.kernels([_inner("scan", 5)(c, w).uop])
    runs = [t.runs for t in timed if t.depth == 1]
    assert runs[0] == 1 and set(runs[1:]) == {5}, "the transposed matrix, then the kernels of each step"
