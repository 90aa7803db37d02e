"""Per-example gradients of a logistic regression with parameters in a dict."""

from branded import Brand, as_axes, grad, vmap
from tinygrad import Tensor


class Examples(Brand): ...


class Features(Brand): ...


N, F = 6, 3
Parameters = dict[str, Tensor]


def loss(p: Parameters, x: Tensor, y: Tensor) -> Tensor:
    return ((p["w"] * x).sum() + p["b"] - y).square()


def gradients(p: Parameters, X: Tensor, Y: Tensor) -> Parameters:
    return vmap(grad(loss), in_axes=(None, 0, 0))(p, X, Y)  # none: return vmap(grad(loss))(p, X, Y)


def losses(p: Parameters, X: Tensor, Y: Tensor) -> Tensor:
    return vmap(lambda x, y: loss(p, x, y))(X, Y)  # none: return vmap(lambda x: loss(p, x, Y))(X)


def sgd(p: Parameters, X: Tensor, Y: Tensor, rate: float = 0.01) -> Parameters:
    g = gradients(p, X, Y)
    return {
        "w": p["w"] - rate * g["w"].mean(axis=0),  # axis: "w": p["w"] - rate * g["w"].mean(axis=1),
        "b": p["b"] - rate * g["b"].mean(axis=0),
    }


X = as_axes(Tensor.arange(N * F).reshape(N, F).float() * 0.1, Examples, Features)
Y = as_axes(Tensor.arange(N).float(), Examples)
p = {"w": as_axes(Tensor.zeros(F), Features), "b": Tensor(0.0)}
for _ in range(2):
    p = sgd(p, X, Y)
before = losses(p, X, Y)  # axis: before = losses(p, X.T, Y)
result = before, p["w"], gradients(p, X, Y)["w"] * p["w"]  # axis: result = before, p["w"], gradients(p, X, Y)["w"].T * p["w"]
assert before.shape == (N,)
