"""Containers of values with fewer brands as arguments of functions: examples share unbatched values."""

from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Never, TypeVar, assert_type

from tinygrad import Tensor

from branded import Brand, Vec, pmean, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S_co = TypeVar("S_co", bound=Brand, covariant=True)
x = Tensor([[1.0, 2.0], [3.0, 4.0]])
params = {"w": Tensor([1.0, 2.0]), "b": Tensor([0.5, 0.5])}
tensors: list[Tensor] = [Tensor([1.0]), Tensor([2.0])]


def predict(p: dict[str, Vec[S]], a: Vec[S1]) -> Vec[S | S1]:
    return p["w"] * a + p["b"]


def total(values: list[Vec[S]]) -> Vec[S]:
    return values[0] + values[1]


# --- a test against a loop calls the function with tensors
assert_type(predict(params, x[0]), Tensor)
assert_type(total(tensors), Tensor)
loop = [predict(params, a).tolist() for a in x]
assert vmap(predict, in_axes=(None, 0))(params, x).tolist() == loop


# --- a dict that all examples share, and a value that varies
def shares(a: Vec[S]) -> Vec[S]:
    return predict(params, a)


assert vmap(shares)(x).tolist() == loop


# --- displays of two rows have both
def displays(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    assert_type(predict({"w": a, "b": b}, x), Vec[S | S1, Tensor])
    assert_type(predict({"w": a, "b": x[0]}, x), Vec[S, Tensor])
    assert_type(total([a, b]), Vec[S | S1, Tensor])
    return predict({"w": a, "b": b}, x[0])


assert vmap(displays, in_axes=(0, None))(x, x[0]).shape == (2, 2)


# --- displays that stand by themselves have all rows of their entries
def stored(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    named, listed, nested = {"w": a, "b": b}, [a, x[0], b], {1: [a, b], 2: [b, b]}
    assert_type(named, dict[str, Vec[S | S1, Tensor]])
    assert_type(listed, list[Vec[S | S1, Tensor]])
    assert_type(nested, dict[int, list[Vec[S | S1, Tensor]]])
    pairs = [(a, x[0]), (x[0], a)]
    assert_type(pairs, list[tuple[Vec[S, Tensor], Vec[S, Tensor]]])
    perhaps = [a, None, b]
    assert_type(perhaps, list[Vec[S | S1, Tensor] | None])
    for value in [a, b]:
        assert_type(value, Vec[S | S1, Tensor])
        listed.append(value)
    doubled = [assert_type(v, Vec[S | S1, Tensor]) * 2 for v in [a, b]]
    mixed = [a, 1.0]
    assert_type(mixed, list[Vec[S, Tensor] | float])
    wanted: list[Vec[S | S1] | float] = [a, b]
    wanted = [a, 1.0]
    return named["w"] + listed[1] + nested[1][0] + doubled[0] + pairs[0][0] * len(wanted)


assert vmap(stored, in_axes=(0, None))(x, x[0]).shape == (2, 2)
both = vmap(lambda a: vmap(lambda b: [a, b])(x))(x)
assert_type(both, list[Tensor])
assert [t.shape for t in both] == [(2, 2, 2), (2, 2, 2)]


# --- dicts that are joined
def joined(a: Vec[S]) -> Vec[S]:
    assert_type(predict({**params, "w": a}, x), Vec[S, Tensor])
    return predict(params | {"w": a}, x[0])


assert vmap(joined)(x).shape == (2, 2)


# --- a row that is a name and a variable takes more
class Batch(Brand): ...


def centered(a: Vec[Batch | S]) -> Vec[Batch | S]:
    return a - pmean(a, Batch)


def wider(a: Vec[Batch | S], b: Vec[S1]) -> Vec[Batch | S | S1]:
    return centered(a * b)


assert vmap(lambda a: wider(a, x[0]), axis_name=Batch)(x).shape == (2, 2)


# --- one field of a tuple or a dataclass that varies over more
class Pair(NamedTuple, Generic[S_co]):
    a: Vec[S_co]
    b: Vec[S_co]


@dataclass(frozen=True)
class Point(Generic[S_co]):
    a: Vec[S_co]
    b: Vec[S_co]


shared: Pair[Never] = Pair(x[0], x[1])


def moved(p: Point[S], a: Vec[S1]) -> Point[S | S1]:
    return replace(p, a=a)


def with_a(p: Pair[S], a: Vec[S1]) -> Pair[S | S1]:
    return p._replace(a=a)


def first(p: Pair[S]) -> Vec[S]:
    return p.a + p.b


assert vmap(lambda a: first(with_a(shared, a)))(x).tolist() == [[4.0, 6.0], [6.0, 8.0]]
assert vmap(lambda a: moved(Point(x[0], x[1]), a).a)(x).tolist() == x.tolist()
