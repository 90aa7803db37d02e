"""Linear regression with dataclasses: per-example gradients, clipping, and partials of stored maps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from branded import grad, vmap
from tinygrad import Tensor

ROWS, WIDTH, MODELS = 6, 3, 4


@dataclass(frozen=True)
class Params:
    w: Tensor
    b: Tensor


@dataclass(frozen=True)
class Batch:
    x: Tensor
    y: Tensor

    @property
    def weights(self) -> Tensor:
        return self.y.abs() + 1.0


def predict(p: Params, x: Tensor) -> Tensor:
    return (p.w * x).sum() + p.b  # key: return (p.weight * x).sum() + p.b


def loss(p: Params, x: Tensor, y: Tensor) -> Tensor:
    error = predict(p, x) - y
    return error.square()  # if: return error.square() if error > 0 else -error


def clipped(g: Params, top: float = 1.0) -> Params:
    norm = (g.w.square().sum() + g.b.square()).sqrt()
    scale = (top / (norm + 1e-6)).clip(0, 1)  # read: scale = min(1.0, top / (norm.item() + 1e-6))
    return replace(g, w=g.w * scale, b=g.b * scale)


def example_gradient(p: Params, x: Tensor, y: Tensor) -> Params:
    return clipped(grad(loss)(p, x, y))


per_example = vmap(example_gradient, in_axes=(None, 0, 0))  # none: per_example = vmap(example_gradient)
predict_all = vmap(predict, in_axes=(None, 0))  # none: predict_all = vmap(predict)


def step(p: Params, batch: Batch, rate: float = 0.1) -> Params:
    g = per_example(p, batch.x, batch.y)
    return Params(p.w - rate * g.w.mean(axis=0), p.b - rate * g.b.mean())  # axis: return Params(p.w - rate * g.w.mean(axis=1), p.b - rate * g.b.mean())


def fit(p: Params, batch: Batch, steps: int = 2) -> Params:
    for _ in range(steps):
        p = step(p, batch)
    return p


batch = Batch(Tensor.arange(ROWS * WIDTH).reshape(ROWS, WIDTH).float() * 0.1, Tensor.arange(ROWS).float())
start = Params(Tensor.ones(WIDTH), Tensor(0.5))
fitted = fit(start, batch)
score = partial(predict_all, fitted)
scores = score(batch.x)  # axis: scores = score(batch.x.T)
ensemble = Params(Tensor.arange(MODELS * WIDTH).reshape(MODELS, WIDTH).float(), Tensor.zeros(MODELS))
starts = vmap(partial(fit, batch=batch))(ensemble)  # none: starts = vmap(fit)(ensemble, batch)
table = vmap(lambda p: predict_all(p, batch.x), out_axes=1)(ensemble)  # out: table = vmap(lambda p: predict_all(p, batch.x))(ensemble)
losses = vmap(lambda p: vmap(partial(loss, p))(batch.x, batch.y))(ensemble)  # zip: losses = vmap(loss)(ensemble, batch.x, batch.y)
weighted = vmap(lambda l, w: (l * w).sum(), in_axes=(0, None))(losses, batch.weights)  # none: weighted = vmap(lambda l, w: (l * w).sum())(losses, batch.weights)
result = scores, starts.w, table, losses, weighted
assert table.shape == (ROWS, MODELS)
