"""What numpy realizes in tests is what kernels compute, and what only kernels can do they do."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sybil.document import Document
from sybil.example import SybilFailure
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import PythonCodeBlockParser
from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import ShapeDtypeStruct, pure_callback, scan, vmap
from branded.tinygrad_compat import private_api
from tests.support import by_numpy, documents, realized


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many kernels each run of some has."""
    counts: list[int] = []
    run = private_api.tensor.run_linear

    def counting(linear: object, *args: object, **kwargs: object) -> None:
        counts.append(len(linear.src))  # type: ignore[attr-defined]
        run(linear, *args, **kwargs)

    monkeypatch.setattr(private_api.tensor, "run_linear", counting)
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


times: list[object] = []


@pytest.mark.by_numpy
def test_one_test_in_eight_is_compiled(request: pytest.FixtureRequest) -> None:
    some = [realized.is_compiled(f"tests/test_x.py::test_y[{i}]") for i in range(800)]
    assert 60 < sum(some) < 140 and not realized.is_compiled(request.node.nodeid)


@pytest.mark.by_numpy(False)
@pytest.mark.by_numpy
def test_a_test_of_such_a_file_may_ask_for_kernels() -> None:
    assert Tensor.linear_with_vars.__module__ == "tinygrad.tensor"


def test_what_hangs_by_numpy_and_by_kernels_is_stopped_each_time(pytestconfig: pytest.Config) -> None:
    """The limit of the test, and then a fifth of it, again and again."""
    limit = float(pytestconfig.getini("timeout"))
    left, each = signal.getitimer(signal.ITIMER_REAL)
    assert 0 < left <= limit and each == pytest.approx(limit / 5)


@pytest.mark.parametrize("i", range(32))
def test_garbage_is_collected_as_it_is_for_users_in_one_test_in_eight(i: int, request: pytest.FixtureRequest) -> None:
    assert (gc.get_threshold()[0] < 100_000) == realized.is_compiled(request.node.nodeid)


def test_draws_are_those_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ones write where draws are counted, and before that where the seed is."""

    def drawn() -> list[object]:
        Tensor.manual_seed(3)
        return [Tensor.rand(2).tolist(), Tensor.rand(3).tolist()]

    with realized.by_numpy(), monkeypatch.context() as m:
        m.setattr(private_api.tensor, "run_linear", lambda linear, *args, **kwargs: times.extend(linear.src))
        times.clear()
        found = drawn()
        assert not times
    assert found == drawn()


# ---- documents ----

PAGE = """```python
from tinygrad import Tensor
from tests.project.test_realized import times
times.append("first")
x = Tensor([1.0, 2.0]) + Tensor([3.0, 4.0])
```

```python
y = x * 2
times.append("second")
assert y.tolist() == [8.0, 12.0], times.append("wrong")
```

```python
assert y.sum().item() == {}
```
"""


def _evaluated(document: Document) -> list[object]:
    times.clear()
    for example in document:
        example.evaluate()
    return list(times)


def _page(folder: Path, total: float = 20.0) -> documents.Page:
    (path := folder / "page.md").write_text(PAGE.format(total))
    page = documents.Page.parse(str(path), PythonCodeBlockParser())
    assert isinstance(page, documents.Page)
    page.by_numpy = True
    return page


def test_a_page_is_made_by_numpy_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_api.tensor, "run_linear", lambda linear, *args, **kwargs: times.extend(linear.src))
    assert _evaluated(_page(tmp_path)) == ["first", "second"]


def test_a_page_that_numpy_makes_otherwise_is_made_by_kernels_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(by_numpy._RULES, Ops.ADD, lambda u, x, y: x - y)
    assert _evaluated(_page(tmp_path)) == ["first", "second", "wrong", "first", "second"]


def test_a_page_that_is_wrong_is_so_by_kernels_too(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        _evaluated(_page(tmp_path, 21.0))
    assert times == ["first", "second", "first", "second"]


def test_a_docstring_sees_the_names_of_its_module_when_it_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some_module_of_tests.py"
    path.write_text('''"""
>>> x = Tensor([1.0, 2.0]) + Tensor(3.0)
>>> x.tolist()
[4.0, 5.0]
>>> x.tolist() + seen
[4.0, 5.0, 7.0]
"""
from tinygrad import Tensor
seen = [7.0]
''')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(by_numpy._RULES, Ops.ADD, lambda u, x, y: x - y)
    module = documents.Module.parse(str(path), DocTestParser())
    assert isinstance(module, documents.Module)
    module.by_numpy = True
    _evaluated(module)
    assert not module.by_numpy
    path.write_text(path.read_text().replace("5.0, 7.0", "5.0, 8.0"))
    wrong = documents.Module.parse(str(path), DocTestParser())
    assert isinstance(wrong, documents.Module)
    wrong.by_numpy = False
    with pytest.raises(SybilFailure):
        _evaluated(wrong)


def test_one_document_in_eight_is_compiled_and_those_about_how_things_run_are() -> None:
    names = [f"docs/page_{i}.md" for i in range(800)]
    assert 60 < sum(map(documents.is_compiled, names)) < 140
    assert documents.is_compiled("docs/memory.md") and documents.is_compiled("branded/backends/cpu/gemm/cost.py")
    for pattern in documents.RUNS:
        assert list(documents.ROOT.glob(pattern)), pattern
