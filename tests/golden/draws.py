"""Samples computed by rejection, and their derivatives with respect to the parameters."""

from __future__ import annotations

from typing import Any

from tests.golden.registry import program


def shapes(m: Any) -> Any:
    return m.array([0.2, 0.3, 1.0, 2.5, 12.0, 300.0])


@program
def gamma(m: Any) -> Any:
    key, a = m.random.key(42), shapes(m)
    y, dy = m.jvp(lambda a: m.random.gamma(key, a), (a,), (m.ones((6,)),))
    return y, dy, m.grad(lambda a: (m.random.gamma(key, a) * shapes(m)).sum())(a)


@program
def loggamma(m: Any) -> Any:
    key, a = m.random.key(7), shapes(m)
    return m.jvp(lambda a: m.random.loggamma(key, a), (a,), (m.ones((6,)),))


@program
def beta_at_the_edges(m: Any) -> Any:
    key, a = m.random.key(42), m.array([0.001, 0.002, 0.3])
    return m.jvp(lambda a, b: m.random.beta(key, a, b), (a, a), (m.ones((3,)), m.some(3)))


@program
def gamma_of_a_shape(m: Any) -> Any:
    return m.random.gamma(m.random.key(3), 2.0, (2, 3))


@program
def gamma_of_many_keys(m: Any) -> Any:
    return m.vmap(lambda k: m.random.gamma(k, 0.7, (2,)))(m.random.split(m.random.key(3), 3))


@program
def beta(m: Any) -> Any:
    key, a = m.random.key(1), m.array([0.5, 1.0, 4.0])
    y, da = m.jvp(lambda a: m.random.beta(key, a, 2.0), (a,), (m.ones((3,)),))
    return y, da, m.random.beta(key, a, m.array([[1.0], [3.0]]))


@program
def dirichlet(m: Any) -> Any:
    key, alpha = m.random.key(2), m.array([0.3, 1.0, 4.0])
    return m.random.dirichlet(key, alpha, (2,)), m.jvp(lambda a: m.random.dirichlet(key, a), (alpha,), (m.some(3),))


@program
def student(m: Any) -> Any:
    return m.random.t(m.random.key(5), m.array([1.0, 3.0, 30.0]))


@program
def laplace(m: Any) -> Any:
    return m.random.laplace(m.random.key(5), (2, 3))


@program
def logistic(m: Any) -> Any:
    return m.random.logistic(m.random.key(5), (2, 3))


@program
def pareto(m: Any) -> Any:
    b = m.array([0.5, 1.0, 30.0])
    return m.jvp(lambda b: m.random.pareto(m.random.key(5), b), (b,), (m.ones((3,)),))


@program
def chisquare(m: Any) -> Any:
    df = m.array([0.5, 1.0, 30.0])
    return m.jvp(lambda df: m.random.chisquare(m.random.key(5), df), (df,), (m.ones((3,)),))


@program
def orthogonal(m: Any) -> Any:
    key = m.random.key(5)
    return m.random.orthogonal(key, 3), m.random.orthogonal(key, 2, (2,), m=4), m.random.orthogonal(key, 4, m=2)


@program
def poisson(m: Any) -> Any:
    key = m.random.key(8)
    return m.random.poisson(key, 3.0, (5,)), m.random.poisson(key, 40.0, (5,))


@program
def poisson_of_many_means(m: Any) -> Any:
    return m.random.poisson(m.random.key(9), m.array([0.0, 0.5, 9.5, 10.5, 1000.0, 1e6]))


@program
def poisson_of_many_keys(m: Any) -> Any:
    return m.vmap(lambda k, x: m.random.poisson(k, x))(m.random.split(m.random.key(3), 3), m.array([2.0, 5.0, 20.0]))


@program
def multivariate_normal(m: Any) -> Any:
    key, mean, cov = m.random.key(4), m.array([1.0, -1.0]), m.array([[2.0, 0.5], [0.5, 1.0]])
    return m.random.multivariate_normal(key, mean, cov, (3,)), m.grad(
        lambda c: m.random.multivariate_normal(key, mean, (c + c.T) / 2).sum()
    )(cov)
