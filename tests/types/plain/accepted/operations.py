"""Operators and methods: the result has the brands of all operands."""

from typing import TypeVar, assert_type

from tinygrad import Tensor, dtypes

from branded import Brand, Vec

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
S3 = TypeVar("S3", bound=Brand)
x, W = Tensor([1.0, 2.0]), Tensor.ones(2, 2)


# --- operators of two brands
def operators(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a + b, Vec[S1 | S2])
    assert_type(a - b, Vec[S1 | S2])
    assert_type(a * b, Vec[S1 | S2])
    assert_type(a / b, Vec[S1 | S2])
    assert_type(a**b, Vec[S1 | S2])
    assert_type(a @ b, Vec[S1 | S2])
    assert_type(a > b, Vec[S1 | S2])
    assert_type(a == b, Vec[S1 | S2])


# --- operators of one brand
def zipped(a: Vec[S], b: Vec[S]) -> None:
    assert_type(a + b, Vec[S])
    assert_type(a @ b, Vec[S])
    assert_type(a < b, Vec[S])
    assert_type(a.maximum(b), Vec[S])


# --- numbers on either side
def numbers(a: Vec[S]) -> None:
    assert_type(a + 1, Vec[S])
    assert_type(2.0 * a, Vec[S])
    assert_type(1 - a, Vec[S])
    assert_type(1 / a, Vec[S])
    assert_type(a**2, Vec[S])


# --- a plain tensor on either side
def with_plain(a: Vec[S]) -> None:
    assert_type(a + x, Vec[S])
    assert_type(x + a, Vec[S])
    assert_type(x - a, Vec[S])
    assert_type(W @ a, Vec[S])
    assert_type(a @ W, Vec[S])


# --- methods of one value keep its brands
def methods(a: Vec[S]) -> Vec[S]:
    h = a.exp().relu().softmax().reshape(2, -1).permute(1, 0).cast(dtypes.float)
    assert_type(h, Vec[S])
    assert_type(h.sum(axis=0), Vec[S])
    assert_type(h.mean(), Vec[S])
    assert_type(h.argmax(), Vec[S])
    return h.flatten()


# --- where, with three brands
def where(c: Vec[S1], a: Vec[S2], b: Vec[S3]) -> None:
    assert_type(c.where(a, b), Vec[S1 | S2 | S3])
    assert_type((c > 0).where(a, 0), Vec[S1 | S2])


# --- gather and scatter
def gathers(a: Vec[S1], i: Vec[S2], v: Vec[S3]) -> None:
    assert_type(a.gather(0, i), Vec[S1 | S2])
    assert_type(a.scatter(0, i, v), Vec[S1 | S2 | S3])
    assert_type(x.gather(0, i), Vec[S2])


# --- stack and cat
def joins(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(a.stack(b), Vec[S1 | S2])
    assert_type(a.cat(b, dim=0), Vec[S1 | S2])
    assert_type(a.stack(x), Vec[S1])


# --- einsum
def einsum(a: Vec[S], b: Vec[S]) -> None:
    assert_type(Tensor.einsum("i,i->", a, b), Vec[S])


# --- sum() over a list, and iteration over the first axis
def sums(a: Vec[S]) -> Vec[S]:
    out = sum([a * i for i in range(1, 3)], start=a)
    for e in a:
        assert_type(e, Vec[S])
        out = out + e
    return out


# --- a value or None
def optional(a: Vec[S1], b: Vec[S2] | None = None) -> Vec[S1 | S2]:
    return a if b is None else a + b


# --- linear, with batched weights
def linear(a: Vec[S1], w: Vec[S2], b: Vec[S3]) -> None:
    assert_type(a.linear(w, b), Vec[S1 | S2 | S3])
    assert_type(a.linear(W), Vec[S1])


# --- attention
def attention(q: Vec[S1], k: Vec[S2], v: Vec[S3]) -> None:
    assert_type(q.scaled_dot_product_attention(k, v), Vec[S1 | S2 | S3])
    assert_type(q.scaled_dot_product_attention(q, q), Vec[S1])


# --- indexing by numbers, slices and values
def indexing(a: Vec[S1], i: Vec[S2]) -> None:
    assert_type(a[0], Vec[S1])
    assert_type(a[1:, ..., None], Vec[S1])
    assert_type(a[i], Vec[S1 | S2])
    assert_type(W[i], Vec[S2])


# --- per-example gradients
def gradients(a: Vec[S], w: Tensor) -> Vec[S]:
    (g,) = (a * w).sum().square().gradient(w)
    assert_type(g, Vec[S])
    return g


# --- shape, dtype and ndim have no brands
def facts(a: Vec[S]) -> Vec[S]:
    assert_type(a.ndim, int)
    assert_type(a.is_floating_point(), bool)
    return a.sum(0) if a.ndim > 1 else a
