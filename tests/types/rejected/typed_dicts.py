"""Dicts that are not the declared TypedDicts, and reads of their values."""

from typing import NotRequired, TypedDict

from tinygrad import Tensor

from branded import Axes, Brand, grad, jvp, vjp, vmap


class Users(Brand): ...


class Items(Brand): ...


class Features(Brand): ...


w, x = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor([[1.0, 0.0], [0.0, 1.0]])


# --- dicts that are not the declared TypedDict, and reads of their values
class Example(TypedDict):
    x: Tensor
    y: Tensor


def distance(row: Example) -> Tensor:
    return (row["x"] - row["y"]).square().sum()


def read(row: Example) -> Tensor:
    return row["x"].sum() * row["y"].sum().item()  # E: item: a value that varies over "a"


vmap(lambda a: grad(distance)({"x": a, "z": w}))(X)  # E: Argument 1 to "distance" has incompatible type
vmap(lambda a: grad(distance)({"x": a, "y": w, "z": w}))(X)  # E: Argument 1 to "distance" has incompatible type
grad(distance)({"x": x, "y": "no"})  # E: grad: argument 1['y'] is a str, and only floats
jvp(distance, ({"x": x},), ({"x": x},))  # E: Argument 1 to "distance" has incompatible type "dict[str, Tensor]"
vjp(distance, {"x": x})  # E: Argument 1 to "distance" has incompatible type "dict[str, Tensor]"
vmap(lambda a: grad(distance)({"x": a, "y": w})["x"].tolist())(X)  # E: tolist: a value that varies over "a"
vmap(lambda a: grad(read)({"x": w, "y": a}))(X)


# --- a stored vmap with a TypedDict: the axes and the keys of one layer
class Layer(TypedDict):
    w: Axes[Features]
    b: Axes[()]


def layer(p: Layer, x: Tensor) -> Tensor:
    return (x * p["w"]).sum() + p["b"]


def of_layers(w: Axes[Items, Features], b: Axes[Items], x: Axes[Features]) -> None:
    layers = vmap(layer, in_axes=(0, None))
    layers({"w": w, "b": w}, x)  # E: TypedDict item "b" has type "Axes[Any]"
    layers({"w": w}, x)  # E: Expected TypedDict keys ("w", "b") but found only key "w"


# --- a str under a key that may be missing, and that in_axes maps
class Named(TypedDict):
    w: Tensor
    name: NotRequired[str]


def named(n: Named) -> Tensor:
    return n["w"].sum()


def of_named(n: Named) -> None:
    vmap(named, in_axes=({"w": 0, "name": 0},))(n)  # E: in_axes: argument 1['name'] is a str
