"""Dicts as arguments that are declared as TypedDicts, of transformed functions."""

from typing import NotRequired, TypedDict

from tinygrad import Tensor

from branded import Axes, Brand, as_axes, grad, jvp, value_and_grad, vjp, vmap


class Users(Brand): ...


class Items(Brand): ...


class Features(Brand): ...


X = as_axes(Tensor.ones(4, 3), Users, Features)
Y = as_axes(Tensor.ones(2, 3), Items, Features)
u = as_axes(Tensor.ones(4), Users)
w = as_axes(Tensor.ones(3), Features)


# --- a dict as an argument that is declared as a TypedDict
class Example(TypedDict):
    x: Tensor
    y: Tensor


class OneExample(TypedDict):
    example: Example
    weight: float


def squared_error(w: Tensor, row: Example) -> Tensor:
    return ((w * row["x"]).sum() - row["y"]).square()


def distance(row: Example) -> Tensor:
    return (row["x"] - row["y"]).square().sum()


def weighted(row: OneExample) -> Tensor:
    return distance(row["example"]) * row["weight"]


weights, points, labels = Tensor([1.0, 2.0]), Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 2.0])
assert grad(squared_error)(weights, {"x": points[0], "y": labels[0]}).tolist() == [8.0, 16.0]
slopes: Example = grad(distance)({"x": weights, "y": points[1]})
assert slopes["x"].tolist() == [-4.0, -4.0]
assert vmap(squared_error, in_axes=(None, 0))(weights, {"x": points, "y": labels}).tolist() == [16.0, 81.0]
assert vmap(grad(squared_error), in_axes=(None, 0))(weights, {"x": points, "y": labels}).shape == (2, 2)
value, slope = vmap(lambda x, y: value_and_grad(squared_error)(weights, {"x": x, "y": y}))(points, labels)
assert value.tolist() == [16.0, 81.0] and slope.shape == (2, 2)
nested = vmap(lambda x: grad(weighted)({"example": {"x": x, "y": weights}, "weight": 2.0})["example"]["x"])(points)
assert nested.tolist() == [[0.0, 0.0], [8.0, 8.0]]
moved = vmap(lambda x: jvp(distance, ({"x": x, "y": weights},), ({"x": weights, "y": weights},))[1])(points)
assert moved.tolist() == [0.0, 0.0]
assert vmap(lambda x: vjp(distance, {"x": x, "y": weights})[0])(points).tolist() == [0.0, 8.0]


# --- a stored vmap, and a plain function, with a TypedDict of axes
class Layer(TypedDict):
    w: Axes[Features]
    b: Axes[()]


def layer(p: Layer, x: Tensor) -> Tensor:
    return (x * p["w"]).sum() + p["b"]


def product(row: Example) -> Tensor:
    return (row["x"] * row["y"]).sum()


layers = vmap(layer, in_axes=({"w": 0, "b": 0}, None))
assert layers({"w": X, "b": u}, w).tolist() == [4.0] * 4
assert vmap(lambda x: layers({"w": X, "b": u}, x))(Y).shape == (2, 4)
assert vmap(lambda x, n: product({"x": x, "y": n}))(X, u).tolist() == [3.0] * 4


# --- nested displays, in which each item varies over brands of its own
class Network(TypedDict):
    first: Layer
    scale: Tensor


def network(n: Network, x: Tensor) -> Tensor:
    return layer(n["first"], x) * n["scale"]


def shown(b: Tensor) -> Tensor:
    return network({"first": {"w": w, "b": b}, "scale": b.square()}, w)


assert vmap(lambda b: network({"first": {"w": w, "b": b}, "scale": u[0]}, w))(u).shape == (4,)
assert vmap(lambda b: network({"first": {"w": w, "b": u[0]}, "scale": b}, w))(u).shape == (4,)
assert vmap(shown)(u).shape == (4,)


# --- a key that may be missing has a type without axes
class Named(TypedDict):
    example: Example
    name: NotRequired[str]


def named(n: Named, x: Tensor) -> Tensor:
    return distance(n["example"]) * x.sum()


nameless: Named = {"example": {"x": weights, "y": points[1]}}
several: Named = {"example": {"x": points, "y": points * 2}}
assert vmap(lambda n: named(n, weights))(several).shape == (2,)
assert vmap(named, in_axes=(None, 0))(nameless, points).shape == (2,)
assert vmap(lambda n: n)(several)["example"]["x"].shape == (2, 2)
assert grad(named)(nameless, weights)["example"]["x"].shape == (2,)


# --- a dict that is mapped in part, by a function that vmap returns
class Weights(TypedDict):
    w: Tensor
    b: Tensor
    scale: NotRequired[Tensor]


def weighed(p: Weights, x: Tensor) -> Tensor:
    return (p["w"] * x).sum() + p["b"]


def weighed_by_each(p: Weights, xs: Tensor) -> Tensor:
    by_example = vmap(weighed, in_axes=(None, 0))
    return vmap(by_example, in_axes=({"w": 0, "b": None}, None))(p, xs)


assert weighed_by_each({"w": Tensor.ones(2, 3), "b": Tensor(0.0)}, Tensor.ones(4, 3)).shape == (2, 4)
