"""Check random numbers from keys: their values, the law of vmap, the distributions and the messages."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray
from tinygrad import Context, GlobalCounters, Tensor, TinyJit, dtypes, function

import branded.random.selection
from branded import BrandedError, errors, grad, jvp, make_expr, random, vmap
from branded.control_flow.loops import scan
from branded.functions._erf import erfinv, next_above
from tests.support.by_numpy import looped, read
from tests.support.profiles import check

pytestmark = pytest.mark.by_numpy

KEY = random.key(42).realize()
KEYS = random.split(random.key(3), 3).realize()


def threefry(key: tuple[int, int], high: NDArray[Any], low: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Threefry-2x32 with 20 rounds, as its authors define it."""
    u32 = np.uint32
    ks = [u32(key[0]), u32(key[1]), u32(key[0]) ^ u32(key[1]) ^ u32(0x1BD11BDA)]
    with np.errstate(over="ignore"):
        x, y = high.astype(u32) + ks[0], low.astype(u32) + ks[1]
        for i in range(5):
            for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
                x = x + y
                y = ((y << u32(r)) | (y >> u32(32 - r))) ^ x
            x, y = x + ks[(i + 1) % 3], y + ks[(i + 2) % 3] + u32(i + 1)
    return x, y


def positions(*at: int) -> tuple[NDArray[Any], NDArray[Any]]:
    c = np.array(at, dtype=np.uint64)
    return (c >> np.uint64(32)).astype(np.uint32), (c & np.uint64(0xFFFFFFFF)).astype(np.uint32)


# ---- the values ----


def test_reference_is_threefry() -> None:
    """The vectors of Random123's known-answer tests."""
    ones = np.array([0xFFFFFFFF], dtype=np.uint32)
    zero = np.array([0], dtype=np.uint32)
    assert [int(x[0]) for x in threefry((0, 0), zero, zero)] == [0x6B200159, 0x99BA4EFE]
    assert [int(x[0]) for x in threefry((0xFFFFFFFF, 0xFFFFFFFF), ones, ones)] == [0x1CB996FC, 0xBB002BE7]


def test_bits_are_threefry() -> None:
    def law(seed: int, n: int) -> None:
        key = random.key(seed)
        words = tuple(key.tolist())
        x, y = threefry(words, *positions(*range(n)))
        assert random.bits(key, (n,)).tolist() == (x ^ y).tolist()
        assert random.split(key, n).tolist() == np.stack([x, y], -1).tolist()

    check(law, st.integers(0, 2**64 - 1), st.integers(0, 40), examples=10)


@pytest.mark.parametrize("n", [2**31 + 5, 2**32 + 5])
def test_positions_of_more_than_31_bits(n: int) -> None:
    x, y = threefry((0, 42), *positions(n - 3, n - 2, n - 1))
    assert random.bits(KEY, (n,))[-3:].tolist() == (x ^ y).tolist()


def test_seeds() -> None:
    """The keys that JAX creates from 32-bit seeds, and from larger ones with jax_enable_x64."""
    seeds = {
        0: [0, 0],
        7: [0, 7],
        2**32 - 1: [0, 2**32 - 1],
        -1: [0, 2**32 - 1],
        -(2**31): [0, 2**31],
        2**32: [1, 0],
        2**40 + 3: [256, 3],
        -(2**40): [4294967040, 0],
        2**64 - 1: [2**32 - 1, 2**32 - 1],
    }
    assert {n: random.key(n).tolist() for n in seeds} == seeds
    assert random.key(np.int64(7)).tolist() == [0, 7]  # type: ignore[call-overload]
    assert random.key(Tensor(5)).tolist() == [0, 5]
    assert vmap(random.key)(Tensor([1, -1])).tolist() == [[0, 1], [0, 2**32 - 1]]
    assert vmap(random.key)(Tensor.arange(3)).tolist() == [[0, 0], [0, 1], [0, 2]]
    for dtype in (dtypes.int64, dtypes.uint64):
        given = [n for n in seeds if dtype.min <= n <= dtype.max]
        assert vmap(random.key)(Tensor(given, dtype=dtype)).tolist() == [seeds[n] for n in given]
    assert [random.key(Tensor(n)).tolist() for n in (-1, 2**40 + 3)] == [[0, 2**32 - 1], [256, 3]]


SIX = Tensor.arange(6).reshape(2, 3)
JAX_EXACT: dict[str, tuple[Callable[[], Tensor], list[Any]]] = {
    "split": (lambda: random.split(KEY, 3), [[1832780943, 270669613], [64467757, 2916123636], [2465931498, 255383827]]),
    "split in a shape": (
        lambda: random.split(KEY, (2, 2)),
        [[[1832780943, 270669613], [64467757, 2916123636]], [[2465931498, 255383827], [3134548294, 894150801]]],
    ),
    "fold_in": (lambda: random.fold_in(KEY, 77), [3343870397, 3703666311]),
    "fold_in of the largest": (lambda: random.fold_in(KEY, 2**32 - 1), [2398536845, 3890976714]),
    "bits": (lambda: random.bits(KEY, (2, 2)), [[2098992034, 2919706841], [2646866425, 2409546199]]),
    "bits of 8": (lambda: random.bits(KEY, (4,), dtypes.uint8), [162, 217, 249, 215]),
    "bits of 16": (lambda: random.bits(KEY, (4,), dtypes.uint16), [5026, 12505, 63993, 49623]),
    "bits of 64": (lambda: random.bits(KEY, (2,), "uint64"), [7871734211187709741, 276886910877598708]),
    "uniform": (
        lambda: random.uniform(KEY, (4,)),
        [0.48870956897735596, 0.6797971725463867, 0.6162714958190918, 0.5610160827636719],
    ),
    "uniform f16": (
        lambda: random.uniform(KEY, (4,), dtypes.float16),
        [0.076171875, 0.1904296875, 0.9755859375, 0.7568359375],
    ),
    "uniform bf16": (
        lambda: random.uniform(KEY, (4,), dtypes.bfloat16).float(),
        [0.6328125, 0.84375, 0.96875, 0.8359375],
    ),
    "uniform f64": (lambda: random.uniform(KEY, (2,), dtypes.float64), [0.4267275666499091, 0.015010069515314584]),
    "bernoulli": (lambda: random.bernoulli(KEY, 0.6, (4,)), [True, False, False, True]),
    "randint": (lambda: random.randint(KEY, (5,), -5, 100000), [38016, 96177, 32107, 32017, 55241]),
    "randint of a tensor": (
        lambda: random.randint(KEY, (5,), -5, Tensor([100000])),
        [38016, 96177, 32107, 32017, 55241],
    ),
    "randint i8": (lambda: random.randint(KEY, (4,), -128, 128, dtypes.int8), [68, -110, 55, 65]),
    "randint of nearly all": (
        lambda: random.randint(KEY, (3,), -(2**31), 2**31 - 1),
        [977810628, 1236381714, -1367112521],
    ),
    "randint i64": (
        lambda: random.randint(KEY, (3,), 0, 10**12, dtypes.int64),
        [464050701877, 604979476158, 848944880791],
    ),
    "permutation": (lambda: random.permutation(KEY, 7), [4, 2, 5, 3, 6, 0, 1]),
    "permutation in two rounds": (lambda: random.permutation(KEY, 2000)[:6], [1474, 815, 539, 874, 1693, 84]),
    "choice": (lambda: random.choice(KEY, 10, (5,)), [4, 4, 1, 9, 9]),
    "choice without replacement": (lambda: random.choice(KEY, 10, (4,), replace=False), [7, 4, 2, 5]),
    "choice by p": (lambda: random.choice(KEY, 4, (6,), p=[0.1, 0.2, 0.3, 0.4]), [2, 2, 2, 2, 2, 2]),
    "choice by p without": (lambda: random.choice(KEY, 4, (3,), False, Tensor([0.1, 0.2, 0.3, 0.4])), [3, 2, 1]),
    "categorical": (
        lambda: random.categorical(KEY, Tensor([0.1, 0.2, 0.7]).log(), shape=(6,)),
        [2, 2, 2, 2, 1, 2],
    ),
    "categorical without replacement": (
        lambda: random.categorical(KEY, Tensor([0.1, 0.2, 0.3, 0.4]).log(), shape=(3,), replace=False),
        [3, 2, 1],
    ),
    "categorical of columns without": (
        lambda: random.categorical(KEY, Tensor([[0.1, 0.2], [0.3, 0.4]]).log(), 0, (2, 2), replace=False),
        [[1, 1], [0, 0]],
    ),
    "categorical of a NaN": (
        lambda: random.categorical(KEY, Tensor([0.0, float("nan"), 1.0]), shape=(2,)),
        [1, 1],
    ),
    "permutation of columns": (lambda: random.permutation(KEY, SIX, 1), [[2, 0, 1], [5, 3, 4]]),
    "permutation of each row": (
        lambda: random.permutation(KEY, Tensor.arange(8).reshape(2, 4), 1, independent=True),
        [[2, 3, 0, 1], [7, 4, 5, 6]],
    ),
    "permutation of each column": (
        lambda: random.permutation(KEY, Tensor.arange(8).reshape(4, 2), independent=True),
        [[4, 7], [2, 5], [6, 3], [0, 1]],
    ),
    "choice of columns": (
        lambda: random.choice(KEY, SIX, (2, 2), axis=1),
        [[[0, 0], [0, 1]], [[3, 3], [3, 4]]],
    ),
    "poisson beyond the dtype": (lambda: random.poisson(KEY, Tensor([1e12, 1e4])), [2**31 - 1, 10090]),
    "poisson u32": (lambda: random.poisson(KEY, Tensor(3e9), dtype="uint32"), 3000037376),
    "poisson i16": (lambda: random.poisson(KEY, Tensor(1e6), dtype="int16"), 2**15 - 1),
}


@pytest.mark.parametrize("name", JAX_EXACT)
def test_values_match_jax(name: str) -> None:
    """Compare with constants of JAX 0.10.2 for `jax.random.key(42)`, bit for bit.

    Functions that sort or reject samples are evaluated from their graphs; test_vmap_matches_the_loop compiles them.
    """
    draw, wanted = JAX_EXACT[name]
    of_graph = re.match("permutation|choice|categorical|poisson", name)
    assert (read(draw()) if of_graph else draw()).tolist() == wanted


JAX_CLOSE: dict[str, tuple[Callable[[], Tensor], list[float]]] = {
    "uniform over a range": (
        lambda: random.uniform(KEY, (4,), minval=2.0, maxval=5.3),
        [3.612741708755493, 4.243330955505371, 4.033696174621582, 3.851353168487549],
    ),
    "normal": (
        lambda: random.normal(KEY, (4,)),
        [-0.02830461598932743, 0.4671318531036377, 0.2957029640674591, 0.15354591608047485],
    ),
    "normal f64": (lambda: random.normal(KEY, (2,), dtypes.float64), [-0.18471174528191162, -2.169824560397754]),
    "exponential": (lambda: random.exponential(KEY, (3,)), [0.670817494392395, 1.1388006210327148, 0.9578199982643127]),
    "gumbel": (lambda: random.gumbel(KEY, (3,)), [0.3340933918952942, 0.952019453048706, 0.7255305647850037]),
    "truncated_normal": (
        lambda: random.truncated_normal(KEY, -1.0, 2.0, (3,)),
        [0.14770005643367767, 0.5684449076652527, 0.42102551460266113],
    ),
}


@pytest.mark.parametrize("name", JAX_CLOSE)
def test_values_match_jax_up_to_rounding(name: str) -> None:
    draw, wanted = JAX_CLOSE[name]
    np.testing.assert_allclose(draw().numpy(), wanted, rtol=1e-6)


# ---- the law of vmap ----

W = Tensor([[0.1, 0.2], [0.3, 0.4]])
DRAWS: dict[str, Callable[[Any], Tensor]] = {
    "split": lambda k: random.split(k, (2, 2)),
    "fold_in": lambda k: random.fold_in(k, 9),
    "bits": lambda k: random.bits(k, (3,), dtypes.uint64),
    "uniform": lambda k: random.uniform(k),
    "uniform f16": lambda k: random.uniform(k, (3,), dtypes.float16),
    "uniform between tensors": lambda k: random.uniform(k, (3, 2), minval=W[0], maxval=Tensor([[1.0], [2.0], [3.0]])),
    "normal": lambda k: random.normal(k, (3,)),
    "normal f64": lambda k: random.normal(k, (2,), dtypes.float64),
    "bernoulli": lambda k: random.bernoulli(k, W),
    "randint": lambda k: random.randint(k, (3,), 0, 10),
    "randint between tensors": lambda k: random.randint(k, (3,), Tensor([0, 1, 2]), Tensor(9)),
    "categorical": lambda k: random.categorical(k, W.log(), 0, (3, 2)),
    "categorical without replacement": lambda k: random.categorical(k, W.log(), 0, (2, 2), replace=False),
    "permutation": lambda k: random.permutation(k, 7),
    "permutation of each row": lambda k: random.permutation(k, W, 1, independent=True),
    "permutation of rows": lambda k: random.permutation(k, W),
    "choice": lambda k: random.choice(k, Tensor([5.0, 6, 7, 8]), (3,), replace=False),
    "choice by p": lambda k: random.choice(k, 3, (4,), p=[0.1, 0.2, 0.7]),
    "choice by p without": lambda k: random.choice(k, 4, (3,), replace=False, p=W.flatten()),
    "exponential": lambda k: random.exponential(k, (3,)),
    "gumbel": lambda k: random.gumbel(k, (3,)),
    "truncated_normal": lambda k: random.truncated_normal(k, W, 1.0),
    "nothing": lambda k: random.normal(k, (0, 2)),
}


@pytest.fixture
def not_optimized() -> Iterator[None]:
    """Do not optimize kernels of a few numbers: it takes as long as compiling them."""
    with Context(NOOPT=1):
        yield


@pytest.mark.usefixtures("not_optimized")
@pytest.mark.parametrize("name", DRAWS)
def test_vmap_matches_the_loop(name: str) -> None:
    """Graphs give the same bits; kernels of one of them give the same values."""
    draw = DRAWS[name]
    got = vmap(draw)(KEYS)
    loop = np.stack(looped(draw, KEYS.numpy()))
    np.testing.assert_array_equal(read(got), loop)
    np.testing.assert_array_equal(read(vmap(draw, chunk_size=2)(KEYS)), loop)
    rounding = np.finfo(loop.dtype).eps * 8 if loop.dtype.kind == "f" else 0
    np.testing.assert_allclose(got.numpy(), loop, rtol=rounding, atol=rounding)


@pytest.mark.usefixtures("not_optimized")
@pytest.mark.parametrize("name", ["uniform", "normal", "permutation"])
def test_nested_vmap(name: str) -> None:
    draw = DRAWS[name]
    keys = random.split(KEY, (2, 3))
    loop = np.stack([looped(draw, row) for row in keys.numpy()])
    np.testing.assert_array_equal(read(vmap(vmap(draw))(keys)), loop)
    np.testing.assert_array_equal(read(vmap(vmap(draw), in_axes=1, out_axes=1)(keys)), loop)
    shared = read(vmap(lambda x: draw(KEY) + x)(Tensor([0, 0])))
    np.testing.assert_array_equal(shared, np.stack([read(draw(KEY))] * 2))


def test_key_and_bound_of_two_brands() -> None:
    high = Tensor([1.0, 2.0])
    table = vmap(lambda k: vmap(lambda h: random.uniform(k, (), maxval=h))(high))(KEYS)
    one = vmap(random.uniform)(KEYS).numpy()
    np.testing.assert_array_equal(table.numpy(), one[:, None] * np.array([1, 2], dtype=np.float32))


def test_fold_in_the_index_of_an_example() -> None:
    by_step = vmap(lambda i: random.normal(random.fold_in(KEY, i)))(Tensor.arange(3))
    assert by_step.tolist() == vmap(random.normal)(random.split(KEY, 3)).tolist()


def test_sampling_runs_no_kernel() -> None:
    before = GlobalCounters.kernel_count
    for draw in DRAWS.values():
        draw(KEY)
    assert GlobalCounters.kernel_count == before


def test_no_randomness_option_is_needed() -> None:
    """`Tensor.rand` is not used, so the results do not depend on `Tensor.manual_seed`."""
    Tensor.manual_seed(1)
    first = vmap(random.normal)(KEYS).tolist()
    Tensor.manual_seed(2)
    assert vmap(random.normal)(KEYS).tolist() == first


def test_sort_and_count_give_the_same_order(monkeypatch: pytest.MonkeyPatch) -> None:
    bits, x = Tensor([3, 2**32 - 1, 3, 1, 2], dtype=dtypes.uint32), Tensor([10, 11, 12, 13, 14])
    for counted in (65536, 0):
        monkeypatch.setattr(branded.random.selection, "_COUNTED", counted)
        assert branded.random.selection.by(bits, x).tolist() == [13, 14, 10, 12, 11]
        assert random.permutation(KEY, 7).tolist() == JAX_EXACT["permutation"][1]


# ---- derivatives, jit, functions, devices ----


def test_samples_are_constants_in_derivatives() -> None:
    z = random.normal(KEY, (3,)).sum().item()
    assert grad(lambda m: (random.normal(KEY, (3,)) * m).sum())(2.0).item() == pytest.approx(z)
    y, dy = jvp(lambda m: random.normal(KEY) * m, (Tensor(2.0),), (1.0,))
    assert y.item() == pytest.approx(2 * dy.item()) and dy.item() == random.normal(KEY).item()
    each = vmap(grad(lambda m, k: random.normal(k) * m), in_axes=(None, 0))(2.0, KEYS)
    assert each.tolist() == vmap(random.normal)(KEYS).tolist()
    by_step = grad(lambda m: random.normal(random.fold_in(KEY, m.cast(dtypes.int32))) * m)(Tensor(3.0))
    assert by_step.item() == random.normal(random.fold_in(KEY, 3)).item()


def test_bounds_have_derivatives() -> None:
    high = grad(lambda m: random.uniform(KEY, (), maxval=m))(Tensor(2.0))
    assert high.item() == random.uniform(KEY).item()

    def draw(low: Any) -> Tensor:
        return random.truncated_normal(KEY, low, 2.0)

    slope = (draw(Tensor(-0.99)).item() - draw(Tensor(-1.01)).item()) / 0.02
    assert grad(draw)(Tensor(-1.0)).item() == pytest.approx(slope, rel=1e-3)
    assert jvp(draw, (Tensor(-1.0),), (1.0,))[1].item() == pytest.approx(slope, rel=1e-3)


def test_in_a_jit() -> None:
    @TinyJit
    def step(key: Tensor) -> tuple[Tensor, Tensor]:
        return random.normal(key, (3,)).realize(), vmap(random.uniform)(random.split(key, 2)).realize()

    for i in range(4):
        a, b = step(random.key(i))
        assert a.tolist() == random.normal(random.key(i), (3,)).tolist()
        assert b.tolist() == vmap(random.uniform)(random.split(random.key(i), 2)).tolist()


def test_key_as_a_carry() -> None:
    def draw(k: Tensor, _: Any) -> tuple[Tensor, Tensor]:
        new, now = random.split(k)
        return new, random.uniform(now, (2,))

    def unrolled(k: Tensor) -> Tensor:
        out = list[Tensor]()
        for _ in range(3):
            k, x = draw(k, None)
            out.append(x)
        return Tensor.stack(*out)

    _, one = scan(draw, KEY, None, length=3)
    _, each = vmap(lambda k: scan(draw, k, None, length=3))(KEYS)
    wanted = looped(unrolled, np.stack([KEY.numpy(), *KEYS.numpy()]))
    np.testing.assert_array_equal([one.numpy(), *each.numpy()], wanted)


ARRAY_CALLS: dict[str, Callable[[Any], Tensor]] = {
    "a key": lambda of: random.normal(of(KEY.numpy()), (2,)),
    "a seed": lambda of: random.key(of(np.array(3))),
    "data": lambda of: random.fold_in(KEY, data=of(np.array(3))),
    "entries": lambda of: random.choice(KEY, of(np.arange(5)), (2,)),
    "an order": lambda of: random.permutation(KEY, of(np.arange(5))),
    "logits": lambda of: random.categorical(KEY, of(np.zeros(3, np.float32)), shape=(4,)),
    "chances": lambda of: random.bernoulli(KEY, of(np.array([0.1, 0.9], np.float32))),
    "bounds": lambda of: random.uniform(KEY, (2,), minval=of(np.array([1, 2], np.float32)), maxval=3),
    "int bounds": lambda of: random.randint(KEY, (2,), of(np.array([1, 20], np.int32)), 40),
    "a parameter": lambda of: random.gamma(KEY, of(np.array([1, 2], np.float32))),
    "two parameters": lambda of: random.beta(KEY, 1.0, b=of(np.array([1, 2], np.float32))),
    "a mean": lambda of: random.multivariate_normal(KEY, of(np.ones(2, np.float32)), of(np.eye(2, dtype=np.float32))),
}


@pytest.mark.parametrize("name", ARRAY_CALLS)
def test_numpy_arrays_are_tensors(name: str) -> None:
    call = ARRAY_CALLS[name]
    assert call(np.array).tolist() == call(Tensor).tolist()


def test_numpy_arrays_that_stay_arrays() -> None:
    """A shape may be an array; probabilities in an array are checked, as in a list."""
    assert random.uniform(KEY, np.array([2, 1])).tolist() == random.uniform(KEY, (2, 1)).tolist()
    assert random.choice(KEY, 3, (4,), p=np.array([0, 0.5, 0.5])).tolist() == [
        *random.choice(KEY, 3, (4,), p=[0, 0.5, 0.5]).tolist()
    ]
    with pytest.raises(errors.DrawError, match="not a vector of probabilities"):
        random.choice(KEY, 2, p=np.array([-1.0, 2.0]))


def test_numpy_array_in_a_program() -> None:
    """The recorded operation has the array as an operand; it is not a list of primitives."""
    program = str(make_expr(lambda k: random.uniform(k, (2,), minval=np.zeros(2, np.float32)))(KEY))
    assert "random.uniform" in program and "threefry" not in program


@pytest.mark.parametrize("precompile", [False, True])
def test_in_a_function(precompile: bool) -> None:
    @function(precompile=precompile)
    def noisy(x: Tensor, key: Tensor) -> Tensor:
        return x.cat(random.uniform(key, (2,)), random.uniform(random.key(1), (1,)))

    zero = Tensor.zeros(1).contiguous().realize()
    one = random.uniform(random.key(1), (1,)).tolist()
    assert noisy(zero, KEY).tolist() == [0.0, *random.uniform(KEY, (2,)).tolist(), *one]
    batch = vmap(lambda k: random.uniform(k, (2,)))(KEYS).tolist()
    assert vmap(lambda k: noisy(zero, k))(KEYS).tolist() == [[0.0, *row, *one] for row in batch]


def test_on_another_device() -> None:
    ours = random.uniform(KEY, (2,)).tolist(), random.permutation(KEY, 5).tolist()
    normal = random.normal(KEY, (2,)).numpy()
    with Context(DEV="PYTHON"):
        key = random.key(42)
        assert key.device == "PYTHON"
        assert (random.uniform(key, (2,)).tolist(), random.permutation(key, 5).tolist()) == ours
        np.testing.assert_allclose(random.normal(key, (2,)).numpy(), normal, rtol=1e-6)
        keys = random.split(key, 2)
        batch = vmap(lambda k: random.uniform(k, (2,)))(keys)
        assert batch.tolist() == [random.uniform(keys[i], (2,)).tolist() for i in range(2)]


def test_key_without_a_buffer() -> None:
    key = Tensor.zeros(2, dtype=dtypes.uint32)
    assert random.permutation(key, 5).tolist() == random.permutation(random.key(0), 5).tolist()


# ---- the distributions ----

N = 20000


def kolmogorov(x: NDArray[Any], cdf: Callable[[float], float]) -> float:
    """Return √n times the distance of the empirical distribution from `cdf`; it exceeds 1.95 with probability 0.001."""
    at = np.sort(x.astype(np.float64).ravel())
    wanted = np.array([cdf(v) for v in at])
    steps = np.arange(len(at) + 1) / len(at)
    return float(max(np.max(steps[1:] - wanted), np.max(wanted - steps[:-1])) * math.sqrt(len(at)))


def phi(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


CONTINUOUS: dict[str, tuple[Callable[[], Tensor], Callable[[float], float]]] = {
    "uniform": (lambda: random.uniform(KEY, (N,)), lambda x: x),
    "uniform over a range": (lambda: random.uniform(KEY, (N,), minval=-3, maxval=5), lambda x: (x + 3) / 8),
    "normal": (lambda: random.normal(KEY, (N,)), phi),
    "exponential": (lambda: random.exponential(KEY, (N,)), lambda x: -math.expm1(-x)),
    "gumbel": (lambda: random.gumbel(KEY, (N,)), lambda x: math.exp(-math.exp(-x))),
    "truncated_normal": (
        lambda: random.truncated_normal(KEY, -0.5, 2.0, (N,)),
        lambda x: (phi(x) - phi(-0.5)) / (phi(2.0) - phi(-0.5)),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution(name: str) -> None:
    draw, cdf = CONTINUOUS[name]
    x = draw().numpy()
    assert np.isfinite(x).all()
    assert kolmogorov(x, cdf) < 1.95


def test_moments() -> None:
    x = random.normal(KEY, (N,)).numpy().astype(np.float64)
    assert abs(x.mean()) < 3 / math.sqrt(N) and abs(x.var() - 1) < 3 * math.sqrt(2 / N)
    u = random.uniform(KEY, (N,)).numpy()
    assert u.min() >= 0 and u.max() < 1 and abs(u.mean() - 0.5) < 3 * math.sqrt(1 / 12 / N)
    assert abs(random.bernoulli(KEY, 0.3, (N,)).numpy().mean() - 0.3) < 3 * math.sqrt(0.21 / N)


def chi_square(counts: NDArray[Any], p: NDArray[Any]) -> float:
    """Return Pearson's statistic in standard deviations from its mean."""
    wanted = p * counts.sum()
    n = len(p) - 1
    return float((((counts - wanted) ** 2 / wanted).sum() - n) / math.sqrt(2 * n))


DISCRETE: dict[str, tuple[Callable[[], Tensor], list[float]]] = {
    "randint": (lambda: random.randint(KEY, (N,), 0, 7), [1 / 7] * 7),
    "categorical": (lambda: random.categorical(KEY, Tensor([1.0, 2, 3, 4]).log(), shape=(N,)), [0.1, 0.2, 0.3, 0.4]),
    "choice by p": (lambda: random.choice(KEY, 4, (N,), p=[1, 2, 3, 4]), [0.1, 0.2, 0.3, 0.4]),
    "permutations": (
        lambda: (vmap(lambda k: random.permutation(k, 3))(random.split(KEY, N)) * Tensor([9, 3, 1])).sum(-1),
        [1 / 6] * 6,
    ),
    "without replacement by p": (
        lambda: vmap(lambda k: random.choice(k, 3, (2,), replace=False, p=[0.2, 0.3, 0.5])[1])(random.split(KEY, N)),
        [0.3 * 0.2 / 0.7 + 0.5 * 0.2 / 0.5, 0.2 * 0.3 / 0.8 + 0.5 * 0.3 / 0.5, 0.2 * 0.5 / 0.8 + 0.3 * 0.5 / 0.7],
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_frequencies(name: str) -> None:
    draw, p = DISCRETE[name]
    _, counts = np.unique(draw().numpy(), return_counts=True)
    assert len(counts) == len(p)
    assert abs(chi_square(counts, np.array(p))) < 4


def test_splits_are_independent() -> None:
    x, y = (random.normal(k, (N,)).numpy() for k in random.split(KEY))
    assert abs((x * y).mean()) < 3 / math.sqrt(N)
    z = random.normal(random.fold_in(KEY, 1), (N,)).numpy()
    np.testing.assert_array_equal(y, z)


def test_bounds_hold() -> None:
    low, high = Tensor([-1.0, 0.0, 3.0]), Tensor([-0.5, math.inf, 4.0])
    x = random.truncated_normal(KEY, low, high, (2000, 3)).numpy()
    assert (x > low.numpy()).all() and (x < high.numpy()).all()
    assert np.isfinite(random.truncated_normal(KEY, -math.inf, math.inf, (N,)).numpy()).all()
    beyond = random.truncated_normal(KEY, 9.0, 10.0, (5,)).numpy()
    assert ((beyond > 9) & (beyond < 10)).all()
    every = random.randint(KEY, (N,), 0, 256, dtypes.uint8).numpy()
    assert every.min() == 0 and every.max() == 255
    below = random.randint(KEY, (N,), -(2**31), 2**31).numpy()
    assert abs((below < 0).mean() - 0.5) < 0.02
    whole = random.randint(KEY, (N,), Tensor(-(2**31), dtype=dtypes.int32), 2**31)
    np.testing.assert_array_equal(whole.numpy(), below)
    assert random.randint(KEY, (2,), Tensor([5]), Tensor([5])).tolist() == [5, 5]
    assert random.randint(KEY, (2,), Tensor([5]), Tensor([-5])).tolist() == [5, 5]


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.uint32, dtypes.int64, dtypes.uint64])
@pytest.mark.parametrize("of", [dtypes.int8, dtypes.int32, dtypes.int64, dtypes.uint64])
def test_bounds_are_clipped_to_the_dtype(dtype: Any, of: Any) -> None:
    """As in JAX, which however wraps bounds of more than 32 bits if the dtype has less than 32."""
    edges = (0, 3, -1, -200, 127, 128, 255, 256, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**63 - 1, -(2**63))
    clip = lambda n, more=0: max(min(n, dtype.max + more), dtype.min)  # noqa: E731
    held = [n for n in edges if of.min <= n <= of.max]
    pairs = list(itertools.product(held, held))
    low, high = (Tensor([p[i] for p in pairs], dtype=of) for i in (0, 1))
    got = random.randint(KEY, (len(pairs),), low, high, dtype)
    for (a, b), n in zip(pairs, got.tolist(), strict=True):
        assert clip(a) <= n < max(clip(b, 1), clip(a) + 1)
    if not of.max > dtype.max and of.min >= dtype.min:  # the bounds are in the range
        low, high = low.cast(dtype), high.cast(dtype)
        assert got.tolist() == random.randint(KEY, (len(pairs),), low, high, dtype).tolist()


def test_clipped_bounds_include_the_largest_int() -> None:
    for dtype in (dtypes.int8, dtypes.uint16, dtypes.int32, dtypes.uint32, dtypes.int64):
        wanted = random.randint(KEY, (20,), dtype.max - 2, dtype.max + 1, dtype).tolist()
        low, beyond = (Tensor([x], dtype=dtypes.uint64) for x in (dtype.max - 2, dtype.max + 9))
        assert random.randint(KEY, (20,), low, beyond, dtype).tolist() == wanted
        assert dtype.max in wanted


def test_gumbel_is_finite() -> None:
    """For a uniform number that is 0, and for the largest one below 1."""
    u = Tensor([0.0, 1 - 2.0**-24])
    x = -(
        -branded.random.uniforms.between(
            u, branded.random.distributions.smallest_normal(dtypes.float32), 1.0, dtypes.float32
        ).log()
    ).log()
    np.testing.assert_allclose(x.numpy(), [-math.log(-math.log(2.0**-126)), -math.log(2.0**-24)], rtol=1e-6)


def test_categories_of_probability_zero() -> None:
    logits = Tensor([0.0, -math.inf, 0.0])
    assert set(random.categorical(KEY, logits, shape=(200,)).tolist()) == {0, 2}
    assert sorted(random.choice(KEY, 3, (2,), replace=False, p=[0.5, 0.0, 0.5]).tolist()) == [0, 2]


def test_empty_choice() -> None:
    assert random.choice(KEY, 0, (0,)).shape == (0,)
    assert random.choice(KEY, Tensor.zeros(0, 3), (0, 2), replace=False).shape == (0, 2, 3)
    assert random.permutation(KEY, 0).tolist() == [] and random.permutation(KEY, 1).tolist() == [0]


# ---- special functions ----


@pytest.mark.compiled  # numpy rounds a product and its sum separately
@pytest.mark.enabled("cpu")
@pytest.mark.parametrize(("dtype", "ulps"), [(dtypes.float32, 4), (dtypes.float64, 4)])
def test_erf(dtype: Any, ulps: float) -> None:
    x = np.concatenate([np.linspace(-7, 7, 4001), [1e-8, -1e-4, math.inf, -math.inf]])
    t = Tensor(x).cast(dtype)
    got, exact = t.erf().numpy(), np.array([math.erf(v) for v in t.numpy().astype(np.float64)])
    assert np.all(np.abs(got - exact) <= ulps * np.spacing(np.abs(exact).astype(got.dtype)))


@pytest.mark.parametrize(("dtype", "edge", "rtol"), [(dtypes.float32, 2.5, 2e-6), (dtypes.float64, 3.5, 1e-12)])
def test_erfinv(dtype: Any, edge: float, rtol: float) -> None:
    """The tolerance accounts for the rounding of arguments near 1."""
    x = np.linspace(-edge, edge, 2001)
    y = np.array([math.erf(v) for v in x])
    given = Tensor(y).cast(dtype)
    slope = 2 / math.sqrt(math.pi) * np.exp(-x * x)
    rounding = np.abs(given.numpy().astype(np.float64) - y) + np.finfo(given.numpy().dtype).eps
    np.testing.assert_array_less(
        np.abs(erfinv(given).numpy() - x), rounding / slope + rtol * np.abs(x) + np.finfo(np.float32).tiny
    )


def test_next_above() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([0.0, -0.0, 1.0, -1.0, 3.7, -math.inf, math.inf], dtype=dtype)
        np.testing.assert_array_equal(next_above(Tensor(x)).numpy(), np.nextafter(x, dtype(math.inf)))


# ---- messages ----


class Golden(NamedTuple):
    mistake: Callable[[], Any]
    cls: type[BrandedError]
    text: str


def _closed() -> Any:
    kept: list[Any] = []
    vmap(lambda k: kept.append(k) or k)(KEYS)
    return kept[0]


MISTAKES: dict[str, Golden] = {
    "an int as key": Golden(
        lambda: random.normal(0, (3,)),
        errors.DrawTypeError,
        """
        normal: the first argument must be a key, a tensor u32[2]
          given: the int 0
          try:   normal(random.key(0), ...)
        """,
    ),
    "many keys": Golden(
        lambda: random.normal(KEYS, (3,)),
        errors.DrawTypeError,
        """
        normal: the first argument must be a key, a tensor u32[2]
          given: u32[3, 2]
          try:   vmap over the keys: vmap(lambda k: normal(k, ...))(keys)
        """,
    ),
    "ints as key": Golden(
        lambda: random.split(Tensor([0, 1])),
        errors.DrawTypeError,
        """
        split: the first argument must be a key, a tensor u32[2]
          given: i32[2]
          try:   use a uint32[2] from key, split or fold_in
        """,
    ),
    "a closed key": Golden(
        lambda: random.normal(_closed()),
        errors.EscapeError,
        """
        normal: this value belongs to `k`, which is closed
          value: Vec[k:3, u32[2]]
          k:     opened by vmap at app.py:12
          try:   return the value from the mapped function, and use the result
        """,
    ),
    "an int as shape": Golden(
        lambda: random.normal(KEY, 3),
        errors.DrawTypeError,
        """
        normal: the int 3 is not a shape
          try: (3,)
        """,
    ),
    "a string as shape": Golden(
        lambda: random.normal(KEY, "ab"),
        errors.DrawTypeError,
        """
        normal: the str 'ab' is not a shape
          try: pass a tuple of ints
        """,
    ),
    "a float in a shape": Golden(
        lambda: random.bits(KEY, (2, 1.5)),
        errors.DrawTypeError,
        """
        bits: the float 1.5 in a shape is not an int
          try: use Python ints
        """,
    ),
    "a value in a shape": Golden(
        lambda: vmap(lambda n: random.uniform(KEY, (n,)))(Tensor([1, 2])),
        errors.DrawTypeError,
        """
        uniform: Vec[n:2, i32[]] in a shape is not an int
          try: use Python ints
        """,
    ),
    "a negative size": Golden(
        lambda: random.gumbel(KEY, (2, -1)),
        errors.DrawError,
        """
        gumbel: -1 in a shape is not a size
          shape: (2, -1)
          try:   use sizes of 0 or more
        """,
    ),
    "an int dtype for normal": Golden(
        lambda: random.normal(KEY, (2,), dtypes.int32),
        errors.DrawTypeError,
        """
        normal: int32 is not a dtype that it samples
          try: dtype=dtypes.float32 or float16 or bfloat16 or float64
        """,
    ),
    "signed bits": Golden(
        lambda: random.bits(KEY, (2,), dtypes.int32),
        errors.DrawTypeError,
        """
        bits: int32 is not a dtype that it samples
          try: dtype=dtypes.uint8 or uint16 or uint32 or uint64
        """,
    ),
    "an unknown dtype": Golden(
        lambda: random.uniform(KEY, (2,), "float33"),
        errors.DrawTypeError,
        """
        uniform: 'float33' is not a dtype that it samples
          try: dtype=dtypes.float32 or float16 or bfloat16 or float64
        """,
    ),
    "a float as seed": Golden(
        lambda: random.key(1.5),
        errors.DrawTypeError,
        """
        key: the float 1.5 is not a seed
          try: pass an int
        """,
    ),
    "many seeds": Golden(
        lambda: random.key(Tensor([1, 2])),
        errors.DrawTypeError,
        """
        key: i32[2] is not one seed
          try: vmap(key)(seeds)
        """,
    ),
    "a seed of floats": Golden(
        lambda: random.key(Tensor(1.5)),
        errors.DrawTypeError,
        """
        key: float[] is not one seed
          try: pass an int, or an int tensor
        """,
    ),
    "too long a seed": Golden(
        lambda: random.key(2**64),
        errors.DrawError,
        """
        key: 18446744073709551616 has more than 64 bits
          try: key(seed % 2**64), or fold_in the rest
        """,
    ),
    "a negative number of keys": Golden(
        lambda: random.split(KEY, -1),
        errors.DrawError,
        """
        split: -1 in a shape is not a size
          shape: (-1,)
          try:   use sizes of 0 or more
        """,
    ),
    "folding in a negative number": Golden(
        lambda: random.fold_in(KEY, -1),
        errors.DrawError,
        """
        fold_in: -1 is out of range
          try: pass an int from 0 to 2**32 - 1
        """,
    ),
    "folding in a float": Golden(
        lambda: random.fold_in(KEY, 1.0),
        errors.DrawTypeError,
        """
        fold_in: the float 1.0 is not an int
          try: pass an int, or an int tensor
        """,
    ),
    "folding in many numbers": Golden(
        lambda: random.fold_in(KEY, Tensor([1, 2])),
        errors.DrawTypeError,
        """
        fold_in: i32[2] is not one int
          try: vmap(lambda i: fold_in(key, i))(data)
        """,
    ),
    "a string as bound": Golden(
        lambda: random.uniform(KEY, minval="a"),
        errors.DrawTypeError,
        """
        uniform: minval is the str 'a'
          try: pass a number, or a tensor of floats
        """,
    ),
    "a bool as bound": Golden(
        lambda: random.uniform(KEY, maxval=Tensor([True])),
        errors.DrawTypeError,
        """
        uniform: maxval is bool[1]
          try: pass a number, or a tensor of floats
        """,
    ),
    "reversed bounds": Golden(
        lambda: random.uniform(KEY, minval=2, maxval=1),
        errors.DrawError,
        """
        uniform: minval 2.0 is not below maxval 1.0
          try: pass the lower bound first
        """,
    ),
    "a bound of another shape": Golden(
        lambda: random.uniform(KEY, (2,), minval=Tensor([1.0, 2.0, 3.0])),
        errors.DrawError,
        """
        uniform: minval does not broadcast to the shape of the sample
          minval: f32[3]
          shape:  (2,)
          try:    use a shape that ends in its axes, or vmap over it
        """,
    ),
    "a probability above 1": Golden(
        lambda: random.bernoulli(KEY, 1.5),
        errors.DrawError,
        """
        bernoulli: p = 1.5 is not a probability
          try: use a number from 0 to 1
        """,
    ),
    "NaN as probability": Golden(
        lambda: random.bernoulli(KEY, math.nan),
        errors.DrawError,
        """
        bernoulli: p = nan is not a probability
          try: use a number from 0 to 1
        """,
    ),
    "an empty range": Golden(
        lambda: random.randint(KEY, (), 3, 3),
        errors.DrawError,
        """
        randint: the range from 3 to 3, exclusive, is empty
          try: use a maxval above minval
        """,
    ),
    "a float as bound of randint": Golden(
        lambda: random.randint(KEY, (), 0, 2.5),
        errors.DrawTypeError,
        """
        randint: maxval is the float 2.5
          try: pass an int, or an int tensor
        """,
    ),
    "floats as bound of randint": Golden(
        lambda: random.randint(KEY, (), Tensor([2.5])[0], 4),
        errors.DrawTypeError,
        """
        randint: minval is f32[]
          try: pass an int, or an int tensor
        """,
    ),
    "a bound out of range of the dtype": Golden(
        lambda: random.randint(KEY, (), 0, 300, dtypes.uint8),
        errors.DrawError,
        """
        randint: maxval = 300 is out of range for uint8
          try: use another dtype, or another range
        """,
    ),
    "a list of logits": Golden(
        lambda: random.categorical(KEY, [0.1, 0.2]),
        errors.DrawTypeError,
        """
        categorical: logits are a list
          try: pass a tensor of floats with an axis of categories
        """,
    ),
    "no categories": Golden(
        lambda: random.categorical(KEY, Tensor.zeros(2, 0)),
        errors.DrawError,
        """
        categorical: logits has no categories
          logits: f32[2, 0]
          try:    pass at least one category
        """,
    ),
    "an axis out of range": Golden(
        lambda: random.categorical(KEY, Tensor.zeros(2, 3), axis=2),
        errors.AxisRangeError,
        """
        categorical: axis 2 is out of range for f32[2, 3]
          try: use an axis from -2 to 1
        """,
    ),
    "logits of another shape": Golden(
        lambda: random.categorical(KEY, Tensor.zeros(2, 3), shape=(3,)),
        errors.DrawError,
        """
        categorical: logits do not broadcast to the shape of the sample
          logits: f32[2, 3], with the categories on axis 1
          shape:  (3,)
          try:    use a shape that ends in the other axes of logits
        """,
    ),
    "too few categories": Golden(
        lambda: random.categorical(KEY, Tensor.zeros(2, 3), shape=(4, 2), replace=False),
        errors.DrawError,
        """
        categorical: 4 of 3 categories cannot be sampled without replacement
          logits: f32[2, 3]
          shape:  (4,) in front of the other axes of logits
          try:    replace=True, or take fewer
        """,
    ),
    "an axis of a choice": Golden(
        lambda: random.choice(KEY, Tensor.zeros(2, 3), axis=2),
        errors.AxisRangeError,
        """
        choice: axis 2 is out of range for f32[2, 3]
          try: use an axis from -2 to 1
        """,
    ),
    "a negative length to permute": Golden(
        lambda: random.permutation(KEY, -1),
        errors.DrawError,
        """
        permutation: x = -1 is not a number of entries
          try: pass an int of 0 or more
        """,
    ),
    "a number to permute": Golden(
        lambda: random.permutation(KEY, 2.5),
        errors.DrawTypeError,
        """
        permutation: x is the float 2.5, neither an int nor a tensor with an axis
          try: pass an int, or a tensor with at least one axis
        """,
    ),
    "nothing to choose from": Golden(
        lambda: random.choice(KEY, 0),
        errors.DrawError,
        """
        choice: a has no entries
          a:   the int 0
          try: pass at least one entry
        """,
    ),
    "a list to choose from": Golden(
        lambda: random.choice(KEY, [1, 2]),
        errors.DrawTypeError,
        """
        choice: a is a list, neither an int nor a tensor with an axis
          try: pass an int, or a tensor with at least one axis
        """,
    ),
    "too few to choose from": Golden(
        lambda: random.choice(KEY, 3, (4,), replace=False),
        errors.DrawError,
        """
        choice: 4 of 3 entries cannot be sampled without replacement
          try: replace=True, or take fewer
        """,
    ),
    "too few probabilities": Golden(
        lambda: random.choice(KEY, 3, p=[0.5, 0.5]),
        errors.DrawError,
        """
        choice: p does not have one number for each of 3 entries
          p:   f32[2]
          try: pass a tensor of 3 numbers
        """,
    ),
    "negative probabilities": Golden(
        lambda: random.choice(KEY, 2, p=[-0.5, 0.5]),
        errors.DrawError,
        """
        choice: p is not a vector of probabilities
          p:   [-0.5, 0.5]
          try: use numbers of 0 or more, not all 0
        """,
    ),
    "a string as probabilities": Golden(
        lambda: random.choice(KEY, 2, p="ab"),
        errors.DrawTypeError,
        """
        choice: p is the str 'ab'
          try: pass a list of numbers, or a tensor
        """,
    ),
    "an empty interval": Golden(
        lambda: random.truncated_normal(KEY, 1.0, 1.0),
        errors.DrawError,
        """
        truncated_normal: lower 1.0 is not below upper 1.0
          try: pass the lower bound first
        """,
    ),
    "bounds of two shapes": Golden(
        lambda: random.truncated_normal(KEY, Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0])),
        errors.DrawError,
        """
        truncated_normal: the bounds do not broadcast
          shapes: (2,) and (3,)
          try:    use one shape for all, or vmap over them
        """,
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    g = MISTAKES[name]
    with pytest.raises(g.cls) as info:
        g.mistake()
    assert re.sub(r"at \w+\.py:\d+", "at app.py:12", str(info.value)) == textwrap.dedent(g.text).strip()
