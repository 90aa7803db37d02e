"""The types of results: numbers, and the rows of many operands."""

from typing import Never, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
S3 = TypeVar("S3", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor.ones(2, 4)


# --- a number in the result is repeated for every example
assert_type(vmap(lambda a: 3)(x), Tensor)


# --- a number in a tuple of results
assert_type(vmap(lambda a: (a, 3))(x), tuple[Tensor, Tensor])


# --- a number of a named function
def length(a: Vec[S]) -> int:
    return len(a)


assert_type(vmap(length)(X), Tensor)
stored_length = vmap(length)
assert_type(stored_length(X), Tensor)


# --- a number that is not repeated stays a number
shared_number: int = vmap(lambda a: 3, out_axes=None)(x)


# --- einsum of two rows
def einsum(a: Vec[S1], b: Vec[S2]) -> None:
    assert_type(Tensor.einsum("i,i->", a, b), Vec[S1 | S2])


# --- gradients with respect to values of two rows
def gradient(a: Vec[S1], w: Vec[S2]) -> None:
    assert_type((a * w).sum().gradient(a, w), list[Vec[S1 | S2]])


# --- stack and cat of three rows
def three(a: Vec[S1], b: Vec[S2], c: Vec[S3]) -> None:
    assert_type(a.stack(b, c), Vec[S1 | S2 | S3])
    assert_type(a.cat(b, c), Vec[S1 | S2 | S3])
    assert_type(Tensor.stack(a, b, c), Vec[S1 | S2 | S3])


# --- a function of one declared row, at two brands, has their union
def zipped(a: Vec[S], b: Vec[S]) -> Vec[S]:
    return a + b


assert_type(vmap(lambda a: vmap(lambda b: zipped(a, b))(y))(x), Tensor)


# --- the number of rows of an example
assert_type(vmap(lambda r: len(r))(X), Tensor)

# --- None next to a tensor
assert_type(vmap(lambda a: (a, None))(x), tuple[Tensor, None])

# --- tuples and lists of unknown length
assert_type(vmap(lambda r: r.split(2))(X), tuple[Tensor, ...])
assert_type(vmap(lambda r: r.chunk(2))(X), list[Tensor])
assert_type(vmap(lambda r: r.topk(1))(X), tuple[Tensor, Tensor])

# --- lists, tuples and dicts made in the body
assert_type(vmap(lambda r: [e for e in r])(X), list[Tensor])  # noqa: C416
assert_type(vmap(lambda r: tuple(e * 2 for e in r))(X), tuple[Tensor, ...])
assert_type(vmap(lambda r: dict(k=r))(X), dict[str, Tensor])  # noqa: C408


# --- a list that grows in the body
def powers(n: int, a: Vec[S]) -> Vec[S]:
    found = []
    for i in range(1, n):
        found.append(a**i)
    return found[0].stack(*found[1:])


assert_type(vmap(lambda a: powers(3, a))(x), Tensor)


# --- an accumulator that starts plain
def accumulated(a: Vec[S]) -> Vec[S]:
    total: Vec[S] = Tensor(0.0)
    for _ in range(3):
        total = total + a
    return total


assert_type(vmap(accumulated)(x), Tensor)


# --- a list display where a list of the empty row is declared
values: list[Vec[Never]] = [x]


# --- a dict display where a dict of the empty row is declared
named: dict[str, Vec[Never]] = {"w": x}


# --- lists and dicts as arguments, without vmap
def combine(v: list[Vec[S]], k: dict[str, Vec[S]]) -> Vec[S]:
    return v[0] * k["w"]


assert_type(combine([x], {"w": x}), Tensor)


# --- a lambda by its keyword
assert_type(vmap(f=lambda a: a)(x), Tensor)
