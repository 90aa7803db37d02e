"""Check the causes that `profile` names, and that each change it suggests removes the cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor

from branded import fori_loop, index_add, jit, pure_callback, vmap
from branded.tools.profile import Cause, profile
from branded.tools.profile.causes import tracing
from tests.support.examples import in_memory, normals

TABLE, ROWS, COLUMNS = normals(500, 64), normals(512, 1024), normals(1024, 512)
INDEX, UPDATES = in_memory(np.arange(300, dtype=np.int32) * 7 % 500), normals(300, 64)


def of(f: Callable[..., Any], *args: Any) -> list[Cause]:
    """Return the causes in the kernels, without the time that Python takes."""
    return [c for c in profile(f, *args).causes if c.kernel != "the call"]


def looked_up(t: Tensor, i: Tensor) -> Tensor:
    return i.one_hot(500).float() @ t


def least_at(t: Tensor, i: Tensor) -> Tensor:
    return (i.unsqueeze(1) == Tensor.arange(500)).where(t[:, 0], 9).min(1)


def test_indexing_by_comparison() -> None:
    reason = "each index is compared with all 500 places, so that it reads or writes the whole table"
    for f in (looked_up, least_at):
        (cause,) = of(f, TABLE, INDEX)
        assert cause[1:] == (reason, "`table[i]` to read, `segment_sum` or `index_add` to add at an index")
    assert str(cause) == f"{cause.kernel}: {reason}\n  try: {cause.fix}"


def test_indexing_without_comparison() -> None:
    assert of(lambda t, i: t[i], TABLE, INDEX) == []
    assert of(lambda t, i: t[:, 0][i].minimum(9), TABLE, INDEX) == []
    assert of(lambda t, i, x: index_add(t, i, x), TABLE, INDEX, UPDATES) == []


def test_few_classes_are_compared() -> None:
    assert of(lambda i: (i % 10).one_hot(10).float().mean(0), INDEX) == []


def test_transposed_read() -> None:
    (cause,) = of(lambda a: a.T.contiguous(), normals(509, 1021))
    assert cause[1:] == (
        "a transposed read: neighbours in the result are in different rows of the memory that is read",
        "pass a transposed copy, `x.T.contiguous().realize()`, made once outside the function",
    )
    assert of(lambda a: a * 2, ROWS.T.contiguous().realize()) == []
    assert of(lambda a: a.T.contiguous(), ROWS) == []  # eight columns at a time


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a.sum(1),
        lambda a, b: a.sum(0),
        lambda a, b: a.softmax(),
        lambda a, b: a @ b,
        lambda a, b: a[:, ::2] + 1,
        vmap(lambda a, b: a * 2, (1, None), 1),
    ],
)
def test_reads_along_rows(f: Callable[..., Any]) -> None:
    assert of(f, ROWS, COLUMNS) == []


def test_constant_of_each_call() -> None:
    def mask() -> Tensor:
        return (Tensor.arange(1024).unsqueeze(0) <= Tensor.arange(1024).unsqueeze(1)).float()

    (cause,) = of(lambda x: mask() @ x, COLUMNS)
    assert cause[1:] == (
        "4 MB that depend on no argument are computed in each call",
        "compute the value once outside the function, with `.clone().realize()`",
    )
    outside = mask().clone().realize()
    assert of(lambda x: outside @ x, COLUMNS) == []


def plus_one(x: np.ndarray) -> np.ndarray:
    return x + 1


def test_python_function_in_a_loop() -> None:
    def step(_: Tensor, x: Tensor) -> Tensor:
        return pure_callback(plus_one, x, x)

    (cause,) = of(lambda x: fori_loop(0, 7, step, x), UPDATES)
    assert cause[1:] == (
        "a Python function that the kernels wait for in each of 7 steps",
        "write it with operations on tensors, or call it once before or after the loop",
    )
    (cause,) = of(lambda x: step(x, x), UPDATES)
    assert cause.reason == "a Python function that the kernels wait for in each call"
    assert of(lambda x: fori_loop(0, 7, lambda _, x: x + 1, x), UPDATES) == []


def test_time_of_a_python_function_in_a_loop_counts_once() -> None:
    found = profile(lambda x: fori_loop(0, 7, lambda _, x: pure_callback(plus_one, x, x), x), UPDATES)
    (inner,) = (k for k in found.kernels if k.name.startswith("host callback"))
    assert (inner.runs, inner.depth) == (7, 1)


def test_many_small_kernels() -> None:
    x = Tensor.rand(40).realize()
    causes = of(lambda x: [x[i : i + 1].sum() * i for i in range(40)], x)
    assert causes == [
        Cause(
            "40 kernels",
            "read and write at most 16 kB each, so that starting them is most of the work",
            "stack the operands, and use `vmap` instead of a Python loop",
        )
    ]
    assert of(vmap(lambda x, i: x * i), x, Tensor.arange(40).realize()) == []


def test_time_in_python() -> None:
    assert list(map(str, tracing(0.02, 0.001, 0))) == [
        "the call: Python takes 20.0 ms to build the graph of each call, longer than the kernels run\n"
        "  try: `jit(f)`, which builds the graph once"
    ]
    assert tracing(0.001, 0.001, 0) == []
    found = profile(lambda x: x + 1, UPDATES)
    assert found.traced > 0 and profile(jit(lambda x: x + 1), UPDATES).traced == 0
    assert "try: `jit(f)`" in str(found._replace(traced=1.0))


def test_function_that_is_traced_again() -> None:
    sums = jit(lambda x, n: x[:n].sum(), static_argnums=1)
    for n in range(1, 9):
        sums(UPDATES, n)
    (cause,) = profile(sums, UPDATES, 8).causes
    assert cause == Cause(
        "the call",
        "traced 8 times, because shapes, dtypes or static arguments changed between calls",
        "pad arguments to one shape, and pass numbers as tensors; `BRANDED_LOG=traces` prints each change",
    )
    masked = jit(lambda x, n: (Tensor.arange(300).unsqueeze(1) < n).where(x, 0).sum())
    for n in range(1, 9):
        masked(UPDATES, Tensor(n))
    assert masked.traces == 1 and profile(masked, UPDATES, Tensor(8)).causes == []
