"""Trees whose type contains itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, TypedDict, Union

from tinygrad import Tensor

from branded import Vec, grad, scan, tree, vmap
from branded.typing import S

# --- the leaves of nested lists are counted

Nested = Union["Vec[S]", float, "Sequence[Nested[S]]"]


def count(x: "Nested[S]") -> int:
    return len(tree.leaves(x))


assert count([1.0, [Tensor([1.0, 2.0]), [Tensor([3.0])]]]) == 3


# --- a tree of nodes has the leaves of all nodes


@dataclass
class Node:
    value: Tensor
    below: Optional["Node"] = None


node = Node(Tensor([1.0, 2.0]), Node(Tensor([3.0, 4.0])))
assert len(tree.leaves(node)) == 2
doubled = vmap(lambda x: x * 2)(node.value)


# --- a dict that may hold a dict of its own type passes through every transform


class Params(TypedDict, total=False):
    w: Tensor
    inner: "Params"


def loss(p: Params) -> Tensor:
    return (p["w"] * 2).sum()


params: Params = {"w": Tensor([1.0, 2.0]), "inner": {"w": Tensor([3.0, 4.0])}}
scaled = vmap(lambda p: tree.map(lambda x: x * 2, p))(params)
both = vmap(lambda a: [params, a])(Tensor([1.0, 2.0]))
assert vmap(lambda p: p["w"] * 2)(params).shape == (2,)
assert grad(loss)(params)["w"].tolist() == [2.0, 2.0]
carry, _ = scan(lambda p, x: (p, x), params, Tensor([1.0, 2.0]))
assert tree.map(lambda x, y: x + y, params, params)["w"].tolist() == [2.0, 4.0]
