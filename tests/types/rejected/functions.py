"""Functions of arrays: declared brands that differ from those of the arguments."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, array, interp, lift, outer, quantile, segment_sum, top_k

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
x = Tensor([1.0, 2.0])


# --- two brands meet in a function where one is declared
def product(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return outer(a, b)  # E: Incompatible return value type (got "Vec[S1 | S2, Tensor]", expected "Vec[S1, Tensor]")


# --- the numbers of segments have a brand too
def sums(a: Vec[S1], ids: Vec[S2]) -> Vec[S1]:
    return segment_sum(a, ids, 3)  # E: Incompatible return value type


# --- an entry of an array has a brand that is not declared
def entries(a: Vec[S1], b: Vec[S2]) -> Vec[S1]:
    return array([[a, 0], [1, b]])  # E: Incompatible return value type


# --- the points of a line have a brand
def line(a: Vec[S1], points: Vec[S2]) -> Vec[S1]:
    return interp(a, points, x)  # E: Incompatible return value type


# --- quantiles of batched values declared as a tensor
def middle(a: Vec[S]) -> Tensor:
    return quantile(a, 0.5)  # E: Incompatible return value type


# --- both results of top_k have the row
def best(a: Vec[S]) -> Tensor:
    return top_k(a, 2)[1]  # E: Incompatible return value type


# --- a string as an operand
outer(x, "a")  # E: Argument 2 to "outer" has incompatible type "str"


# --- a lifted function of a dict gives the rows of all that it is given
@lift
def weighted(p: dict[str, Tensor], a: Tensor) -> Tensor:
    return (p["w"] * a).sum()


def of_one(p: dict[str, Vec[S1]], a: Vec[S2]) -> Vec[S1]:
    return weighted(p, a)  # E: Incompatible return value type (got "Vec[S1 | S2, Tensor]", expected "Vec[S1, Tensor]")
