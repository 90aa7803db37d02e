"""Compare the prediction of `memory` with measurements, and check the values, brands and broadcasts that it reports."""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Tensor, dtypes
from tinygrad.helpers import Context

from bench import scale
from branded import ShapeDtypeStruct, errors, grad, io_callback, jit, linalg, memory, scan, vmap
from branded.backends.cpu.gemm import cost
from branded.backends.cpu.renderer import bufferize_policy
from branded.chunking.footprint import footprint
from branded.compile import kernel_order
from branded.tools import memory_report
from tests.support.memory_cases import CASES

ROOT = Path(__file__).parents[2]
OF_NUMPY = ("sort", "argsort")
"""The cases with memory that tinygrad does not track."""


@functools.cache
def measured() -> dict[str, dict[str, int]]:
    # malloc returns memory to the system, so that the second run allocates it again
    own = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    command = [sys.executable, "-m", "tests.support.memory_cases"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux tells the resident set")
@pytest.mark.parametrize("name", CASES)
def test_prediction_matches_measurement(name: str) -> None:
    found = measured()[name]
    assert found["predicted"] == pytest.approx(found["resident"], rel=0.2)
    if name not in OF_NUMPY:
        assert found["predicted"] == pytest.approx(found["tracked"], rel=0.05)


def test_parts_of_the_peak() -> None:
    x = Tensor.empty(100, 10)
    found = memory(lambda x: vmap(lambda a: vmap(lambda b: a * b)(x))(x).contiguous().sum(-1))(x)
    assert (found.arguments, found.results, found.between) == (4000, 40_000, 400_000)
    assert found.peak == 4000 + 40_000 + 400_000 and found.work == 0


def test_captured_tensor_counts_as_argument() -> None:
    w = Tensor.ones(50, 50).contiguous().realize()
    assert memory(lambda x: vmap(lambda a: w @ a)(x))(Tensor.empty(8, 50)).arguments == 4 * (2500 + 400)


def test_reduced_outer_product_is_not_stored() -> None:
    x, y = Tensor.empty(20_000, 3), Tensor.empty(30_000, 3)
    found = memory(lambda x, y: vmap(lambda a: vmap(lambda b: (a - b).square().sum())(y).min())(x))(x, y)
    assert found.peak - found.arguments < 20_000 * 30_000 / 100


def test_memory_of_loops() -> None:
    c, xs = Tensor.empty(1000), Tensor.empty(7, 1000)
    found = memory(lambda c, xs: scan(lambda c, x: (c.sin() + x, None), c, xs)[0])(c, xs)
    assert found.work >= 4000  # the carry alternates between two buffers
    nested = memory(lambda c, xs: scan(lambda c, x: (scan(lambda d, _: (d.cos(), None), c, length=3)[0], x), c, xs))(
        c, xs
    )
    assert nested.work >= 8000


def test_largest_value_has_line_and_brands() -> None:
    def near(x: Tensor, y: Tensor) -> Tensor:
        return vmap(lambda a: vmap(lambda b: (a - b).contiguous().exp().sum())(y))(x)

    first = memory(near)(Tensor.empty(60, 32), Tensor.empty(70, 32)).largest[0]
    assert first.bytes == 60 * 70 * 32 * 4 and first.brands == ("a", "b") == first.broadcast
    assert first.where == first.line == f"test_memory.py:{near.__code__.co_firstlineno + 1}"
    assert first.type == "Vec[a:60 | b:70, f32[32]]" and "contiguous" in first.code
    text = str(memory(near)(Tensor.empty(60, 32), Tensor.empty(70, 32)))
    assert (
        text.splitlines()[0] == ("557.7 KiB at most: arguments 16.25 KiB, results 16.41 KiB, between 525 KiB, work 0 B")
        and "a broadcast over `a` and `b`, at test_memory.py:" in text
    )


def test_arguments_may_be_specs_or_arrays() -> None:
    f = lambda x, y, k: (x * y).sum() * k  # noqa: E731
    assert memory(f)(ShapeDtypeStruct((10, 3), "float32"), Tensor.empty(10, 3), 2).arguments == 240
    assert memory(f)(np.ones((10, 3), np.float32), Tensor.empty(10, 3), 2).peak >= 244
    assert memory(lambda t: t["a"] + 1)({"a": ShapeDtypeStruct((4,), dtypes.float16)}).peak == 16


def test_memory_has_no_side_effects() -> None:
    calls: list[int] = []
    t = Tensor([1.0, 2.0]).realize()

    def f(x: Tensor) -> Tensor:
        io_callback(lambda v: calls.append(1), None, x.sum())
        t.assign(t + 1)
        return (x + t) * Tensor.rand(2)

    Tensor.manual_seed(5)
    wanted = Tensor.rand(3).tolist()
    Tensor.manual_seed(5)
    memory(f)(Tensor.empty(2))
    assert not calls and t.tolist() == [1.0, 2.0] and Tensor.rand(3).tolist() == wanted


def test_compiled_function_is_not_traced() -> None:
    f = jit(lambda x: vmap(lambda a: linalg.qr(a)[1])(x))
    x = Tensor.empty(20, 16, 16)
    assert memory(f)(x).peak >= 2 * 20 * 256 * 4 and f.traces == 0


def test_bench_curves_match_the_prediction() -> None:
    found = scale.figures(lambda x: vmap(lambda a: (a.reshape(64, 1) * a).contiguous().sum(0))(x), scale.floats(50, 64))
    assert found.measured == pytest.approx(found.predicted, rel=0.02) and found.predicted >= 50 * 64 * 64 * 4
    assert 0 < found.call < found.first


def test_memory_is_linear_in_the_batch() -> None:
    w = Tensor.empty(32, 32)
    f = vmap(grad(lambda w, x: (w @ x).tanh().sum()), in_axes=(None, 0))
    small, large = (memory(f)(w, Tensor.empty(n, 32)) for n in (1000, 1_000_000))
    assert large.peak - large.arguments == pytest.approx(1000 * (small.peak - small.arguments), rel=0.05)


def test_open_brand_counts_all_examples() -> None:
    found: list[int] = []

    def f(a: Tensor) -> Tensor:
        y = vmap(lambda b: (a * b).sum())(Tensor.empty(30, 4))
        found.append(footprint([y.uop]).results)
        return y

    vmap(f)(Tensor.empty(50, 4))
    assert found == [50 * 30 * 4]


def test_non_functions_are_rejected() -> None:
    with pytest.raises(errors.CallError, match=r"memory: f32\[1\] is not a function"):
        memory(Tensor([1.0]))  # type: ignore[arg-type]
    with pytest.raises(errors.CallError, match=r"memory: .* missing 1 required positional argument"):
        memory(lambda x, y: x)(Tensor([1.0]))
    with pytest.raises(errors.CallError, match=r"jit: .* missing 1 required positional argument"):
        memory(jit(lambda x, y: x))(Tensor([1.0]))


def test_write_of_another_thread_is_kept() -> None:
    w, reached = Tensor.zeros(3).contiguous().realize(), threading.Event()

    def write() -> None:
        reached.wait()
        w.assign(Tensor([1.0, 2.0, 3.0]))

    def looked(x: Tensor) -> Tensor:
        reached.set()
        time.sleep(0.05)  # the other thread would write now if it did not wait
        return x + 1

    other = threading.Thread(target=write)
    other.start()
    memory(looked)(Tensor.ones(2))
    other.join()
    assert w.tolist() == [1.0, 2.0, 3.0]


def test_most_bytes_in_use() -> None:
    """A buffer is in use up to the last call that reads it."""
    a, b, c, x = (Tensor.empty(n).uop.base for n in (100, 10, 1, 2))
    assert kernel_order._most([0, 1, 2], [([a, x], {a}), ([b, a], {b}), ([c, a, b], {c})]) == 4 * (100 + 10 + 1)


def test_python_number_as_an_argument() -> None:
    """The Python number only counts steps here."""
    assert memory_report._try_make_expr(lambda x, n: sum((x for _ in range(n)), x), (Tensor.ones(2), 2), {}) is not None


def _images(rng: random.Random) -> Tensor:
    x = Tensor.empty(512, rng.choice((1, 3, 32)), rng.choice((20, 28)), rng.choice((24, 28)))
    for _ in range(rng.randint(1, 4)):
        kind, c = rng.choice(("conv", "conv", "norm", "relu", "pool", "gelu", "bias")), int(x.shape[1])
        if kind == "conv":
            x = x.conv2d(Tensor.empty(32, c, 3, 3))
        elif kind == "norm":
            x = x.batchnorm(*(Tensor.empty(c) for _ in range(3)), Tensor.empty(c).rsqrt())
        elif kind == "bias":
            x = x + Tensor.empty(c).exp().reshape(1, c, 1, 1)
        else:
            x = x.max_pool2d() if kind == "pool" else getattr(x, kind)()
    y = x.flatten(1)
    return y @ Tensor.empty(int(y.shape[1]), 10) if rng.random() < 0.5 else x


def _matrices(rng: random.Random) -> Tensor:
    x = Tensor.empty(*rng.choice(((4096, 4096), (1 << 19, 32), (300, 50000))))
    for _ in range(rng.randint(1, 5)):
        if x.ndim < 2:
            return x
        kind, (n, m) = (
            rng.choice(("softmax", "gelu", "layernorm", "sum", "max", "var", "matmul", "scale", "T")),
            x.shape,
        )
        if kind in ("sum", "max", "var"):
            x = getattr(x, kind)(rng.choice((0, 1)))
        elif kind == "matmul":
            x = x @ Tensor.empty(m, 32)
        elif kind == "scale":
            x = x * rng.choice((Tensor.empty(n, 1).exp(), Tensor.empty(m).rsqrt()))
        else:
            x = x.T if kind == "T" else getattr(x, kind)()
    return x


@pytest.mark.parametrize("seed", range(30))
def test_our_kernels_need_little_more_memory(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # values that the scheduler keeps in memory are no larger than their inputs
    monkeypatch.setattr(bufferize_policy, "is_kept", lambda *_: False)
    peaks = []
    for ours in (1, 0):
        with Context(BRANDED_CPU=ours):  # type: ignore[no-untyped-call]
            peaks.append(memory(lambda: (_images if seed % 2 else _matrices)(random.Random(seed)))().peak)
    assert peaks[0] <= 1.5 * peaks[1] + cost.SMALL


def test_convolution_does_not_copy_its_windows() -> None:
    x, w, g = Tensor.empty(256, 32, 24, 24), Tensor.empty(32, 32, 3, 3), Tensor.empty(32)
    found = memory(lambda x, w, g: x.conv2d(w) * g.rsqrt().reshape(1, 32, 1, 1))(x, w, g)
    assert found.between <= cost.SMALL
