"""Programs whose values are followed through containers, generators and functions that are values."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Protocol, TypedDict

from tinygrad import Tensor

from branded import axis_size, pmean, scan, vmap

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# --- a function that is returned, and called at once
def power(k: int) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor) -> Tensor:
        return x**k

    return f


assert vmap(lambda x: power(2)(x).sum())(X).tolist() == [14.0, 77.0]


# --- a function that returns a reduction, with a name that is a string
def spread(x: Tensor) -> Tensor:
    mean = pmean(x, "rows")
    return pmean((x - mean).abs().sum(), "rows") * axis_size("rows")


assert vmap(spread, axis_name="rows", out_axes=None)(X).item() == 9.0


# --- a generator of slices
def windows(x: Tensor, size: int) -> Iterator[Tensor]:
    for i in range(x.shape[0] - size + 1):
        yield x[i : i + size]


assert vmap(lambda x: Tensor.stack(*[w.sum() for w in windows(x, 2)]))(X).tolist() == [[3.0, 5.0], [9.0, 11.0]]


# --- functions in a list, behind a Protocol
class Step(Protocol):
    def __call__(self, x: Tensor, /) -> Tensor: ...


STEPS: list[Step] = []


def step(f: Step) -> Step:
    STEPS.append(f)
    return f


@step
def double(x: Tensor) -> Tensor:
    return x * 2


@step
def halve(x: Tensor) -> Tensor:
    return x / 2


assert vmap(lambda x: reduce(lambda y, f: f(y), STEPS, x))(X).tolist() == X.tolist()


# --- a TypedDict with batched values
class Row(TypedDict):
    x: Tensor
    y: Tensor


def loss(row: Row) -> Tensor:
    return (row["x"] - row["y"]).abs().sum()


assert vmap(lambda x, y: loss({"x": x, "y": y}))(X, X).tolist() == [0.0, 0.0]
row: Row = {"x": X, "y": X}
row = {"x": row["x"] + 1, "y": row["y"] * 2}


# --- objects and lists of the mapped function itself
class Log:
    def __init__(self) -> None:
        self.last: Tensor | None = None


def logged(x: Tensor) -> Tensor:
    log, values = Log(), list[Tensor]()
    log.last = x.sum()
    values.append(x)
    return log.last + values[0].sum()


assert vmap(logged)(X).tolist() == [12.0, 30.0]

# --- a value of all examples is read in a loop
w = Tensor([2.0, 3.0])
assert scan(lambda c, x: (c + x * w.sum().item(), None), Tensor(0.0), Tensor([1.0, 2.0]))[0].item() == 15.0
