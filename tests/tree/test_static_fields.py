"""No transform maps the static fields of dataclasses and NamedTuples; they are part of the structure."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

import pytest
from tinygrad import Tensor

from branded import errors, grad, jit, scan, static, tree, vmap

if TYPE_CHECKING:
    from collections.abc import Hashable

pytestmark = pytest.mark.by_numpy

T = TypeVar("T")
Static = Annotated[T, static]
X = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@dataclass(frozen=True)
class Layer:
    w: Tensor
    name: Annotated[str, static]
    kind: Static[str] = "sin"
    n: int = field(default=2, metadata={"static": True})
    unknown: Annotated[Hashable, static] = None  # the annotation only matters to type checkers

    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor = getattr(self.w * x, self.kind)()
        return y * self.n


class Part(NamedTuple):
    name: Annotated[str, static]
    w: Tensor
    size: Static[int] = 3


@dataclass(frozen=True)
class Deeper(Layer):
    b: Any = 0.0


@dataclass
class Derived(Generic[T]):
    w: T
    scale: Annotated[float, static]

    def __post_init__(self) -> None:
        self.scaled = self.w * self.scale  # type: ignore[operator]


@dataclass(frozen=True)
class Empty:
    pass


def test_a_dataclass_without_fields_has_no_leaves() -> None:
    assert tree.leaves([Empty(), X]) == [X] and tree.map(lambda x: x, Empty()) == Empty()
    assert vmap(lambda parts: parts[1].sum(), in_axes=([None, 0],))([Empty(), X]).tolist() == [3.0, 7.0, 11.0]


@pytest.mark.parametrize("make", [lambda x: Layer(x, "a"), lambda x: Part("a", x), lambda x: Derived(x, 2.0)])
def test_static_fields_are_not_leaves(make: Any) -> None:
    t = make(X)
    assert [x.shape for x in tree.leaves(t)] == [(3, 2)]
    assert tree.map(lambda x: x.shape, make(X)).w == (3, 2) if not isinstance(t, Derived) else True
    mapped = vmap(lambda t: tree.map(lambda x: x * 2, t))(t)
    assert type(mapped) is type(t) and mapped.w.tolist() == (X * 2).tolist()
    names = [f.name for f in dataclasses.fields(t)] if dataclasses.is_dataclass(t) else t._fields
    assert all(getattr(mapped, n) == getattr(t, n) for n in names if n not in ("w", "scaled"))


def test_static_values_stay_python_values_in_vmap() -> None:
    assert vmap(lambda layer: layer(X[0]))(Layer(X, "a")).tolist() == ((X * X[0]).sin() * 2).tolist()
    made = vmap(lambda x: Layer(x * 2, "made", "cos", 5))(X)
    assert (made.name, made.kind, made.n, made.w.tolist()) == ("made", "cos", 5, (X * 2).tolist())


def test_inherited_static_fields() -> None:
    assert len(tree.leaves(Deeper(X, "a", b=X))) == 2
    assert vmap(lambda d: d.w + d.b)(Deeper(X, "a", b=X)).tolist() == (X * 2).tolist()


def test_derivatives_and_loops_keep_static_fields() -> None:
    g = grad(lambda layer: layer(X[0]).sum())(Layer(X[1], "a", "square"))
    assert (g.name, g.w.tolist()) == ("a", (4 * X[1] * X[0] * X[0]).tolist())
    out, _ = scan(lambda c, x: (Layer(c.w + x, c.name), None), Layer(X[0] * 0, "carry"), X)
    assert (out.name, out.w.tolist()) == ("carry", X.sum(0).tolist())


def test_structures_include_static_fields() -> None:
    one, two = Layer(X, "a"), Layer(X, "b")
    assert tree.structure(one) == tree.structure(Layer(X * 2, "a")) != tree.structure(two)
    assert repr(tree.structure(Part("a", X))) == "Structure(Part(w=*, name='a', size=3))"
    again = pickle.loads(pickle.dumps(tree.structure(one))).unflatten([X])
    assert again.name == "a" and again.w is X


def test_other_static_value_is_traced_again() -> None:
    traced = []

    @jit
    def call(layer: Layer, x: Tensor) -> Tensor:
        traced.append(layer.kind)
        return layer(x)

    for kind in ("neg", "square", "neg"):
        assert call(Layer(X[0], "a", kind), X[1]).tolist() == Layer(X[0], "a", kind)(X[1]).tolist()
    assert traced == ["neg", "square"]


def test_unhashable_static_value_is_rejected() -> None:
    with pytest.raises(errors.TreeError) as caught:
        tree.leaves(Layer(X, ["a"]))  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "tree: the static field `name` of Layer is a list, which has no hash",
        "  try: use a tuple, a str or another hashable value",
    ]
    assert tree.leaves(Layer(X, ("a",))) == [X]  # type: ignore[arg-type]


def test_static_tensor_is_rejected() -> None:
    with pytest.raises(errors.TreeError) as caught:
        vmap(lambda p: p.w)(Part(X, X))  # type: ignore[arg-type]
    assert str(caught.value).splitlines() == [
        "tree: the static field `name` of Part is a tensor",
        "  try: annotate it as name: Tensor",
    ]
    assert vmap(lambda p: p.w)(Derived(X, 1.0)).tolist() == X.tolist()


def test_map_over_different_static_fields() -> None:
    with pytest.raises(errors.TreeError) as caught:
        tree.map(lambda a, b: a, Part("a", X), Part("b", X))
    assert str(caught.value).splitlines()[:3] == [
        "tree.map: tree 2 has another structure than the first one",
        "  first:  (f32[3, 2], name='a', size=3)",
        "  tree 2: (f32[3, 2], name='b', size=3)",
    ]
