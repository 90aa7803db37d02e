"""Experiments by configuration: enums, match statements, a registry, hyperparameters over one vmap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, assert_never, overload

from branded import Brand, optim, pmean, psum, vmap
from branded import value_and_grad as with_grad
from tinygrad import Tensor


class Runs(Brand): ...


class Loss(Enum):
    SQUARE = auto()
    ABSOLUTE = auto()
    HUBER = auto()


class Init(str, Enum):
    ZEROS = "zeros"
    ONES = "ones"


@dataclass(frozen=True, kw_only=True)
class Config:
    loss: Loss = Loss.SQUARE
    init: Init = Init.ZEROS
    steps: int = 2
    optimizer: Literal["sgd", "adam"] = "sgd"
    extra: Mapping[str, float] = field(default_factory=dict)


def error(kind: Loss, gap: Tensor) -> Tensor:
    match kind:
        case Loss.SQUARE:
            return gap.square().mean()
        case Loss.ABSOLUTE:
            return gap.abs().mean()
        case Loss.HUBER:
            return (gap.abs() < 1).where(gap.square() / 2, gap.abs() - 0.5).mean()  # if: return gap.square().mean() / 2 if gap.abs().max() < 1 else gap.abs().mean()
        case _:
            assert_never(kind)


def initial(kind: Init, size: int) -> Tensor:
    match kind:
        case Init.ZEROS:
            return Tensor.zeros(size)
        case Init.ONES:
            return Tensor.ones(size)  # axis: return Tensor.ones(size + 1)


@overload
def predict(w: Tensor, x: Tensor, clip: None = None) -> Tensor: ...
@overload
def predict(w: Tensor, x: Tensor, clip: float) -> Tensor: ...
def predict(w: Tensor, x: Tensor, clip: float | None = None) -> Tensor:
    out = (w * x).sum()  # axis: out = (w * x).sum(axis=1)
    return out if clip is None else out.clip(-clip, clip)


REGISTRY: dict[str, Callable[[Tensor], optim.GradientTransformation]] = {}


def register(name: str) -> Callable[[Callable[[Tensor], optim.GradientTransformation]], Callable[[Tensor], optim.GradientTransformation]]:
    def add(f: Callable[[Tensor], optim.GradientTransformation]) -> Callable[[Tensor], optim.GradientTransformation]:
        REGISTRY[name] = f
        return f

    return add


@register("sgd")
def plain(rate: Tensor) -> optim.GradientTransformation:
    return optim.sgd(rate)  # read: return optim.sgd(rate.item())


@register("adam")
def moments(rate: Tensor) -> optim.GradientTransformation:
    return optim.adam(rate)  # read: return optim.adam(float(rate))


def train(config: Config, rate: Tensor, X: Tensor, y: Tensor) -> Tensor:
    opt = REGISTRY[config.optimizer](rate)
    w = initial(config.init, X.shape[1])
    state = opt.init(w)

    def loss(w: Tensor) -> Tensor:
        out = vmap(predict, in_axes=(None, 0))(w, X)  # none: out = vmap(predict)(w, X)
        return error(config.loss, out - y)  # axis: return error(config.loss, out - y.unsqueeze(1) + X)

    for _ in range(config.steps):
        value, g = with_grad(loss)(w)
        updates, state = opt.update(g, state, w)
        w = optim.apply_updates(w, updates)
    return w


seen: list[Tensor] = []
X = Tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [2.0, 0.0, 1.0]])
y = Tensor([1.0, 2.0, 0.5, 0.0])
rates = Tensor([0.01, 0.1])
configs = [Config(), Config(loss=Loss.HUBER, init=Init.ONES), Config(loss=Loss.ABSOLUTE, optimizer="adam")]
fits = [vmap(lambda r, c=c: train(c, r, X, y))(rates) for c in configs]  # axis: fits = [vmap(lambda r, c=c: train(c, r, X.T, y))(rates) for c in configs]
first, second, third = fits
fixed = vmap(lambda r, x: train(Config(steps=1), r, x, y), in_axes=(0, None))(rates, X)  # none: fixed = vmap(lambda r, x: train(Config(steps=1), r, x, y))(rates, X)
table = vmap(lambda w: vmap(lambda x: predict(w, x, 1.0))(X))(first)  # zip: table = vmap(lambda w, x: predict(w, x, 1.0))(first, X)
mean = vmap(lambda w: w - pmean(w, Runs), axis_name=Runs)(second)  # name: mean = vmap(lambda w: w - pmean(w, Runs), axis_name="runs")(second)
total = vmap(lambda w: psum(w.square().sum(), Runs), axis_name=Runs, out_axes=None)(third)  # out: total = vmap(lambda w: w.square().sum(), axis_name=Runs, out_axes=None)(third)
worst = vmap(lambda row: (row - y).abs().max())(table)
column = vmap(lambda c, t: (c - t).square().mean(), in_axes=(1, 0))(table, y)  # axis: column = vmap(lambda c, t: (c - t).square().mean())(table, y)
chosen = vmap(lambda w, e: (e < 1).where(w, 0 * w))(first, worst)  # if: chosen = vmap(lambda w, e: w if e < 1 else 0 * w)(first, worst)
gains = vmap(lambda a, b: (a - b).sum(), in_axes=(0, 0))(first, fixed)
report = {c.loss.name: round(f.mean().item(), 3) for c, f in zip(configs, fits, strict=True)}  # read: report = {c.loss.name: vmap(lambda w: round(w.mean().item(), 3))(f) for c, f in zip(configs, fits, strict=True)}
matrix = vmap(lambda w: X @ w, out_axes=1)(second)
scaled = matrix * column.unsqueeze(1)  # out: scaled = vmap(lambda w: X @ w)(second) * column.unsqueeze(1)
result = first, second, third, fixed, table, mean, total, column, chosen, gains, scaled
