"""vmap in vmap, to any depth, with closures."""

from typing import TypeVar, assert_type, reveal_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x, y, z = Tensor([1.0, 2.0]), Tensor([3.0, 4.0, 5.0]), Tensor([6.0])
X = Tensor.ones(2, 3)

# --- outer: two vmaps, two brands
assert_type(vmap(lambda a: vmap(lambda b: a + b)(y))(x), Tensor)

# --- within the outer one the result of the inner has the outer brand alone
vmap(lambda a: reveal_type(vmap(lambda b: a + b)(y)))(x)  # N: Vec[a,

# --- depth 3
vmap(lambda a: vmap(lambda b: vmap(lambda c: reveal_type(a + b * c))(z))(y))(x)  # N: Vec[a | b | c,

# --- depth 3, with a closure that skips the middle
vmap(lambda a: vmap(lambda b: vmap(lambda c: reveal_type(a * c))(z) + b)(y))(x)  # N: Vec[a | c,

# --- depth 4
assert_type(vmap(lambda a: vmap(lambda b: vmap(lambda c: vmap(lambda d: a + b + c + d)(x))(z))(y))(x), Tensor)

# --- depth 5
assert_type(
    vmap(lambda a: vmap(lambda b: vmap(lambda c: vmap(lambda d: vmap(lambda e: a + b + c + d + e)(y))(x))(z))(y))(x),
    Tensor,
)

# --- depth 5, each value seen
vmap(
    lambda a: vmap(
        lambda b: vmap(
            lambda c: vmap(
                lambda d: vmap(
                    lambda e: reveal_type(a + b + c + d + e)  # N: Vec[a | b | c | d | e,
                )(x)
            )(y)
        )(z)
    )(y)
)(x)

# --- two parameters of one name at two depths are two brands
vmap(lambda a: vmap(lambda b: vmap(lambda a: reveal_type(a + b))(x))(y) + a)(x)  # N: Vec[a2 | b,

# --- siblings: each has a brand of its own
vmap(lambda a: reveal_type(vmap(lambda b: a + b)(y).sum() + vmap(lambda c: a * c)(y).sum()))(x)  # N: Vec[a,

# --- an inner vmap over rows of a mapped matrix
assert_type(vmap(lambda r: vmap(lambda e: e * r.sum())(r))(X), Tensor)

# --- the rows and the columns of one matrix
assert_type(vmap(lambda r: vmap(lambda c: r.sum() * c.sum(), in_axes=1)(X))(X), Tensor)


# --- functions within functions, their rows declared
def outer(a: Vec[S]) -> Vec[S]:
    def inner(b: Vec[S1]) -> Vec[S | S1]:
        return a + b

    return vmap(inner)(y)


assert_type(vmap(outer)(x), Tensor)


# --- in a function of an open row, vmap of a plain tensor with a closure has that row
def closing(a: Vec[S]) -> Vec[S]:
    out = vmap(lambda b: a + b)(y)
    assert_type(out, Vec[S])
    return out


# --- in a function of an open row, vmap without a closure is plain
def not_closing(a: Vec[S]) -> Vec[S]:
    out = vmap(lambda b: b * 2)(y)
    assert_type(out, Tensor)
    return out + a


# --- in a function of an open row, vmap over that value
def over(r: Vec[S]) -> Vec[S]:
    out = vmap(lambda e: e * 2)(r)
    assert_type(out, Vec[S])
    return out.sum()


assert_type(vmap(over)(X), Tensor)


# --- in a function of two open rows
def two(a: Vec[S1], b: Vec[S2]) -> Vec[S1 | S2]:
    return vmap(lambda c: a * b + c)(y)


assert_type(vmap(lambda a: vmap(lambda b: two(a, b))(y))(x), Tensor)


# --- a recursive function
def deep(n: int, a: Vec[S]) -> Vec[S]:
    return a if n == 0 else vmap(lambda b: deep(n - 1, a + b))(x)


assert_type(deep(3, x), Tensor)
assert_type(vmap(lambda a: deep(2, a))(x), Tensor)

# --- pairwise distances
assert_type(vmap(lambda p: vmap(lambda q: (p - q).square().sum().sqrt())(X))(X), Tensor)

# --- a lambda that is called in a lambda
assert_type(vmap(lambda a: (lambda q: q + a)(a))(x), Tensor)

# --- a local function that is not mapped
assert_type(vmap(lambda a: vmap(lambda b: (lambda t: t * a + b)(a - b))(y))(x), Tensor)

# --- a list of inner results
assert_type(vmap(lambda a: [vmap(lambda b: a + b + c)(y) for c in (x, z)])(x), list[Tensor])


# --- a named function at the inside, a closure by in_axes
def axpy(k: Vec[S1], a: Vec[S2]) -> Vec[S1 | S2]:
    return k * a + 1


assert_type(vmap(lambda k: vmap(axpy, in_axes=(None, 0))(k, y))(x), Tensor)
