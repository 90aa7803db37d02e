"""Trees whose type contains itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

from tinygrad import Tensor

from branded import Vec, tree, vmap
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
