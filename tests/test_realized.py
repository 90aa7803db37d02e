"""What numpy realizes in tests is what kernels compute, and what only kernels can do they do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import ShapeDtypeStruct, pure_callback, scan, vmap
from branded.patches import tg
from tests import by_numpy, realized


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many kernels each run of some has."""
    counts: list[int] = []
    run = tg.tensor.run_linear

    def counting(linear: object, *args: object, **kwargs: object) -> None:
        counts.append(len(linear.src))  # type: ignore[attr-defined]
        run(linear, *args, **kwargs)

    monkeypatch.setattr(tg.tensor, "run_linear", counting)
    with realized.by_numpy():
        yield counts


def test_no_kernel_runs_for_what_a_graph_says(kernels: list[int]) -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x @ x + 1
    z = y.sum()
    assert y.tolist() == [[8.0, 11.0], [16.0, 23.0]] and z.item() == 58
    assert vmap(lambda a: scan(lambda c, b: (c + b, c * b), Tensor(0.0), a)[1])(x).tolist() == [[0, 2], [0, 12]]
    assert Tensor.arange(3).numpy().dtype == np.int32 and not sum(kernels)


def test_what_is_realized_is_so_for_all_that_use_it(kernels: list[int]) -> None:
    y = Tensor([1.0, 2.0]) * 3
    z = y.reshape(2, 1) + 1
    y.realize()
    assert (
        y.uop.has_buffer_identity() and y.uop in z.uop.toposort() and z.tolist() == [[4.0], [7.0]] and not sum(kernels)
    )


def test_writes_into_memory_are_left_to_kernels(kernels: list[int]) -> None:
    x = Tensor([1.0, 2.0]).clone().realize()
    view = x[:1]
    assert not sum(kernels)
    x += 1
    assert x.tolist() == [2.0, 3.0] and view.tolist() == [2.0] and sum(kernels) == 1


def test_functions_of_the_host_are_called_once(kernels: list[int]) -> None:
    seen: list[float] = []

    def f(x: np.ndarray) -> np.ndarray:
        seen.append(float(x))
        return x * 2

    spec = ShapeDtypeStruct((), dtypes.float)
    y = pure_callback(f, spec, Tensor(3.0))
    assert (y.item(), y.item(), seen) == (6.0, 6.0, [3.0])
    ys = scan(lambda c, x: (c, pure_callback(f, spec, x)), Tensor(0.0), Tensor([1.0, 2.0]))[1]
    assert (ys.tolist(), seen) == ([2.0, 4.0], [3.0, 1.0, 2.0])


@pytest.mark.by_numpy
def test_what_numpy_says_otherwise_is_asked_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(by_numpy._RULES, Ops.ADD, lambda u, x, y: x - y)
    times.append(0)
    assert (Tensor([1.0, 2.0]) + Tensor([3.0, 4.0])).tolist() == [4.0, 6.0]
    assert len(times) == 2


times: list[int] = []


@pytest.mark.by_numpy
def test_one_test_in_eight_is_compiled(request: pytest.FixtureRequest) -> None:
    some = [realized.is_compiled(f"tests/test_x.py::test_y[{i}]") for i in range(800)]
    assert 60 < sum(some) < 140 and not realized.is_compiled(request.node.nodeid)


@pytest.mark.by_numpy(False)
@pytest.mark.by_numpy
def test_a_test_of_such_a_file_may_ask_for_kernels() -> None:
    assert Tensor.linear_with_vars.__module__ == "tinygrad.tensor"
