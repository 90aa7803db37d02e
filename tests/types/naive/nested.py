"""Trees of tensors without brands: types that contain themselves, and classes with static fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from tinygrad import Tensor

from branded import static, tree, vmap

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


def scaled(t: Params) -> Tensor:
    return t / t.max().item() if isinstance(t, Tensor) else Tensor(0.0)  # E: item: a value that varies over "x"


if table.ndim == 3:
    vmap(lambda x: scaled([x]) + scaled(x))(table)


# --- static fields keep their values
@dataclass(frozen=True)
class Filled:
    w: Tensor
    n: Annotated[int, static]

    def filled(self) -> Tensor:
        return Tensor.cat(self.w, Tensor.ones(self.n))


made = vmap(lambda w: Filled(w, 2))(table)
assert vmap(lambda p: p.w, in_axes=(Filled(1, 2),))(made).tolist() == [[1.0, 3.0], [2.0, 4.0]]
assert (vmap(lambda p: p.filled())(tree.map(Tensor.neg, made)) + Tensor.ones(2, 4)).shape == (2, 4)
