"""Tests that realize by numpy get the values of kernels; only kernels write into memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sybil.parsers.markdown import PythonCodeBlockParser
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import ShapeDtypeStruct, pure_callback, scan, vmap
from branded.tinygrad_compat import private_api
from tests.support import by_numpy, documents, profiles, realized

pytestmark = pytest.mark.skipif(by_numpy.COMPILE_ALL, reason="nothing is evaluated by numpy")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count the kernels of each run."""
    counts: list[int] = []
    run = private_api.tensor.run_linear

    def counting(linear: object, *args: object, **kwargs: object) -> None:
        counts.append(len(linear.src))  # type: ignore[attr-defined]
        run(linear, *args, **kwargs)

    monkeypatch.setattr(private_api.tensor, "run_linear", counting)
    with realized.by_numpy():
        yield counts


def test_graph_values_need_no_kernel(kernels: list[int]) -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x @ x + 1
    z = y.sum()
    assert y.tolist() == [[8.0, 11.0], [16.0, 23.0]] and z.item() == 58
    assert vmap(lambda a: scan(lambda c, b: (c + b, c * b), Tensor(0.0), a)[1])(x).tolist() == [[0, 2], [0, 12]]
    assert Tensor.arange(3).numpy().dtype == np.int32 and not sum(kernels)


def test_realize_updates_other_graphs(kernels: list[int]) -> None:
    y = Tensor([1.0, 2.0]) * 3
    z = y.reshape(2, 1) + 1
    y.realize()
    assert (
        y.uop.has_buffer_identity() and y.uop in z.uop.toposort() and z.tolist() == [[4.0], [7.0]] and not sum(kernels)
    )


def test_kernels_write_into_memory(kernels: list[int]) -> None:
    x = Tensor([1.0, 2.0]).clone().realize()
    view = x[:1]
    assert not sum(kernels)
    x += 1
    assert x.tolist() == [2.0, 3.0] and view.tolist() == [2.0] and sum(kernels) == 1


def test_host_callbacks_run_once(kernels: list[int]) -> None:
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
def test_incorrect_value_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(by_numpy._RULES, Ops.ADD, lambda u, x, y: x - y)
    assert (Tensor([1.0, 2.0]) + Tensor([3.0, 4.0])).tolist() == [-2.0, -2.0]


@pytest.mark.compiled
@pytest.mark.by_numpy
def test_compiled_wins() -> None:
    assert Tensor.linear_with_vars.__module__ == "tinygrad.tensor"


def test_samples_match_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first samples also write the counter, and before it the seed."""

    def drawn() -> list[object]:
        Tensor.manual_seed(3)
        return [Tensor.rand(2).tolist(), Tensor.rand(3).tolist()]

    kernels: list[object] = []
    with realized.by_numpy(), monkeypatch.context() as m:
        m.setattr(private_api.tensor, "run_linear", lambda linear, *args, **kwargs: kernels.extend(linear.src))
        found = drawn()
        assert not kernels
    assert found == drawn()


def test_incorrect_page_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(by_numpy._RULES, Ops.ADD, lambda u, x, y: x - y)
    page = _page(tmp_path, "from tinygrad import Tensor", "assert (Tensor([1.0]) + Tensor([2.0])).tolist() == [3.0]")
    with pytest.raises(AssertionError):
        list(page)[1].evaluate()


def test_last_example_of_a_page_alone(tmp_path: Path) -> None:
    page = _page(tmp_path, "xs = [1]", "xs.append(2)", "xs.append(3)")
    list(page)[2].evaluate()
    assert page.namespace["xs"] == [1, 2, 3]
    page.namespace.clear()  # the process evaluates other documents, and returns
    list(page)[1].evaluate()
    assert page.namespace["xs"] == [1, 2]


def _page(folder: Path, *blocks: str) -> documents.Document:
    (path := folder / "page.md").write_text("\n".join(f"```python\n{block}\n```\n" for block in blocks))
    page = documents.Page.parse(str(path), PythonCodeBlockParser())
    page.__dict__["by_numpy"] = True
    return page


@pytest.mark.parametrize("pattern", documents.COMPILED)
def test_compiled_documents_exist(pattern: str) -> None:
    assert list(documents.ROOT.glob(pattern))


def test_sample_of_pairs_has_each_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    few, names, axes = list[tuple[int, int]](), range(6), range(4)
    for is_full in (False, True):
        monkeypatch.setattr(profiles, "COMPILE_ALL", is_full)
        found = profiles.pairs(names, axes)
        assert {x for x, _ in found} == {*names} and {y for _, y in found} == {*axes}
        assert len({*found}) == len(found) == profiles.amount(6, 24)
        few = few or found
    assert {*few} < {*found}
