"""Linear algebra: values, derivatives in both modes, and vmap with shared operands."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from typing import Any

from tests.golden.operations import slopes
from tests.golden.registry import program


def positive(m: Any, *shape: int) -> Any:
    """Return symmetric matrices with distinct eigenvalues."""
    a = m.some(*shape)
    n = shape[-1]
    turned = m.transpose(a, (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2))
    return a @ turned + m.to_float(m.arange(n) + 1) * m.eye(n)


def well(m: Any, *shape: int) -> Any:
    return m.some(*shape) + 3 * m.eye(shape[-1])


@program
def cholesky_factors(m: Any) -> Any:
    return slopes(m, m.linalg.cholesky, positive(m, 2, 3, 3))


@program
def cholesky_of_more_rows(m: Any) -> Any:
    return slopes(m, lambda a: m.linalg.cholesky(a, upper=True), positive(m, 2, 5, 5))


@program
def solutions_for_one_matrix(m: Any) -> Any:
    a, bs = well(m, 3, 3), m.some(4, 3)
    f = lambda a, b: m.linalg.solve(a, b)
    slope = m.grad(lambda a: m.vmap(lambda b: f(a, b))(bs).sum())(a)
    return m.vmap(lambda b: f(a, b))(bs), slope


@program
def solutions_for_each_matrix(m: Any) -> Any:
    return slopes(m, lambda a: m.linalg.solve(a, m.some(5, 2)), well(m, 2, 5, 5))


@program
def solutions_by_cholesky(m: Any) -> Any:
    return slopes(m, lambda a: m.linalg.cho_solve((m.linalg.cholesky(a), True), m.some(3)), positive(m, 2, 3, 3))


@program
def triangular_systems(m: Any) -> Any:
    def f(a: Any) -> Any:
        b = m.some(3, 2)
        forms = [{"lower": True}, {"trans": 1}, {"lower": True, "unit_diagonal": True, "trans": 1}]
        return m.stack([m.linalg.solve_triangular(a, b, **form) for form in forms])

    return slopes(m, f, well(m, 2, 3, 3))


@program
def inverses(m: Any) -> Any:
    return slopes(m, m.linalg.inv, well(m, 2, 3, 3)), slopes(m, m.linalg.inv, well(m, 1, 6, 6))


@program
def determinants(m: Any) -> Any:
    return slopes(m, m.linalg.det, m.some(3, 3, 3)), slopes(m, m.linalg.det, well(m, 2, 5, 5))


@program
def logarithms_of_determinants(m: Any) -> Any:
    return slopes(m, lambda a: m.linalg.slogdet(a)[1], m.some(2, 4, 4)), m.linalg.slogdet(m.some(3, 4, 4))[0]


@program
def curvature_of_a_determinant(m: Any) -> Any:
    return m.hessian(lambda a: m.linalg.slogdet(a)[1])(positive(m, 3, 3))


@program
def orthogonal_factors(m: Any) -> Any:
    shapes = [(2, 4, 3), (2, 3, 3), (2, 3, 5)]
    return [[slopes(m, lambda a, i=i: m.linalg.qr(a)[i], m.some(*shape)) for i in (0, 1)] for shape in shapes]


@program
def complete_orthogonal_factors(m: Any) -> Any:
    return [slopes(m, lambda a, i=i: m.linalg.qr(a, "complete")[i], m.some(2, 4, 3)) for i in (0, 1)]


@program
def eigenvalues(m: Any) -> Any:
    return slopes(m, m.linalg.eigvalsh, positive(m, 2, 4, 4)), slopes(
        m, lambda a: m.linalg.eigh(a)[0], positive(m, 2, 2, 2)
    )


@program
def eigenvectors(m: Any) -> Any:
    return slopes(m, lambda a: m.linalg.eigh(a)[1] ** 2, positive(m, 2, 3, 3))


@program
def singular_values(m: Any) -> Any:
    f = lambda a: m.linalg.svd(a, compute_uv=False)
    return slopes(m, f, m.some(2, 4, 3)), slopes(m, f, m.some(2, 2, 3))


@program
def singular_vectors(m: Any) -> Any:
    forms = [m.some(2, 4, 3), m.some(2, 2, 3)]
    return [[slopes(m, lambda a, i=i: m.linalg.svd(a, False)[i] ** 2, x) for i in (0, 2)] for x in forms]


@program
def pseudo_inverses(m: Any) -> Any:
    return slopes(m, m.linalg.pinv, m.some(2, 4, 3)), slopes(m, m.linalg.pinv, m.some(2, 2, 3))


@program
def least_squares(m: Any) -> Any:
    x, residuals, rank, s = m.linalg.lstsq(m.some(5, 3), m.some(5, 2))
    return x, residuals, rank, s, slopes(m, lambda b: m.linalg.lstsq(m.some(5, 3), b)[0], m.some(2, 5))


@program
def ranks(m: Any) -> Any:
    a = m.some(4, 1) @ m.some(1, 3)
    return m.linalg.matrix_rank(a), m.linalg.matrix_rank(m.some(2, 4, 3)), m.linalg.matrix_rank(m.some(4))


@program
def condition_numbers(m: Any) -> Any:
    orders = [None, -2, "fro", "nuc", 1, -1, float("inf"), -float("inf")]
    singular = m.array([[1.0, 2.0], [2.0, 4.0]])
    square = [m.vmap(m.grad(lambda a, p=p: m.linalg.cond(a, p)))(well(m, 2, 3, 3)) for p in orders[:3]]
    values = [m.vmap(lambda a, p=p: m.linalg.cond(a, p))(well(m, 2, 3, 3)) for p in orders]
    of_singular = m.stack([m.linalg.cond(singular, p) for p in (1, -1, float("inf"))])
    return square, values, m.linalg.cond(m.some(2, 4, 3)), m.to_float(of_singular > 1e30)


@program
def norms(m: Any) -> Any:
    orders = [None, "fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]
    matrices = [slopes(m, lambda a, o=o: m.linalg.norm(a, o), m.some(2, 3, 2)) for o in orders]
    vectors = [m.linalg.norm(m.some(3, 4), o, axis=1) for o in (None, 0, 1, 3, float("inf"))]
    return matrices, vectors, m.linalg.norm(m.some(2, 3, 4), axis=(0, 2), keepdims=True)


@program
def powers_and_traces(m: Any) -> Any:
    a = well(m, 2, 3, 3)
    powers = [slopes(m, lambda a, n=n: m.linalg.matrix_power(a, n), a) for n in (0, 1, 5, -2)]
    return powers, m.linalg.trace(m.some(2, 3, 4)), m.linalg.trace(m.arange(9).reshape(3, 3), offset=1)


@program
def chains_of_products(m: Any) -> Any:
    return m.linalg.multi_dot([m.some(3), m.some(3, 5), m.some(5, 2), m.some(2)])


@program
def exponentials_of_matrices(m: Any) -> Any:
    return slopes(m, m.linalg.expm, m.some(2, 3, 3)), slopes(m, m.linalg.expm, 6 * m.some(2, 3, 3))


@program(finite=False)
def what_is_not_positive_definite(m: Any) -> Any:
    return m.vmap(m.linalg.cholesky)(m.array([[[1.0, 2.0], [2.0, 1.0]], [[4.0, 2.0], [2.0, 5.0]]]))


@program(finite=False)
def equal_eigenvalues(m: Any) -> Any:
    _, (w, _) = m.jvp(lambda a: tuple(m.linalg.eigh(a)), (m.eye(3),), (m.ones((3, 3)),))
    return w
