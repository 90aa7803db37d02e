"""Linear algebra: results have the brands of the operands."""

from typing import TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, grad, linalg, unvec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
A, b, As, bs = Tensor.eye(3), Tensor.ones(3), Tensor.eye(3).expand(2, 3, 3), Tensor.ones(2, 3)


# --- a solution varies over the brands of both operands
def systems(a: Vec[S1], b: Vec[S2], low: Vec[S2]) -> None:
    assert_type(linalg.solve(a, b), Vec[S1 | S2])
    assert_type(linalg.solve_triangular(a, b, lower=True), Vec[S1 | S2])
    assert_type(linalg.cho_solve((low, True), b), Vec[S2])
    assert_type(linalg.lstsq(a, b).x, Vec[S1 | S2])


# --- a matrix that does not vary is a matrix
def shared(b: Vec[S]) -> Vec[S]:
    return linalg.solve(A, b) + linalg.cho_solve(linalg.cho_factor(A), b)


# --- factors vary over the brands of the matrix
def factors(a: Vec[S]) -> None:
    assert_type(linalg.cholesky(a), Vec[S])
    assert_type(linalg.inv(a), Vec[S])
    assert_type(linalg.qr(a).Q, Vec[S])
    assert_type(linalg.qr(a, "r"), Vec[S])
    assert_type(linalg.eigh(a).eigenvalues, Vec[S])
    assert_type(linalg.svd(a).S, Vec[S])
    assert_type(linalg.svd(a, compute_uv=False), Vec[S])
    assert_type(linalg.slogdet(a).logabsdet, Vec[S])
    assert_type(linalg.norm(a, "nuc"), Vec[S])
    assert_type(linalg.expm(a), Vec[S])


# --- under vmap
assert_type(vmap(linalg.cholesky)(As), Tensor)
assert_type(vmap(lambda b: linalg.solve(A, b))(bs), Tensor)
assert_type(vmap(linalg.solve)(As, bs), Tensor)
assert_type(vmap(lambda a: linalg.slogdet(a).logabsdet)(As), Tensor)

# --- of nothing that varies they are tensors
assert_type(linalg.solve(A, b), Tensor)
assert_type(unvec(linalg.eigh(A).eigenvalues), Tensor)
assert_type(grad(lambda a: linalg.det(a))(A), Tensor)


# --- unpacked results
sign, log = linalg.slogdet(A)
assert_type(log, Tensor)
values, vectors = linalg.eigh(A)
assert_type(vectors, Tensor)


def unpacked(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    q, r = linalg.qr(a)
    x, _, _, _ = linalg.lstsq(a, b)
    return q @ r + x
