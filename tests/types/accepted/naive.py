"""Programs that say nothing of rows."""

from typing import Any, TypedDict, overload

import numpy as np
from tinygrad import Tensor, nn
from typing_extensions import TypeIs

from branded import Brand, all_gather, axis_index, cond, fori_loop, ppermute, psum, sequential_vmap, vmap

x = Tensor([[1.0, 2.0], [3.0, 4.0]])


# --- objects and lists created in the call may store batched values
class Total:
    def __init__(self, start: Tensor) -> None:
        self.value = start
        self.note: Any = None

    def add(self, a: Tensor) -> None:
        self.value = self.value + a
        self.note = a


def logs(a: Tensor, log: list[Tensor]) -> Tensor:
    log.append(a)
    log += [a]
    return a


def with_objects(a: Tensor) -> Tensor:
    total, log, seen = Total(Tensor(0.0)), list[Tensor](), dict[str, Any]()
    total.add(a)
    logs(a, log)
    seen["a"] = a
    return a + log[0]


assert vmap(with_objects)(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


# --- a dict and a list that a mapped function is given are made for it
def fills(a: Tensor, by_name: dict[str, Tensor], log: list[Tensor]) -> Tensor:
    by_name["a"] = a
    log.append(a)
    return by_name["a"] + log[-1]


shared, held = {"x": x}, [x]
assert vmap(fills, in_axes=(0, None, None))(x, shared, held).tolist() == [[2.0, 4.0], [6.0, 8.0]]
assert "a" not in shared and len(held) == 1


# --- local names in a function
def renames(a: Tensor, b: Tensor) -> Tensor:
    b = a + b
    return b * 1


assert vmap(renames, in_axes=(0, None))(x, x[0]).tolist() == [[2.0, 4.0], [4.0, 6.0]]


# --- a pattern keeps the row here too
def matched(a: Tensor | float) -> Tensor:
    match a:
        case Tensor() as b:
            return b * 2
        case _:
            return Tensor(a)


assert vmap(matched)(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


# --- values that a function makes from unbatched values
weights = Tensor([1.0, 2.0])


def of_others(a: Tensor, b: Tensor) -> Tensor:
    return b.sum() * 2


assert vmap(lambda a: of_others(a, weights), out_axes=None)(x).tolist() == 6.0


# --- arguments that a function passes on without using them
def scaled(a: Tensor, b: Tensor) -> Tensor:
    c = of_others(a, b)
    return c * 2


def as_shaped(a: Tensor, b: Tensor) -> Tensor:
    return a.reshape(b.shape)


def by_turns(a: Tensor, b: Tensor, n: int) -> Tensor:
    return b if n == 0 else by_turns(a, b, n - 1)


assert vmap(lambda a: scaled(a, weights), out_axes=None)(x).tolist() == 12.0
assert vmap(lambda a: as_shaped(weights, a), out_axes=None)(x).tolist() == [1.0, 2.0]
assert vmap(lambda a: by_turns(a, weights, 2), out_axes=None)(x).tolist() == [1.0, 2.0]


# --- a method that ignores its argument
class Fixed:
    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def __call__(self, a: Tensor) -> Tensor:
        return self.weight

    def twice(self, a: Tensor, b: Tensor) -> Tensor:
        return self.first(b, a) * 2

    def first(self, a: Tensor, b: Tensor) -> Tensor:
        return a

    @staticmethod
    def second(a: Tensor, b: Tensor) -> Tensor:
        return b


fixed = Fixed(weights)
assert vmap(fixed, out_axes=None)(x).tolist() == [1.0, 2.0]
assert vmap(lambda a: fixed.twice(a, weights), out_axes=None)(x).tolist() == [2.0, 4.0]
assert vmap(lambda a: Fixed.second(a, weights), out_axes=None)(x).tolist() == [1.0, 2.0]


# --- dependencies of parts of a result
def both(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return a, b


def the_first(*xs: Tensor) -> Tensor:
    return xs[0]


def by_inner(a: Tensor, b: Tensor) -> Tensor:
    def inner(c: Tensor) -> Tensor:
        return a

    return inner(b)


def assigned_twice(a: Tensor, b: Tensor) -> Tensor:
    c = b * 2
    c = a
    return c  # noqa: RET504


def unpacked(a: Tensor, *, b: Tensor) -> Tensor:
    c, d = both(a=a, b=b.exp())
    return the_first(*(c.sin(), d))


assert vmap(lambda a: both(weights, a)[0], out_axes=None)(x).tolist() == [1.0, 2.0]
assert vmap(lambda a: both(weights, a), out_axes=(None, 0))(x)[0].tolist() == [1.0, 2.0]
assert vmap(lambda a: the_first(weights, a), out_axes=None)(x).tolist() == [1.0, 2.0]
assert vmap(lambda a: by_inner(weights, a), out_axes=None)(x).tolist() == [1.0, 2.0]
assert vmap(lambda a: assigned_twice(weights, a), out_axes=None)(x).tolist() == [1.0, 2.0]
assert vmap(lambda a: unpacked(weights, b=a), out_axes=None)(x).shape == (2,)


# --- exchanges over a brand, in functions of plain tensors
targets = Tensor([2.0, 3.0, 5.0])


class Batch(Brand): ...


def to_next(x: Tensor) -> Tensor:
    return x + ppermute(x, Batch, [(0, 1), (1, 2), (2, 0)])


def own_score(z: Tensor) -> Tensor:
    scores = all_gather(z, Batch) @ z
    return scores.log_softmax()[axis_index(Batch)]


vmap(to_next, axis_name=Batch)(targets)
vmap(own_score, axis_name=Batch)(Tensor.ones(3, 2))


# --- a collective over a brand that a caller opens, in a loop and under another vmap
def relaxed(z: Tensor, rounds: int) -> Tensor:
    return fori_loop(0, rounds, lambda i, b: to_next(b), z)


def of_callers(row: Tensor) -> Tensor:
    return vmap(lambda z: z / psum(z, Batch))(row)


vmap(lambda z: relaxed(z, 2), axis_name=Batch)(targets)
vmap(of_callers, axis_name=Batch)(Tensor.ones(3, 2))


# --- a TypedDict of which vmap maps a part
class Task(TypedDict):
    inputs: Tensor
    labels: Tensor


def trained(w: Tensor, task: Task) -> Tensor:
    return ((task["inputs"] * w).sum() - task["labels"]).square()


def shared_norm(task: Task) -> Tensor:
    return task["inputs"] if task["inputs"].sum().item() > 1 else task["inputs"] * 2


task: Task = {"inputs": Tensor.ones(2), "labels": Tensor([1.0, 2.0, 3.0])}
vmap(lambda t: trained(Tensor.ones(2), t), in_axes=({"inputs": None, "labels": 0},))(task)
vmap(trained, in_axes=(None, {"inputs": None, "labels": 0}))(Tensor.ones(2), task)
vmap(lambda t: shared_norm(t) * t["labels"], in_axes=({"inputs": None, "labels": 0},))(task)


# --- mypy's join of values with different brands
rows = vmap(lambda a: vmap(lambda b: sum([a.sum(), a.sum() * b]))(x[0]))(x)
pairs = vmap(lambda a: vmap(lambda b: max([b * a, a], key=len))(x[0]))(x)
picked = vmap(lambda a: vmap(lambda b: {"a": a, "b": a * b}.get("b", a))(x[0]))(x)
for joined in (rows, pairs, picked):
    assert isinstance(joined, Tensor)
    joined.tolist()


# --- a TypedDict whose items vary over different brands, made by a call
class Plant(TypedDict):
    height: Tensor
    water: Tensor
    name: str


def growth(plant: Plant, heat: float = 1.0) -> Tensor:
    return plant["height"] + plant["water"].sum() * heat


def watered(plant: Plant, more: Tensor) -> Plant:
    return Plant(height=plant["height"], water=plant["water"] + more, name=plant["name"])


plant = Plant(height=Tensor(1.0), water=x, name="fern")
growth(plant)
vmap(lambda h: growth(Plant(height=h, water=x, name="fern")))(x[0]).tolist()
vmap(lambda h: vmap(lambda w: growth(Plant(height=h, water=w, name="fern")))(x))(x[0]).tolist()
vmap(lambda h: growth(watered(Plant(height=h, water=x, name="fern"), h)))(x[0]).tolist()
vmap(lambda h: growth(watered(plant, h), heat=2.0))(x[0]).tolist()


# --- a TypeIs function narrows a batched value
def is_tensor(o: object) -> TypeIs[Tensor]:
    return isinstance(o, Tensor)


def as_tensor(a: Tensor | float) -> Tensor:
    if is_tensor(a):
        return a * 2
    return Tensor(a)


assert vmap(lambda a: as_tensor(a) + as_tensor(1.0))(x).tolist() == [[3.0, 5.0], [7.0, 9.0]]


# --- an early return leaves the rest of an overloaded function to the other types
@overload
def doubled(a: Tensor) -> Tensor: ...


@overload
def doubled(a: float) -> float: ...


def doubled(a: Tensor | float) -> Tensor | float:
    if isinstance(a, Tensor):
        return a * 2
    return float(a) * 2


assert vmap(lambda a: doubled(a) + doubled(0.5))(x).tolist() == [[3.0, 5.0], [7.0, 9.0]]


# --- an early return with an unknown condition
def tripled(a: Tensor | float, least: int) -> Tensor | float:
    if isinstance(a, Tensor) and a.ndim > least:
        return a * 3
    return a if isinstance(a, Tensor) else float(a)


assert vmap(lambda a: a + tripled(a, 0))(x).tolist() == [[4.0, 8.0], [12.0, 16.0]]


# --- a tensor that the call makes may be assigned a batched value
def accumulated(a: Tensor) -> Tensor:
    total = Tensor.zeros(2).contiguous()
    for k in range(2):
        total.assign(total + a * k)
    return total


assert vmap(accumulated)(x).tolist() == x.tolist()

# --- a layer that samples its weights, and a layer that does not
vmap(lambda a: nn.Linear(2, 3)(a), randomness="different")(x)
vmap(lambda a: nn.LayerNorm(2)(a))(x)


# --- a function that runs for one example after another
@sequential_vmap
def either(a: Tensor) -> Tensor:
    return cond(a.sum() > 4, lambda: a, lambda: -a)


assert vmap(either)(x).tolist() == [[-1.0, -2.0], [3.0, 4.0]]

# --- a numpy function that reads only the shape
assert vmap(lambda a: a * np.shape(a)[0])(x).tolist() == [[2.0, 4.0], [6.0, 8.0]]
assert vmap(lambda a: a * np.size(a) + np.ndim(a))(x).tolist() == [[3.0, 5.0], [7.0, 9.0]]
