"""Check rejection sampling: the law of vmap, the distributions and the derivatives; tests/golden has the values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor

from branded import grad, jit, jvp, random, vmap
from branded.random.gammas import slope
from tests.support.by_numpy import looped, read
from tests.support.examples import examples

pytestmark = pytest.mark.by_numpy

KEYS = random.split(random.key(11), 3).realize()
A = Tensor([0.4, 2.0, 15.0]).realize()

DRAWS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gamma": lambda k, a: random.gamma(k, a, (2,)),
    "loggamma": lambda k, a: random.loggamma(k, a),
    "beta": lambda k, a: random.beta(k, a, 0.5 + a),
    "dirichlet": lambda k, a: random.dirichlet(k, a + Tensor([0.0, 1.0])),
    "t": lambda k, a: random.t(k, a),
    "laplace": lambda k, a: a * random.laplace(k, (2,)),
    "logistic": lambda k, a: a * random.logistic(k, (2,)),
    "pareto": lambda k, a: random.pareto(k, a, (2,)),
    "chisquare": lambda k, a: random.chisquare(k, a),
    "orthogonal": lambda k, a: a * random.orthogonal(k, 2, m=3),
    "poisson": lambda k, a: random.poisson(k, a, (2,)),
    "multivariate_normal": lambda k, a: random.multivariate_normal(k, a + Tensor([0.0, 1.0]), a * Tensor.eye(2)),
}

LOOPS = ("gamma", "laplace", "poisson")
"""The samplers whose kernels are compiled; the others share them."""


@pytest.fixture
def not_optimized() -> Iterator[None]:
    """Do not optimize kernels of a few numbers: it takes as long as compiling them."""
    with Context(NOOPT=1):
        yield


@pytest.mark.usefixtures("not_optimized")
@pytest.mark.parametrize("name", DRAWS)
def test_vmap_matches_the_loop(name: str) -> None:
    """Map keys, parameters, or both; a loop in a mapped function runs until the last example is done.

    If both are mapped, the samplers in `LOOPS` run by kernels and are compared with the graph of one example.
    All other cases are evaluated from their graphs.
    """
    f, i = DRAWS[name], np.arange(3)
    each = looped(f, KEYS.numpy().repeat(3, 0), np.tile(A.numpy(), 3))
    for axes in ((0, 0), (0, None), (None, 0)):
        k, a = (x if axis == 0 else x[1] for x, axis in zip((KEYS, A), axes, strict=True))
        mapped = vmap(f, in_axes=axes)(k, a)
        got = mapped.numpy() if axes == (0, 0) and name in LOOPS else read(mapped)
        at = (i if axes[0] == 0 else 1) * 3 + (i if axes[1] == 0 else 1)
        np.testing.assert_allclose(got, np.stack(each)[at], rtol=1e-5, err_msg=str(axes))


@pytest.mark.usefixtures("not_optimized")
def test_all_pairs_of_keys_and_parameters() -> None:
    got = read(vmap(lambda k: vmap(lambda a: random.gamma(k, a))(A))(KEYS))
    wanted = looped(random.gamma, KEYS.numpy().repeat(3, 0), np.tile(A.numpy(), 3))
    np.testing.assert_allclose(got.reshape(9), wanted, rtol=1e-5)


@pytest.mark.usefixtures("not_optimized")
def test_jit_returns_the_same_samples() -> None:
    def four(k: Tensor, a: Tensor) -> Tensor:
        return random.gamma(k, a, (4,))

    f = jit(four)
    for k, a, want in zip(examples(KEYS), examples(A), looped(four, KEYS.numpy(), A.numpy()), strict=True):
        np.testing.assert_allclose(f(k, a).numpy(), want, rtol=1e-5)


def normal_below(x: Any) -> Any:
    return (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def number(x: float) -> Tensor:
    """Return a number in memory: as a constant in a graph it would need a kernel of its own."""
    return examples(Tensor([x]))[0]


N = 2000
KEY, OTHER, _ = examples(KEYS)
DISTRIBUTIONS: dict[str, tuple[Callable[[], Tensor], Callable[[Any], Any]]] = {
    "gamma of 1": (lambda: random.gamma(KEYS[0], 1.0, (N,)), lambda x: 1 - np.exp(-x)),
    "gamma of 1/2": (
        lambda: random.gamma(KEY, number(0.5), (N,)),
        lambda x: np.vectorize(math.erf)(np.sqrt(x)),
    ),
    "gamma of 3": (
        lambda: random.gamma(OTHER, number(3.0), (N,)),
        lambda x: 1 - np.exp(-x) * (1 + x + x * x / 2),
    ),
    "beta of 1 and 3": (lambda: random.beta(KEY, number(1.0), number(3.0), (N,)), lambda x: 1 - (1 - x) ** 3),
    "beta of 1/2 and 1/2": (
        lambda: random.beta(KEY, number(0.5), number(0.5), (N,)),
        lambda x: 2 / np.pi * np.arcsin(np.sqrt(x)),
    ),
    "a part of dirichlet": (
        lambda: random.dirichlet(KEYS[0], Tensor([1.0, 1.0, 2.0]), (N,))[:, 0],
        lambda x: 1 - (1 - x) ** 3,
    ),
    "t of 1": (lambda: random.t(KEY, number(1.0), (N,)), lambda x: 0.5 + np.arctan(x) / np.pi),
    "t of 2": (lambda: random.t(KEY, number(2.0), (N,)), lambda x: 0.5 + x / (2 * np.sqrt(2 + x * x))),
    "laplace": (
        lambda: random.laplace(KEYS[0], (N,)),
        lambda x: np.where(x < 0, 0.5 * np.exp(x), 1 - 0.5 * np.exp(-x)),
    ),
    "logistic": (lambda: random.logistic(KEYS[0], (N,)), lambda x: 1 / (1 + np.exp(-x))),
    "pareto": (lambda: random.pareto(KEYS[0], 3.0, (N,)), lambda x: 1 - x**-3.0),
    "chisquare of 2": (lambda: random.chisquare(KEY, number(2.0), (N,)), lambda x: 1 - np.exp(-x / 2)),
    "the angle of orthogonal": (
        lambda: random.orthogonal(KEYS[0], 3, (N,))[:, 1, 2],  # an entry is uniform on [-1, 1]
        lambda x: (1 + x) / 2,
    ),
    "a component of multivariate_normal": (
        lambda: random.multivariate_normal(KEYS[0], Tensor([0.0, 0.0]), Tensor([[2.0, 1.0], [1.0, 1.0]]), (N,))[:, 1],
        normal_below,
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distribution(name: str) -> None:
    """The Kolmogorov-Smirnov distance exceeds 1.95 / √n once in a thousand times; the seed is fixed."""
    draw, below = DISTRIBUTIONS[name]
    p = below(np.sort(read(draw()).astype(np.float64)))
    at = np.arange(N)
    distance = max(np.max((at + 1) / N - p), np.max(p - at / N))
    assert distance < 1.95 / math.sqrt(N)


@pytest.mark.parametrize("lam", [0.3, 4.0, 9.9, 10.1, 60.0])
def test_distribution_of_poisson(lam: float) -> None:
    """Pearson's χ² over the sufficiently likely numbers."""
    drawn = read(random.poisson(KEYS[2], lam if lam > 50 else number(lam), (N,)))
    likely = [k for k in range(200) if N * math.exp(k * math.log(lam) - lam - math.lgamma(k + 1)) > 5]
    wanted = np.array([N * math.exp(k * math.log(lam) - lam - math.lgamma(k + 1)) for k in likely])
    found = np.array([(drawn == k).sum() for k in likely])
    n = len(likely)
    assert ((found - wanted) ** 2 / wanted).sum() < n + 4 * math.sqrt(2 * n)


@pytest.mark.usefixtures("not_optimized")
def test_invalid_means_of_poisson() -> None:
    got = random.poisson(KEYS[0], Tensor([-1.0, float("nan"), float("inf"), 0.0]))
    assert got.tolist() == [-1, -1, -1, 0]


@pytest.mark.usefixtures("not_optimized")
def test_slope_of_the_mean() -> None:
    """The mean of gamma samples is `a`, the mean of their logarithms its digamma; compare the means of the slopes."""
    at = np.float32([0.3, 2.0, 50.0])
    means = looped(grad(lambda a: random.gamma(KEYS[0], a, (N,)).mean()), at)
    logs = looped(grad(lambda a: random.loggamma(KEYS[1], a, (N,)).mean()), at)
    for by_mean, by_log, rate in zip(means, logs, (12.245364, 0.6449341, 0.0202013), strict=True):
        assert abs(by_mean - 1) < 0.15
        assert abs(by_log / rate - 1) < 0.15


@pytest.mark.usefixtures("not_optimized")
def test_slope_at_extreme_values() -> None:
    """A very small sample has the slope of P = xᵃ / Γ(a + 1), and a large `a` the slope of a + √a z with fixed z."""
    a, log_x = 0.5, -60.0
    h = 1e-4
    p = math.exp(a * log_x - math.lgamma(a + 1))

    def moved(a: float) -> float:
        return (math.log(p) + math.lgamma(a + 1)) / a

    wanted = (moved(a + h) - moved(a - h)) / (2 * h)
    assert abs(slope(Tensor([a]), Tensor([log_x])).item() / wanted - 1) < 1e-4
    z = 1.5
    x = 4000 + z * math.sqrt(4000)
    assert abs(slope(Tensor([4000.0]), Tensor([math.log(x)])).item() * x - (1 + z / (2 * math.sqrt(4000)))) < 1e-3


def test_second_derivatives_in_both_modes() -> None:
    """Compare with differences of slopes, also below 1, where the step size has no derivative."""
    a, log_x = np.array([[0.3, 0.5, 0.9, 1.0, 4.0] * 2, [-3.0, -0.1, 0.4, 0.5, 1.2, 0.7, -2.0, -0.5, -2.5, 2.0]])
    xs, h = (Tensor(a), Tensor(log_x)), 1e-5
    for i, step in enumerate(((h, 0.0), (0.0, h))):
        up, down = (slope(Tensor(a + s * step[0]), Tensor(log_x + s * step[1])) for s in (1, -1))
        forward = jvp(slope, xs, tuple(t.ones_like() if i == k else t.zeros_like() for k, t in enumerate(xs)))[1]
        for got in (forward, grad(lambda a, x: slope(a, x).sum(), i)(*xs)):
            np.testing.assert_allclose(read(got), read(up - down) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.usefixtures("not_optimized")
def test_gamma_of_invalid_parameters_is_nan() -> None:
    a = Tensor([float("nan"), 1.0, -2.0, float("inf")])
    drawn = random.gamma(random.key(3), a).tolist()
    assert [x != x for x in drawn] == [True, False, True, False]
    assert drawn[1] == random.gamma(random.key(3), Tensor([1.0, 1.0, 1.0, 1.0]))[1].item() and drawn[3] == float("inf")


@pytest.mark.usefixtures("not_optimized")
def test_float32_slope_of_large_parameters() -> None:
    """The integrals are accurate up to 10,000 in float64 and 1,000 in float32; larger parameters use a series."""
    a = np.array([900.0, 1001.0, 9990.0]).repeat(3)
    log_x = np.log(a + np.sqrt(a) * np.tile([-3.0, 0.3, 2.5], 3))
    wanted = slope(Tensor(a), Tensor(log_x)).numpy()
    got = slope(Tensor(a.astype(np.float32)), Tensor(log_x.astype(np.float32))).numpy()
    np.testing.assert_allclose(got, wanted, rtol=2e-5)


@pytest.mark.usefixtures("not_optimized")
def test_slope_of_very_large_parameters() -> None:
    """x = a + z √a + ..., so the derivative of x by a is 1 + z / (2 √a)."""
    a = Tensor([1e5, 1e6, 1e7])
    got = slope(a, (a + 2 * a.sqrt() + 1).log()) * (a + 2 * a.sqrt() + 1)
    np.testing.assert_allclose(got.numpy(), 1 + 1 / np.sqrt([1e5, 1e6, 1e7]), rtol=2e-5)
