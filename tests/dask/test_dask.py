"""`vmap` over dask arrays: lazy, for any chunks and scheduler, with the results of one process."""

from __future__ import annotations

import pickle
import re
import sys
import textwrap
from collections import OrderedDict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from tinygrad import Context, Tensor

import branded
from branded import Brand, axis_index, axis_size, cond, grad, jit, pmax, pmean, pmin, psum, scan
from branded.dask import on_arrays, payload, vmap
from branded.errors import (
    AxesError,
    AxisTypeError,
    CallError,
    DerivativeError,
    OptionError,
    RandomnessError,
    ReadError,
    SizeError,
    UnsupportedError,
)
from tests.support.by_numpy import read

rng = np.random.default_rng(0)
X = rng.standard_normal((10, 4)).astype("float32")
Y = rng.standard_normal((6, 4)).astype("float32")
W = Tensor(rng.standard_normal((4, 3)).astype("float32"))
x, y = da.from_array(X, chunks=(4, 4)), da.from_array(Y, chunks=(2, 4))


class I(Brand): ...  # noqa: E742


@pytest.fixture(autouse=True)
def _here() -> Any:
    with dask.config.set(scheduler="sync"):
        yield


def same(found: Any, wanted: Any, atol: float = 1e-5) -> None:
    """Assert that the results are lazy, that their metadata is correct, and that their values match."""
    f, w = branded.tree.leaves(found), branded.tree.leaves(wanted)
    assert branded.tree.structure(found) == branded.tree.structure(wanted)
    for a, b in zip(f, w, strict=True):
        b = read(b) if isinstance(b, Tensor) else np.asarray(b)
        assert isinstance(a, da.Array)
        with Context(NOOPT=1):  # kernel optimization does not matter here
            value = a.compute()
        assert (a.shape, a.dtype) == (value.shape, value.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(value, b, atol=atol)


def layer(a: Tensor) -> Tensor:
    return (a @ W).tanh()


def test_one_task_per_chunk() -> None:
    found = vmap(layer)(x)
    assert found.chunks == ((4, 4, 2), (3,)) and found.name.startswith("vmap-layer")
    chunks = [branded.vmap(layer)(Tensor(X[i : i + 4])).numpy() for i in range(0, 10, 4)]
    assert np.array_equal(found.compute(), np.concatenate(chunks))


def test_outer_brands_are_loops_over_chunks() -> None:
    found = vmap(lambda a: vmap(lambda b: {"d": (a - b).square().sum(), "s": a + b}, out_axes={"d": 0, "s": -1})(y))(x)
    assert found["d"].chunks == ((4, 4, 2), (2, 2, 2)) and found["s"].chunks == ((4, 4, 2), (4,), (2, 2, 2))
    same(found, {"d": ((X[:, None] - Y) ** 2).sum(-1), "s": (X[:, None] + Y).transpose(0, 2, 1)})
    three = vmap(lambda a: vmap(lambda b: vmap(lambda c: (a * b * c).sum())(x))(y), out_axes=2)(x)
    same(three, np.einsum("if,jf,kf->jki", X, Y, X))


def test_each_result_has_its_own_loops() -> None:
    found = vmap(lambda a: (vmap(lambda b: a + b)(y), vmap(lambda b: b * 2)(x), a.sum()), out_axes=(0, None, 0))(x)
    assert [z.numblocks for z in found] == [(3, 3, 1), (3, 1), (3,)]
    same(found, (X[:, None] + Y, X * 2, X.sum(1)))


CASES: list[tuple[Callable[..., Any], Any, Any, tuple[Any, ...]]] = [
    (lambda a, b: a * b, (0, None), 0, (x, Tensor([1.0, 2.0, 3.0, 4.0]))),
    (lambda a, b: a * b, [0, 0], 1, (x, Tensor(X))),
    (lambda a, b: a * b, 0, -1, (Tensor(X), x)),
    (lambda a, b: a * b, (0, 0), 0, (x, da.from_array(X * 2, chunks=(3, 4)))),
    (
        lambda d: (d["a"] * d["s"], d["a"] * d["n"]),
        ({"a": 0, "s": None, "n": None},),
        0,
        ({"a": x, "s": y[0], "n": 3},),
    ),
    (lambda a, s: (a, s * 2), (0, None), (0, None), (x, y[0])),
    (lambda a: a, 1, 0, (da.from_array(X, chunks=(10, 3)),)),
    (lambda a: None, 0, 0, (x,)),
    (lambda a: a.sum(), 0, 0, (da.zeros((0, 3), dtype="float32"),)),
    (lambda a: a > 2, 0, 0, (da.from_array(np.arange(5), chunks=2),)),
    (lambda a: a + 1, 0, 0, (da.from_array(X.astype(">f4"), chunks=(4, 4)),)),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_axes_and_pytrees(case: int) -> None:
    f, in_axes, out_axes, args = CASES[case]
    here = branded.tree.map(lambda v: Tensor(v.compute().astype(v.dtype.name)) if isinstance(v, da.Array) else v, args)
    same(vmap(f, in_axes, out_axes)(*args), branded.vmap(f, in_axes, out_axes)(*here))


def test_non_tensor_results_and_keywords() -> None:
    found = vmap(lambda a, *, b: (a + b, 3), out_axes=(0, None))(x, b=x)
    same(found[0], 2 * X)
    assert found[1] == 3


COLLECTIVES: dict[str, tuple[Callable[[Tensor], Any], Any, Any]] = {
    "psum": (lambda a: psum(a, I), None, X.sum(0)),
    "psum of bools": (lambda a: psum(a > 0, I), None, (X > 0).sum(0).astype("int32")),
    "psum of unmapped value": (lambda a: psum(W.sum(), I), None, (W.sum() * 10).numpy()),
    "pmax and pmin": (lambda a: (pmax(a, I), pmin(a, I)), None, (X.max(0), X.min(0))),
    "pmean": (lambda a: a - pmean(a, I), 0, X - X.mean(0)),
    "two steps": (
        lambda a: (a - pmean(a, I)) / (psum((a - pmean(a, I)).square(), I) / axis_size(I)).sqrt(),
        0,
        (X - X.mean(0)) / X.std(0),
    ),
    "axis_index": (lambda a: a * axis_index(I), 0, X * np.arange(10, dtype="float32")[:, None]),
    "over inner brand": (
        lambda a: vmap(lambda b: (a * b).sum() - psum((a * b).sum(), "j"), axis_name="j")(y),
        0,
        X @ Y.T - (X @ Y.T).sum(1, keepdims=True),
    ),
    "over outer brand in inner vmap": (
        lambda a: vmap(lambda b: (a * b).sum() - pmax((a * b).sum(), I))(y),
        0,
        X @ Y.T - (X @ Y.T).max(0),
    ),
    "axis_index of both brands": (
        lambda a: vmap(lambda b: axis_index((I, "j")) * b.sum(), axis_name="j")(y),
        0,
        np.arange(60, dtype="float32").reshape(10, 6) * Y.sum(1),
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collectives_become_reductions(name: str) -> None:
    f, out_axes, wanted = COLLECTIVES[name]
    same(vmap(f, out_axes=out_axes, axis_name=I)(x), wanted)


def test_transforms_inside_run_on_workers() -> None:
    same(vmap(grad(lambda a: layer(a).sum()))(x), branded.vmap(grad(lambda a: layer(a).sum()))(Tensor(X)))

    def loop(a: Tensor) -> Any:
        return scan(lambda c, v: (c * 0.5 + v, c), Tensor(0.0), a)

    same(vmap(loop)(x), branded.vmap(loop)(Tensor(X)))

    choice = jit(lambda a: cond(a.sum() > 0, lambda v: v, lambda v: -v, a))
    same(vmap(choice)(x), np.where(X.sum(1, keepdims=True) > 0, X, -X))
    table = branded.vmap(lambda a: branded.vmap(lambda b: (a * b).sum())(Tensor(Y)))
    same(vmap(lambda a: branded.vmap(lambda b: (a * b).sum())(Tensor(Y)))(x), table(Tensor(X)))
    same(vmap(lambda a: vmap(lambda v: v * 2)(a))(x), X * 2)  # plain vmap inside


def test_nothing_runs_before_compute() -> None:
    """Neither the arrays nor callbacks of the function run."""
    never = da.from_delayed(dask.delayed(lambda: 1 / 0)(), (4, 2), dtype="float32")
    assert vmap(lambda a: a.sum())(never).shape == (4,)
    seen: list[Any] = []
    found = vmap(
        lambda a: branded.pure_callback(seen.append, branded.ShapeDtypeStruct((), "int32"), a, vmap_method="sequential")
    )(x)
    assert found.shape == (10,) and seen == []


def test_captured_value_is_from_time_of_call() -> None:
    w = Tensor([1.0, 2.0, 3.0, 4.0])
    found = vmap(lambda a: a * w)(x)
    w.assign(w * 0).realize()
    same(found, X * np.array([1, 2, 3, 4], "float32"))
    half = Tensor([1.5], dtype="bfloat16")
    same(vmap(lambda a: a * half.cast("float32"))(x), X * 1.5)


def test_same_call_gives_same_tasks() -> None:
    assert vmap(layer)(x).name == vmap(layer)(x).name != vmap(layer)(x + 1).name


def test_data_is_not_sent_with_function() -> None:
    big = da.zeros((1000, 1000), chunks=(50, 1000), dtype="float32") + X[0, 0]
    held = da.from_array(np.zeros((1000, 1000), "float32"), chunks=(50, 1000))
    found = vmap(lambda a: vmap(lambda b: (a * b).sum())(held))(big)
    (payload,) = {v.value.digest: v.value for k, v in found.dask.items() if "-program-" in str(k)}.values()
    assert len(pickle.dumps(payload)) < 10_000


def test_recently_used_programs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "_loaded", OrderedDict())
    monkeypatch.setattr(payload, "Loaded", lambda p: p)
    payloads: list[Any] = [SimpleNamespace(digest=str(i)) for i in range(payload._KEPT)]
    new: Any = SimpleNamespace(digest="new")
    for p in (*payloads, payloads[0], new):
        assert payload._load_program(p) is p
    assert list(payload._loaded) == [*(p.digest for p in payloads[2:]), "0", "new"]


def test_threads_take_turns() -> None:
    """A lock is held while kernels run, so dask's threads give the results of one thread."""
    many = da.from_array(rng.standard_normal((64, 4)).astype("float32"), chunks=(4, 4))
    found = vmap(lambda a: layer(a) - pmean(layer(a), "i"), axis_name="i")(many)
    one = found.compute()
    assert np.array_equal(found.compute(scheduler="threads", num_workers=4), one)


def test_on_arrays() -> None:
    f = on_arrays(branded.vmap(layer))
    assert np.allclose(f(X), np.tanh(X @ W.numpy()), atol=1e-6) and isinstance(f(X), np.ndarray)
    again = pickle.loads(pickle.dumps(f))
    assert np.array_equal(again(X), f(X))
    assert on_arrays(lambda d, n: (d["a"] * n, "s"))({"a": X}, 2)[1] == "s"
    blocks = x.map_blocks(f, chunks=(x.chunks[0], (3,)), dtype="float32", meta=np.empty((0, 0), "float32"))
    assert np.array_equal(blocks.compute(), np.concatenate([f(X[:4]), f(X[4:8]), f(X[8:])]))


def inner(use: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return a call that applies `use` to the result of an inner distributed vmap."""
    return lambda: vmap(lambda a: use(vmap(lambda b: a + b)(y)))(x)


odd = da.from_array(np.zeros(3, "complex64"), chunks=2)
MISTAKES: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "function": (CallError, "dask.vmap: f32[3] is not a function", lambda: vmap(W[0])),
    "nothing of dask": (AxesError, "no mapped argument is a dask array", lambda: vmap(layer)(Tensor(X))),
    "unmapped": (AxesError, "nothing is mapped", lambda: vmap(layer, in_axes=None)(x)),
    "sizes": (
        SizeError,
        "argument 1 has 10 examples, argument 2 has 6",
        lambda: vmap(lambda a, b: a)(x, y),
    ),
    "core": (AxesError, "argument 1 is in 2 chunks along axis 1", lambda: vmap(layer)(x.rechunk((4, 2)))),
    "shared": (
        AxesError,
        "argument 2 is in 3 chunks along axis 0, and all examples share it",
        lambda: vmap(lambda a, b: a, in_axes=(0, None))(x, y),
    ),
    "dtype": (AxisTypeError, "tinygrad has no dtype complex64 for this dask array", lambda: vmap(lambda a: a)(odd)),
    "unknown": (AxisTypeError, "chunks of unknown sizes", lambda: vmap(lambda a: a)(x[x[:, 0] > 0])),
    "result": (AxisTypeError, "has the dtype bf16", lambda: vmap(lambda a: a.cast("bfloat16"))(x)),
    "read": (ReadError, "there is no value to read", lambda: vmap(lambda a: a * a.sum().item())(x)),
    "read of what all share": (
        ReadError,
        "there is no value to read",
        lambda: vmap(lambda a, s: a * s.item(), in_axes=(0, None))(x, y.sum()),
    ),
    "draw": (RandomnessError, "a random sample", lambda: vmap(lambda a: a + Tensor.rand(4))(x)),
    "in vmap": (UnsupportedError, "a vmap of tensors", lambda: branded.vmap(lambda a: vmap(layer)(x))(Tensor(X))),
    "in grad": (
        UnsupportedError,
        "a program, a derivative",
        lambda: grad(lambda w: vmap(lambda a: (a * w).sum())(x))(Tensor(1.0)),
    ),
    "in a local vmap": (
        UnsupportedError,
        "a distributed vmap inside `c`",
        lambda: vmap(lambda a: branded.vmap(lambda c: vmap(lambda b: b)(y))(a))(x),
    ),
    "psum in a local vmap": (
        UnsupportedError,
        "psum over the distributed brand `I` inside `c`",
        lambda: vmap(lambda a: branded.vmap(lambda c: psum(c, I))(a), axis_name=I)(x),
    ),
    "psum in grad": (
        UnsupportedError,
        "inside a derivative",
        lambda: vmap(grad(lambda a: psum(a.sum(), I)), axis_name=I)(x),
    ),
    "gradient through psum": (
        DerivativeError,
        "a derivative through a collective over a distributed brand",
        lambda: vmap(lambda a: psum((a @ W).sum(), I).gradient(W)[0], axis_name=I)(x),
    ),
    "all_gather": (
        OptionError,
        "all_gather: brand `I` is distributed",
        lambda: vmap(lambda a: branded.all_gather(a, I), axis_name=I)(x),
    ),
    "ppermute": (
        OptionError,
        "ppermute: brand `I` is distributed",
        lambda: vmap(lambda a: branded.ppermute(a, I, [(0, 9)]), axis_name=I)(x),
    ),
    "sum of the inner": (UnsupportedError, ".sum needs the full result", inner(lambda r: r.sum())),
    "arithmetic with the inner": (UnsupportedError, "arithmetic needs the full result", inner(lambda r: 1 + r)),
    "entry of the inner": (UnsupportedError, "getitem needs the full result", inner(lambda r: r[0])),
    "varies": (
        AxesError,
        "None needs a result that is the same for all examples",
        lambda: vmap(lambda a: a, out_axes=None)(x),
    ),
    "outer beside": (
        UnsupportedError,
        "argument 1 varies over an outer brand",
        lambda: vmap(lambda a: vmap(lambda c, b: c * b)(a, da.from_array(X[0], chunks=2)))(x),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_name_a_fix(name: str) -> None:
    error, text, call = MISTAKES[name]
    with pytest.raises(error) as info:
        call()
    assert text in str(info.value) and "  try: " in str(info.value)


WHOLE = {
    "nothing of dask": """
        dask.vmap: no mapped argument is a dask array
          call: dask.vmap at app.py:12
          try:  use branded.vmap, or convert with dask.array.from_array(x, chunks=1000)
        """,
    "core": """
        dask.vmap: argument 1 is in 2 chunks along axis 1, and an example needs it whole
          chunks: (2, 2)
          call:   dask.vmap at app.py:12
          try:    x.rechunk({1: -1})
        """,
    "dtype": """
        dask.vmap: tinygrad has no dtype complex64 for this dask array
          try: x.astype("float32")
        """,
    "psum in grad": """
        dask.vmap: psum over the distributed brand `I` inside a derivative, which each worker runs separately
          try: call it directly in the distributed function
        """,
    "all_gather": """
        all_gather: brand `I` is distributed, so no operation sees all examples at the same time
          try: psum, pmean, pmax or pmin; or a function of the whole batch outside, on the array of dask
        """,
    "sum of the inner": """
        dask.vmap: .sum needs the full result of an inner distributed vmap, which no worker has
          try: use a collective such as psum in the inner function, or read the result outside
        """,
}


@pytest.mark.parametrize("name", WHOLE)
def test_full_error_messages(name: str) -> None:
    with pytest.raises(branded.BrandedError) as info:
        MISTAKES[name][2]()
    assert re.sub(r"at \w+\.py:\d+", "at app.py:12", str(info.value)) == textwrap.dedent(WHOLE[name]).strip()


def test_sizeof_program_counts_captured_data() -> None:
    w = Tensor(np.zeros((100, 100), "float32"))
    (program,) = (v.value for k, v in vmap(lambda a: a * w.sum())(x).dask.items() if "-program-" in str(k))
    assert 40_000 < sys.getsizeof(program) < 50_000


def test_empty_chunk_adds_nothing() -> None:
    holes = da.from_array(np.arange(5, dtype="float32") - 9, chunks=((3, 0, 2),))
    same(vmap(lambda a: (psum(a, I), pmax(a, I)), out_axes=None, axis_name=I)(holes), (np.float32(-35), np.float32(-5)))


def test_unpicklable_function_is_an_error() -> None:
    import threading

    lock = threading.Lock()

    def held(a: Tensor) -> Tensor:
        with lock:
            return a

    with pytest.raises(CallError, match="cannot be sent to workers"):
        vmap(held)(x)


def test_missing_dask_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dask.array", None)
    with pytest.raises(OptionError, match=r"pip install 'branded\[dask\]'"):
        vmap(layer)(x)


def test_local_chunks_know_the_whole_batch() -> None:
    def f(a: Tensor) -> Any:
        return a * axis_index("i"), axis_size("i"), psum(1.0, "i"), psum(W.sum(), "i")

    whole = branded.vmap(f, out_axes=(0, None, None, 0), axis_name="i")(Tensor(X))
    pieces = branded.vmap(f, out_axes=(0, None, None, 0), axis_name="i", chunk_size=4)(Tensor(X))
    assert pieces[1:3] == whole[1:3] == (10, 10.0)
    for a, b in ((pieces[0], whole[0]), (pieces[3], whole[3])):
        assert np.allclose(a.numpy(), b.numpy(), atol=1e-5)
