"""One mistake gives one error: its consequences are not reported."""

import math
from collections.abc import AsyncIterator, Callable

from tinygrad import Tensor

from branded import Axes, Brand, as_axes, fori_loop, pmean, psum, scan, vmap, while_loop
from tests.types.other.readers import Unit, mapped

x, y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[1.0, 2.0], [3.0, 4.0]])


class Users(Brand): ...


class Items(Brand): ...


# --- a number of axes, and then a call of the result
def add(a: Tensor, b: Tensor) -> Tensor:
    return a + b


vmap(add, in_axes=(0, 0, 0))(x, y).tolist()  # E: in_axes: 3 axes for 2 positional arguments

# --- a value without an axis, and then a method of the result
vmap(lambda a: a)("a").tolist()  # E: in_axes: argument 1 is a str: there is no axis to map over

# --- two tables whose axes are in another order
table: Axes[Users, Items] = as_axes(x, Users, Items)
transposed: Axes[Items, Users] = as_axes(y, Items, Users)
vmap(lambda a, b: a + b)(table, transposed)  # E: vmap: `Users` of argument 1 is zipped with `Items` of argument 2

# --- a read whose result is returned
vmap(lambda a: a.tolist())(x)  # E: tolist: a value that varies over "a" has no single value to read

# --- a product of tensors is a tensor
vmap(lambda a: math.prod([a, y[0]], start=a).item())(x)  # E: item: a value that varies over "a"


# --- a read in a function that two vmaps call
def share(a: Tensor, b: Tensor) -> Tensor:
    return a / (a + b).item()  # E: item: a value that varies over "a" and "b" has no single value to read


vmap(lambda a: vmap(lambda b: share(a, b))(y))(x)
vmap(share)(x, y)


# --- a read of the inner of two vmaps, in a function that is mapped too
def outer(a: Tensor) -> Tensor:
    return vmap(lambda b: b * b.item())(y) + a  # E: item: a value that varies over "b" has no single value to read


vmap(outer)(x)


# --- a name that no vmap has, and then a read of the result
def centered(a: Tensor) -> Tensor:
    return a - pmean(a, Users)  # E: pmean: no brand Users is open here


vmap(centered)(x).tolist()
vmap(centered, axis_name=Items)(x).tolist()


# --- another name than the axes have, for two arguments
vmap(add, axis_name=Items)(table, table)  # E: axis_name: Items, and argument 1 is mapped over `Users`

# --- a text of a batched value, which is the result too
vmap(lambda a: f"{a.sum():.2f}")(x)  # E: format: a value that varies over "a" has no single text

# --- axes that differ from the declaration of a variable, and then a use of the variable
by_item: Axes[Items] = table.mean(axis=1)  # E: Incompatible types in assignment
by_item + transposed.mean(axis=1)


# --- a value that a list keeps, and then a read of it
last: list[Tensor] = []


def keeps(a: Tensor) -> Tensor:
    last.append(a)  # E: escape: a value that varies is kept in `last`, which outlives vmap
    return a


vmap(keeps)(x)
print((last[0] * 2).tolist())


# --- a value that an object keeps, and then a read of it
class Running:
    mean: Tensor

    def __call__(self, a: Tensor) -> Tensor:
        self.mean = a  # E: escape: a value that varies is kept in `self.mean`, which outlives vmap
        return a


running = Running()
vmap(running)(x)
print(running.mean.sum().item())


# --- a float of a value: mypy alone would also report the argument
def by_float(a: Tensor) -> Tensor:
    return a / float(a.sum())  # E: float: a value that varies over "a" has no single float


vmap(by_float)(x)


# --- the same where mypy has checked the function before the vmap
def by_int(a: Tensor) -> Tensor:
    return a / int(a.sum()) * math.sqrt(a.max())  # E: int: a value that varies  E: math.sqrt: a value that varies


def in_function() -> None:
    vmap(by_int)(x)


# --- a result with the axes in another order, and then uses of it
def all_pairs(f: Callable[[Tensor, Tensor], Tensor], a: Axes[Users], b: Axes[Items]) -> Axes[Users, Items]:
    return vmap(lambda v: vmap(lambda u: f(u, v))(a))(b)  # E: all_pairs: the result has the axes (Items:3, Users:2)


pairs = all_pairs(lambda u, v: u * v, as_axes(Tensor.ones(2), Users), as_axes(Tensor.ones(3), Items))
assert pairs.shape == (2, 3)
print((pairs - Tensor.ones(2, 3)).shape)


# --- axes that the types and the shapes show, in a loop
async def tables() -> AsyncIterator[Axes[Users, Items]]:
    yield as_axes(Tensor.ones(2, 3), Users, Items)


async def scaled() -> None:
    async for one in tables():
        vmap(lambda a, b: a * b)(one, one.max(axis=0))  # E: vmap: `Users` of argument 1 is zipped with `Items`


# --- a key that mypy reports too
vmap(lambda a: {"mean": a.mean()})(x)[0]  # E: Invalid index type "int" for "dict[str, Tensor]"


# --- the operands of a call in another order, and a loop over the wrong one
def smooth(alpha: Tensor, xs: Axes[Items]) -> Axes[Items]:
    def step(level: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        new = alpha * x + (1 - alpha) * level
        return new, new

    return scan(step, xs[0], xs)[1]


def smooth_all(alpha: Tensor, rows: Axes[Users, Items]) -> Axes[Users, Items]:
    return vmap(smooth, in_axes=(None, 0))(alpha, rows)


smooth_all(as_axes(Tensor.rand(2, 3), Users, Items), as_axes(Tensor.rand(2), Users)[0])  # E: Argument 2 to


# --- a wrong axis, whose result has a wrong shape too
def distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).square().sum()  # E: -: `3` differs from `4` at axis -1


def distances(a: Tensor, b: Tensor) -> Tensor:
    return vmap(lambda u: vmap(lambda v: distance(u, v), in_axes=1)(b))(a)


near = distances(Tensor.rand(5, 3), Tensor.rand(4, 3))
near + Tensor.rand(5, 4)
distances(Tensor.rand(5, 3), Tensor.rand(4, 3)) * Tensor.rand(5, 4)


# --- the functions of a loop in another order, in a function that is mapped too
def halved(c: Tensor) -> Tensor:
    def going(state: tuple[Tensor, Tensor]) -> Tensor:
        return state[0] > state[1]

    def step(state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return state[0] / 2, state[1]

    return while_loop(step, going, (c, c))[0]  # E: while_loop: the condition is


vmap(halved)(Tensor([3.0, 4.0]))


# --- an axis that is forgotten in a loop, whose next step has values of other shapes
def paired(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return vmap(lambda b, c: a * b.sum() * c)(b, c).sum(0)


weights = Tensor.ones(4)
for _ in range(2):
    weights = vmap(paired, in_axes=(0, 0, None))(weights, Tensor.ones(6, 3), Tensor.ones(6))  # E: argument 1 has 4


# --- a read in another file, where types and shapes show it for different calls
def read_in_loss() -> None:
    vmap(lambda a: mapped(Unit(x), x) + a)(x)
    vmap(Unit(x))(x)  # E: item: a value that varies over "s" has no single value to read
    mapped(Unit(x), x)


# --- the number of examples of a brand that is not open
vmap(lambda a: a / psum(1, Users))(x)  # E: psum: no brand Users is open here


# --- a read in a loop, whose result would be a carry of another shape
vmap(lambda a: fori_loop(0, 3, lambda i, c: c.item(), a))(x)  # E: item: a value that varies over "a"
