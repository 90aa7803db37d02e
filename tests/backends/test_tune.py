"""`jit(f, tune=...)` takes the fastest form of a kernel, stores the choice for all processes, and keeps the results.

A fake clock decides which form is fastest, except in one test with a clear difference.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Device, Tensor, dtypes
from tinygrad.uop.ops import Ops, UOp

from bench import tune as bench
from bench.against.programs import Program
from bench.workloads import floats
from branded import jit, scan, vmap
from branded.backends import cpu
from branded.backends.cpu.autotune import bench as trials
from branded.backends.cpu.autotune import cache as choices
from branded.backends.cpu.autotune import config, search, space
from branded.backends.cpu.gemm import blas
from branded.backends.cpu.renderer import kernel_marks
from branded.backends.cpu.renderer import loops as kernels
from branded.backends.cpu.runtime import cores
from branded.compile import linear_program
from branded.tinygrad_compat import private_api
from branded.tinygrad_compat.speed import program_cache
from branded.tools import profile as profiling
from branded.tools.profile import profile
from tests.support.forked import server

pytestmark = [
    pytest.mark.enabled("cpu"),
    pytest.mark.skipif(
        Device.DEFAULT != "CPU" or type(Device["CPU"].renderer) is not private_api.cstyle.ClangRenderer,
        reason="kernels of clang",
    ),
]


def data(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).realize()


class Clock:
    """A fake clock: a run takes a millisecond, or the time set in `run_times`."""

    def __init__(self) -> None:
        self.run_times: dict[str, float] = {}
        self.trials: list[list[str]] = []
        """The forms of each trial; the first trial of a kernel has the rule's form alone."""

    def seconds(self, which: Sequence[str]) -> dict[str, float]:
        self.trials.append(list(which))
        return {name: self.run_times.get(name, 1e-3) for name in which}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A fake clock, with no known kernels and no disk cache."""
    clock = Clock()
    monkeypatch.setattr(choices, "_known", {})
    monkeypatch.setattr(program_cache, "is_kept", lambda: False)
    monkeypatch.setattr(trials.Trial, "seconds", lambda _, which: clock.seconds(which))
    return clock


def restrict_forms(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Restrict the forms to the rule's and the named ones, to save compile time."""
    original = space.others
    monkeypatch.setattr(
        space, "others", lambda k, how: {name: x for name, x in original(k, how).items() if name in names}
    )


def columns(x: Tensor) -> Tensor:
    return x.sum(0)


def calls_of(f: Any) -> list[UOp]:
    """Return the kernels and products of the only program of a compiled function."""
    (program,) = f._programs.values()
    return [call.src[0] for call in program.run.run.linear.linear.src]


def options(f: Any) -> tuple[Any, ...]:
    (kernel,) = calls_of(f)
    return tuple(kernel.src[0].arg.applied_opts)


X = data(96, 64)
EIGHT, IN_LOOPS = "1 x 8 vectors", "1 x 8 loops"

# ---- choice of a form ----


def test_fastest_form_is_taken(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT, "loops")
    clock.run_times[EIGHT] = 1e-4
    f: Any = jit(columns, tune="fast")
    np.testing.assert_allclose(f(X).numpy(), X.numpy().sum(0), rtol=1e-5, atol=1e-5)
    (kernel,) = f.tuned
    assert kernel[1:] == (EIGHT, 1e-4, 1e-3, 3) and round(kernel.gain) == 10 and f.tuned.tried == 3
    assert private_api.Opt(private_api.OptOps.UPCAST, 0, 8) in options(f)
    assert clock.trials == [["rule"], ["rule", "loops", EIGHT]]
    assert str(f.tuned).splitlines()[1].split()[1:] == [*EIGHT.split(), "1000.00", "100.00", "10.00", "3"]


def test_real_clock_corrects_a_bad_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Summing one column at a time is many times slower than eight columns side by side."""
    monkeypatch.setattr(choices, "_known", {})
    monkeypatch.setattr(program_cache, "is_kept", lambda: False)
    monkeypatch.setattr(search, "LEAST", 0)  # it takes about 2 µs
    restrict_forms(monkeypatch, EIGHT)
    monkeypatch.setattr(
        private_api.heuristic, "hand_coded_optimizations", bad_rule(private_api.heuristic.hand_coded_optimizations)
    )
    f: Any = jit(columns, tune="fast")
    f(data(78, 104, seed=1))  # too small to be reduced in stages
    (kernel,) = f.tuned
    assert kernel.form == EIGHT and kernel.gain > 1.05


def bad_rule(original: Callable[..., Any]) -> Callable[..., Any]:
    def plain(k: Any) -> Any:
        if kernels.looks.raises is not None:
            raise kernels.looks.raises(k)
        return k

    setattr(plain, "__wrapped__", getattr(original, "__wrapped__"))  # noqa: B009, B010
    return plain


def test_equally_fast_form_is_not_taken(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 0.97e-3
    f: Any = jit(columns, tune="fast")
    f(X)
    assert f.tuned[0].form == "rule" and f.tuned[0].gain == 1 and f.tuned[0].tried == 2
    plain: Any = jit(columns)
    plain(X)
    assert options(f) == options(plain)


def test_form_with_wrong_results_is_not_taken(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT, "loops")
    clock.run_times |= {EIGHT: 1e-4, "loops": 2e-4}
    original = trials.Trial._results

    def wrong(self: trials.Trial, name: str, seed: int, signs: bool) -> dict[UOp, Any]:
        found = original(self, name, seed, signs)
        if name == EIGHT and signs:
            for raw in found.values():
                raw.view(np.float32)[5] += 0.01
        return found

    monkeypatch.setattr(trials.Trial, "_results", wrong)
    f: Any = jit(columns, tune="fast")
    f(X)
    assert f.tuned[0].form == "loops"


def test_short_kernels_are_not_tried(clock: Clock) -> None:
    clock.run_times["rule"] = 1e-6
    f: Any = jit(columns, tune="fast")
    f(X)
    assert not f.tuned and str(f.tuned) == "no kernel was tried" and clock.trials == [["rule"]]
    assert [c.tried for c in choices._known.values()] == [0]


def test_short_kernel_in_loop_is_tried(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, "rows", "loops")
    clock.run_times |= {"rule": 1e-6, "loops": 1e-7}

    def sums(x: Tensor) -> Tensor:
        return scan(lambda c, row: (c, (row.reshape(8, 8) * c).sum(0)), x[0, 0] * 0 + 2, x)[1]

    f: Any = jit(sums, tune="fast")
    np.testing.assert_allclose(f(X).numpy(), X.numpy().reshape(96, 8, 8).sum(1) * 2, rtol=1e-5, atol=1e-5)
    assert [kernel.form for kernel in f.tuned] == ["loops"]
    jit(sums)(X)
    assert clock.trials == [["rule"]] * 3 + [["rule", "loops"]], "two kernels around it, one in it; none without `tune`"


# ---- the law ----


def points(x: Tensor) -> Tensor:
    return (x[:, None] - x).square().sum(-1).exp()


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], str]] = {
    "sums of columns": (columns, (data(48, 40),), EIGHT),
    "largest of columns": (lambda x: x.max(0), (data(48, 40),), IN_LOOPS),
    "largest of short rows": (lambda x: (x * x).max(1), (data(96, 24),), IN_LOOPS),
    "several terms at once": (lambda x: (x * 2).sum(0), (data(48, 40),), "1 x 8 x 4 vectors"),
    "integers": (lambda x, y: x @ y, (data(16, 16).mul(9).int(), data(16, 16).mul(9).int()), "4 x 8 vectors"),
    "a border": (lambda x: x.pad(((1, 1), (1, 1))).sum(0), (data(38, 38),), EIGHT),
    "a transposed matrix": (lambda x: x.T + 1, (data(40, 32),), EIGHT),
    "all pairs": (points, (data(40, 8),), EIGHT),
    "halves": (lambda x: x.half().sum(0), (data(48, 40),), EIGHT),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_match_the_rules_form(name: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    f, args, form = PROGRAMS[name]
    restrict_forms(monkeypatch, form)
    clock.run_times[form] = 1e-4
    g: Any = jit(f, tune="fast")
    before = [x.numpy().copy() for x in args]
    found = g(*args).numpy()
    assert form in {kernel.form for kernel in g.tuned}, clock.trials
    expected = jit(f)(*args).numpy()
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=2e-3, atol=1e-4)
    for x, first in zip(args, before, strict=True):
        np.testing.assert_array_equal(x.numpy(), first)


@pytest.mark.parametrize("how", ["fast", "best"])
def test_forms_are_distinct_and_short(how: Any) -> None:
    for f, args, _ in PROGRAMS.values():
        for call in f(*args).schedule_linear().src:
            if call.src[0].op is not Ops.SINK or (k := space.loops_of(call.src[0], Device["CPU"].renderer)) is None:
                continue
            found = [tuple(x.applied_opts) for x in space.others(k, how).values()]
            assert len({*found, tuple(space.rule(k).applied_opts)}) == len(found) + 1
            assert len(found) <= (8 if how == "fast" else 40)
            least = len(k.ast.toposort())
            assert all(x.upcast_size() * least <= space.WRITTEN_OUT[how] for x in space.others(k, how).values())


def test_elementwise_kernel_has_one_form() -> None:
    (call,) = (X.exp() * 2).schedule_linear().src
    k = space.loops_of(call.src[0], Device["CPU"].renderer)
    assert k is not None and not space.others(k, "best")
    assert kernels.looks.raises is None, "kernels are made again"


# ---- products ----


def layer(w: Tensor, x: Tensor) -> Tensor:
    return (w @ x + 1).tanh()


def test_blas_replaces_a_kernel(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, "loops")
    w, x = data(12, 12), data(12, 12, seed=1)
    clock.run_times["BLAS"] = 1e-4
    plain: Any = jit(layer)
    f: Any = jit(layer, tune="fast")
    np.testing.assert_allclose(f(w, x).numpy(), plain(w, x).numpy(), rtol=1e-4, atol=1e-5)
    assert not any(isinstance(k.arg, blas.ProductName) for k in calls_of(plain))
    if blas.library() is not None:
        assert f.tuned[0].form == "BLAS" and isinstance(calls_of(f)[0].arg, blas.ProductName)


def make_ways(**calls: Sequence[int]) -> dict[str, trials.Way]:
    """Return ways with one kernel per number of parts; 0 stands for a product."""
    kernel = calls_of(after_call(jit(columns)))[0]

    def one(parts: int) -> UOp:
        if not parts:
            return UOp(Ops.CUSTOM_FUNCTION, arg="product").call()
        return kernel.replace(arg=replace(kernel.arg, global_size=(parts, 1, 1))).call()

    return {name.replace("_", " "): tuple(map(one, parts)) for name, parts in calls.items()}


def after_call(f: Any) -> Any:
    f(X)
    return f


def test_fastest_way_counts_parallel_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "count", lambda: 2)
    one, two = make_ways(rule=[1], loops=[1]), make_ways(rule=[2], loops=[1])
    assert search._fastest({"rule": 1.0, "loops": 0.9}, one) == "loops"
    assert search._fastest({"rule": 1.0, "loops": 0.96}, one) == "rule"
    assert search._fastest({"rule": 1.0, "loops": 0.6}, two) == "rule", "its parts are done side by side"
    assert search._fastest({"rule": 1e-5, "loops": 0.6e-5}, two) == "loops", "no thread is woken for so little"
    assert search._fastest({"rule": 1.0}, two) == "rule"
    beside = make_ways(rule=[2], loops=[2], BLAS=[1, 0])
    assert search._fastest({"rule": 1.0, "loops": 0.8, "BLAS": 0.7}, beside) == "BLAS"
    assert search._fastest({"rule": 1.0, "loops": 0.8, "BLAS": 0.79}, beside) == "loops"
    assert search._fastest({"rule": 1.0, "loops": 1.2, "BLAS": 0.97}, beside) == "rule"
    product = make_ways(rule=[1, 0], kernel=[2], loops=[2])
    assert search._fastest({"rule": 1.0, "kernel": 0.9, "loops": 0.7}, product) == "loops"
    assert search._fastest({"rule": 1.0, "kernel": 0.96, "loops": 1.1}, product) == "rule"
    assert search._fastest({"rule": 1.0}, product) == "rule", "the others gave other numbers"


@pytest.mark.skipif(blas.library() is None, reason="no BLAS")
def test_kernel_replaces_blas(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, "loops")
    w, x = data(32, 32), data(32, 32, seed=1)
    clock.run_times["kernel"] = 1e-4
    plain: Any = jit(layer)
    f: Any = jit(layer, tune="fast")
    np.testing.assert_allclose(f(w, x).numpy(), plain(w, x).numpy(), rtol=1e-4, atol=1e-5)
    assert isinstance(calls_of(plain)[0].arg, blas.ProductName)
    assert f.tuned[0].form == "kernel" and [k.op for k in calls_of(f)] == [Ops.PROGRAM]


def test_large_product_is_left_to_blas(clock: Clock) -> None:
    w = data(48, 48)
    f: Any = jit(lambda w: w @ w, tune="best")
    f(w)
    assert not clock.trials if blas.library() is not None else clock.trials


# ---- safety of trials ----


def unsafe() -> dict[str, Tensor]:
    i = Tensor([3, 1, 2]).realize()
    return {"a quotient": 7 // i, "a remainder": i % (i - 1), "odd numbers": X.cast(dtypes.fp8e4m3) + 1}


def test_unsafe_kernel_is_not_tried() -> None:
    for name, x in unsafe().items():
        assert not all(trials.is_safe(call.src[0]) for call in x.schedule_linear().src), name
    assert all(trials.is_safe(call.src[0]) for call in (X * 2 // 3).sum(0).schedule_linear().src)


def test_kernel_with_loaded_index_is_not_tried(clock: Clock) -> None:
    f: Any = jit(lambda x, i: x[i].sum(0), tune="fast")
    x, i = data(40, 16), Tensor([3, 0, 39, 3]).realize()
    np.testing.assert_allclose(f(x, i).numpy(), x.numpy()[i.numpy()].sum(0), rtol=1e-5)
    assert not f.tuned and clock.trials == [["rule"]]


def test_trial_buffers_hold_one_loop_step() -> None:
    """A step is compiled for 2^31 elements, whatever the length of its loop."""
    at = UOp.variable("branded_step", 0, 1 << 20)
    many, out = (UOp.param(i, dtypes.float32, (n,), "CPU") for i, n in ((0, 64 << 20), (1, 64)))
    r = UOp.range(64, 0)
    kernel = out.index(r).store(many.index(at * 64 + r)).end(r).sink(arg=private_api.KernelInfo())
    args = UOp.new_buffer("CPU", 64 << 20, dtypes.float32), UOp.new_buffer("CPU", 64, dtypes.float32)
    assert list(trials.sizes(kernel.call(*args)).values()) == [64, 64]


def test_trial_inputs() -> None:
    rng = np.random.default_rng(0)
    for dtype in (dtypes.float32, dtypes.float16, dtypes.float64, dtypes.bfloat16):
        x = trials._values(trials.numbers(rng, 1000, dtype, True), dtype).astype(np.float64)
        assert abs(x).min() >= 0.24 and abs(x).max() <= 1 and x.min() < 0 < x.max()
        assert trials._values(trials.numbers(rng, 9, dtype, False), dtype).min() > 0
    assert set(trials.numbers(rng, 99, dtypes.bool, False)) == {0, 1}
    assert set(trials.numbers(rng, 999, dtypes.int16, False).view(np.int16)) == {*range(8)}


def test_agreement_up_to_rounding() -> None:
    x = np.linspace(-1, 1, 50, dtype=np.float32)

    def same(y: Any, terms: int = 1, dtype: Any = dtypes.float32) -> bool:
        return trials.agree(y.view(np.uint8), x.astype(y.dtype).view(np.uint8), dtype, terms)

    assert same(x) and same(x + np.float32(1e-7)) and not same(x + np.float32(1e-4))
    assert same(x + np.float32(1e-4), terms=10_000)
    assert not same(np.where(x > 0.9, np.float32(np.nan), x))
    assert same(x.astype(np.float64), dtype=dtypes.float64)
    assert not same(x.astype(np.float64) + 1e-7, dtype=dtypes.float64)
    assert not same((x * 100).astype(np.int32), dtype=dtypes.int32)


# ---- stored choices ----

ANEW = """
from branded import jit
from branded.backends.cpu.autotune import bench as trials, space as forms
from tinygrad import Tensor

made, forms.others = [], lambda k, how, all=forms.others: {n: x for n, x in all(k, how).items() if n == "1 x 8 vectors"}
def compiled(ks, renderer, original=trials.compile_candidates):
    made.extend(ks)
    return original(ks, renderer)
trials.compile_candidates = compiled
timed = []
def seconds(self, which):
    timed.append(which)
    return {n: 1e-3 if n == "rule" else 1e-4 for n in which}
trials.Trial.seconds = seconds
f = jit(lambda x: x.sum(0), tune="fast")
x = f((Tensor.arange(640).reshape(40, 16) * 1.0).realize())
print(x[:2].tolist(), len(made), len(timed), *[(k.form, k.tried, k.gain) for k in f.tuned])
"""


def test_another_process_tries_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    first, later = (
        "[12480.0, 12520.0] 1 2 ('1 x 8 vectors', 2, 10.0)",
        "[12480.0, 12520.0] 0 0 ('1 x 8 vectors', 0, 10.0)",
    )
    with server() as one:

        def run() -> str:
            status, out, err = one.run(ANEW, CACHEDB=str(cache))
            assert status == 0, err
            return out.strip()

        assert run() == first and run() == later
        with closing(sqlite3.connect(cache)) as connection, connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'branded_tuned%'").fetchall()
            assert len(names) == 1
            connection.execute(f"UPDATE '{names[0][0]}' SET val = substr(val, 1, 10)")
        assert run() == first, "what is not whole is tried anew"


def test_key_of_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    (kernel,) = (call.src[0] for call in X.sum(0).schedule_linear().src)
    renderer = Device["CPU"].renderer
    keys = {choices.key(kernel, renderer, "fast"), choices.key(kernel, renderer, "best")}
    with Context(NUM_CPU_THREADS=7):  # type: ignore[no-untyped-call]
        keys.add(choices.key(kernel, renderer, "fast"))
    monkeypatch.setattr(choices, "cores", SimpleNamespace(count=lambda: 77))
    keys.add(choices.key(kernel, renderer, "fast"))
    assert len(keys) == 4 and choices.key(kernel, renderer, "fast") in keys


def test_serialized_choice_round_trips() -> None:
    whole = choices.Choice(
        "r_4", "loops", (kernel_marks.LOOPS, private_api.Opt(private_api.OptOps.UPCAST, 0, 4)), 1e-3, 2e-3, 5, 3e-3
    )
    assert choices._parse_choice(choices._serialize_choice(whole)) == whole
    assert choices._parse_choice(choices._serialize_choice(choices.by_rule("r_4", 1e-3))) == choices.by_rule(
        "r_4", 1e-3
    )
    for odd in (None, 3, (), ("r", "loops", (("NONE", 0, 1),), 1, 1, 1, 1), ("r", "loops", None, "x", 1, 1, 1)):
        assert choices._parse_choice(odd) is None


def test_trial_does_not_change_share_of_others(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial times the rule's form again, but must not change the share of the other kernels."""
    restrict_forms(monkeypatch, EIGHT)
    monkeypatch.setattr(search, "SHARE", 0.3)
    times = iter([1e-3, 3e-4])  # of the two kernels

    def seconds(_: trials.Trial, which: Sequence[str]) -> dict[str, float]:
        clock.trials.append(list(which))
        return {name: next(times) if len(which) == 1 else 1e-4 for name in which}

    monkeypatch.setattr(trials.Trial, "seconds", seconds)
    for _ in range(3):
        jit(lambda x: (x.sum(0), (x * x).max(0)), tune="fast")(X)
    assert clock.trials == [["rule"], ["rule"], ["rule", EIGHT]]


def test_number_of_choices_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "_known", {})
    monkeypatch.setattr(choices, "MOST", 3)
    monkeypatch.setattr(program_cache, "is_kept", lambda: False)
    for i in range(5):
        choices.keep(str(i), choices.by_rule("k", 1.0))
    assert [*choices._known] == ["2", "3", "4"]
    assert choices.TABLE.startswith(program_cache.TABLES.rstrip("%")), "on disk it is bounded as all tables of ours are"


def test_second_call_and_function_try_nothing(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 1e-4
    for tried in (2, 0):
        f: Any = jit(columns, tune="fast")
        f(X), f(X)
        assert (f.tuned[0].form, f.tuned.tried, f.traces) == (EIGHT, tried, 1)
    assert len(clock.trials) == 2


def test_jit_without_tune_keeps_the_rules_form(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 1e-4
    jit(columns, tune="fast")(X)
    f: Any = jit(columns)
    f(X)
    assert private_api.Opt(private_api.OptOps.UPCAST, 0, 8) not in options(f) and not f.tuned and len(clock.trials) == 2


def test_threads_try_a_kernel_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 1e-4
    f: Any = jit(columns, tune="fast")
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(f(X).numpy())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(found) == 4 and len(clock.trials) == 2
    for x in found:
        np.testing.assert_allclose(x, X.numpy().sum(0), rtol=1e-5, atol=1e-5)


# ---- other uses of jit ----


def test_jit_as_decorator(clock: Clock) -> None:
    clock.run_times["rule"] = 1e-9

    @jit(tune="fast")
    def doubled(x: Tensor) -> Tensor:
        return x * 2

    @jit(static_argnums=1)
    def times(x: Tensor, n: int) -> Tensor:
        return x * n

    assert doubled(Tensor([1.0, 2.0])).tolist() == times(Tensor([1.0, 2.0]), 2).tolist() == [2.0, 4.0]
    assert len(clock.trials) == 1, "the first asks how long it takes"


def test_tuned_function_inside_other_transforms(clock: Clock) -> None:
    f: Any = jit(columns, tune="fast")
    np.testing.assert_allclose(vmap(columns)(data(3, 4, 5)).numpy(), vmap(f)(data(3, 4, 5)).numpy())
    jit(lambda x: f(x) + 1)(X)
    assert not f.tuned and not clock.trials


def test_nothing_is_tried_without_cpu_codegen(clock: Clock) -> None:
    f: Any = jit(columns, tune="fast")
    with cpu.plain():
        np.testing.assert_allclose(f(X).numpy(), X.numpy().sum(0), rtol=1e-4, atol=1e-5)
    assert not clock.trials


def test_donated_argument(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 1e-4
    f: Any = jit(lambda x: x - x.sum(0), donate_argnums=0, tune="fast")
    x = X.numpy()
    np.testing.assert_allclose(f(data(96, 64)).numpy(), x - x.sum(0), rtol=1e-4, atol=1e-4)


def test_other_devices_use_beam_search(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []

    def compiled(calls: UOp, beam: int) -> UOp:
        found.append(beam)
        return calls

    monkeypatch.setitem(vars(private_api), "compile_linear", compiled)
    x, y = UOp.new_buffer("NULL", 4, dtypes.float32), UOp.new_buffer("NULL", 4, dtypes.float32)
    hows: tuple[config.TuneLevel | None, ...] = (None, "fast", "best")
    for how in hows:
        with config.tuning_block(how, {}):
            linear_program.schedule([(y, x + 1)], [y, x])
    assert found == [0, 2, 4] and config.how() is None


def test_bench_compares_tuned_kernels(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 1e-4
    program = Program("columns", (floats(96, 64),), lambda m: columns)
    monkeypatch.setattr(bench, "PROGRAMS", [program])
    monkeypatch.setattr(bench, "calls_of", lambda run: 1)

    def row() -> list[str]:
        bench.main(["--only", "columns", "--seconds", "0.001"])
        (found,) = [line.split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("| columns")]
        return found

    assert list(map(int, row()[5:7])) == [1, 1], "one kernel was tried, and took another form"
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    assert row()[4].strip() == "nan", "a call is shorter than a tick of the clock"
    with pytest.raises(SystemExit):
        bench.main(["--only", "no such program"])


def test_profile_shows_tuned_kernels(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    restrict_forms(monkeypatch, EIGHT)
    clock.run_times[EIGHT] = 1e-4
    monkeypatch.setattr(profiling, "peak", lambda: profiling.Peak(1e9, 1e9))
    found = profile(jit(columns, tune="fast"), X)
    assert [k.form for k in found.tuned] == [EIGHT] and str(found).endswith(str(found.tuned))
    assert len(found.kernels) == 1
