"""Trees of tensors without brands: nested types, iterables and sorted dicts."""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence, ValuesView
from typing import TypeAlias, TypedDict, TypeVar

from tinygrad import Tensor

from branded import vmap

# --- types of nested lists and dicts
Nested: TypeAlias = Tensor | Sequence["Nested"]
Params: TypeAlias = Tensor | list["Params"] | dict[str, "Params"]
table = Tensor([[1.0, 2.0], [3.0, 4.0]])
params: Params = {"a": table, "b": [table]}


def summed(nested: Nested) -> Tensor:
    if isinstance(nested, Tensor):
        return nested.sum()
    return sum((summed(n) for n in nested), start=Tensor(0.0))


def norm(t: Params) -> Tensor:
    match t:
        case Tensor():
            return t.square().sum()
        case list():
            return sum((norm(x) for x in t), start=Tensor(0.0))
        case dict():
            return sum((norm(x) for x in t.values()), start=Tensor(0.0))


def doubled(t: Params) -> Params:
    if isinstance(t, list):
        return [doubled(x) for x in t]
    if isinstance(t, dict):
        return {k: doubled(x) for k, x in t.items()}
    return t * 2


assert vmap(lambda x, y: summed([x, [y, (x, y)]]))(table, table).tolist() == [12.0, 28.0]
assert vmap(lambda x: norm({"a": x, "b": [x, x]}))(table).tolist() == [15.0, 75.0]
assert vmap(norm)([table, {"c": table}]).tolist() == vmap(norm)(params).tolist() == [10.0, 50.0]
assert vmap(lambda t: norm(doubled(t)))(params).tolist() == [40.0, 200.0]
both = vmap(doubled)(params)
assert isinstance(both, dict) and isinstance(both["a"], Tensor)


# --- parameters and results that are iterables
def powers(x: Tensor, n: int) -> Iterator[Tensor]:
    y = x
    for _ in range(n):
        yield y
        y = y * x


def once(x: Tensor) -> Generator[Tensor, None, None]:
    yield x


def added(xs: Iterable[Tensor]) -> Tensor:
    return sum(xs, start=Tensor(0.0))


def averaged(xs: Collection[Tensor]) -> Tensor:
    return added(xs) / len(xs)


def first(xs: Iterator[Tensor]) -> Tensor:
    return next(xs)


def items(xs: Iterable[tuple[str, Tensor]]) -> Tensor:
    return sum((x * len(name) for name, x in xs), start=Tensor(0.0))


def pairs(xs: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    return sum((a * b for a, b in xs), start=Tensor(0.0))


def last(xs: ValuesView[Tensor]) -> Tensor:
    return [*xs][-1]


assert vmap(lambda x: added(powers(x, 2)))(table).tolist() == [[2.0, 6.0], [12.0, 20.0]]
vmap(lambda x: added([x, x]) + added((x, x)) + added(t for t in [x]) + added({"a": x}.values()))(table)
vmap(lambda x: averaged([x]) + averaged({"a": x}.values()) + first(iter([x])) + last({"a": x}.values()))(table)
vmap(lambda x: items({"a": x}.items()) + items([("b", x)]))(table)
vmap(lambda x: pairs(zip([x], [x], strict=True)) + pairs([(x, x)]))(table)
vmap(lambda x: added(reversed([x])) + added(map(Tensor.neg, [x])) + next(powers(x, 1)), out_axes=1)(table)


# --- the keys of a dict are sorted, not its values
class Weights(TypedDict):
    w: Tensor
    b: Tensor


def by_key(p: dict[str, Tensor], q: Weights) -> Tensor:
    s = Tensor(0.0)
    for k in sorted(p):
        s = s + p[k] * len(min(p)) + q["w"]
    for _, v in sorted(p.items()):
        s = s + v
    return s * len(sorted(q)) * len(max(p.keys()))


vmap(by_key)({"a": table, "b": table}, {"w": table, "b": table})

# --- a type variable of tensors and numbers
N = TypeVar("N", Tensor, float)


def squared(x: N) -> N:
    return x * x


vmap(lambda x: squared(x) * squared(2.0))(table)
