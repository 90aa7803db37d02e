"""Classes that contain themselves, without brands."""

from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from tinygrad import Tensor

from branded import jit, scan, vmap


# --- lists, dicts and options of the class itself
@dataclass
class Tree:
    x: Tensor
    children: list["Tree"] = field(default_factory=list)


@dataclass
class Link:
    x: Tensor
    next: Optional["Link"] = None


class Pair(NamedTuple):
    x: Tensor
    more: tuple["Pair", ...] = ()


@dataclass
class A:
    x: Tensor
    b: Optional["B"] = None


@dataclass
class B:
    y: Tensor
    a: list[A] = field(default_factory=list)


@dataclass
class Keyed:
    x: Tensor
    parts: dict[str, "Keyed"] = field(default_factory=dict)


def total(t: Tree) -> Tensor:
    s = t.x * 2
    for c in t.children:
        s = s + total(c)
    return s


def length(n: Link) -> Tensor:
    return n.x if n.next is None else n.x + length(n.next)


def both(a: A) -> Tensor:
    return a.x + (a.b.y if a.b is not None else 0)


def keyed(k: Keyed) -> Keyed:
    return Keyed(k.x * 2, {n: keyed(p) for n, p in k.parts.items()})


X = Tensor.ones(3, 4)
tree = Tree(X, [Tree(X), Tree(X, [Tree(X)])])
sums = vmap(total)(tree) + vmap(lambda t: total(t))(tree)
lengths: Tensor = vmap(length)(Link(X, Link(X)))
pairs = vmap(lambda p: p.x * 2)(Pair(X, (Pair(X),)))
joined: Tensor = vmap(both)(A(X, B(X)))
doubled: Keyed = vmap(keyed)(Keyed(X, {"a": Keyed(X)}))
compiled: Tensor = jit(total)(tree)
carried = scan(lambda c, x: (Link(c.x + x, c.next), x), Link(X[0]), X)
shared: Tensor = vmap(lambda x: total(tree) + x)(X)
made = vmap(lambda x: Tree(x, [Tree(x)]))(X)
