"""Fits with branded.optim: a state for each model of a batch, and a schedule."""

from __future__ import annotations

from typing import NamedTuple

from branded import grad, jit, optim, tree, vmap
from tinygrad import Tensor


class Line(NamedTuple):
    slope: Tensor
    offset: Tensor


def loss(line: Line, xs: Tensor, ys: Tensor) -> Tensor:
    error = line.slope * xs + line.offset - ys  # key: error = line.gradient * xs + line.offset - ys
    return error.square().mean()


def fit(xs: Tensor, ys: Tensor, rate: Tensor, steps: int = 5) -> Line:
    line = Line(Tensor(0.0), Tensor(0.0))
    for _ in range(steps):
        slopes = grad(loss)(line, xs, ys)
        line = Line(line.slope - rate * slopes.slope, line.offset - rate * slopes.offset)  # read: line = Line(line.slope - rate.item() * slopes.slope, line.offset)
    return line


def by_adam(xs: Tensor, ys: Tensor, steps: int = 5) -> tuple[Tensor, Tensor]:
    rule = optim.adam(0.1)
    line = Line(Tensor(0.0), Tensor(0.0))
    state = rule.init(line)
    for _ in range(steps):
        slopes = grad(loss)(line, xs, ys)
        updates, state = rule.update(slopes, state, line)
        line = optim.apply_updates(line, updates)
    return line.slope, line.offset


def residual(line: Line, x: Tensor, y: Tensor) -> Tensor:
    return line.slope * x + line.offset - y


def halved(line: Line) -> Line:
    return tree.map(lambda leaf: leaf / 2, line)


xs = Tensor.arange(12).reshape(3, 4).float() * 0.1
ys = 2 * xs + Tensor([[1.0], [0.0], [-1.0]])
rates = Tensor([0.1, 0.2, 0.3])
lines = jit(vmap(fit))(xs, ys, rates)
every = vmap(lambda r: vmap(lambda x, y: fit(x, y, r))(xs, ys))(rates)  # zip: every = vmap(lambda r, x, y: fit(x, y, r))(rates, xs, ys)
slopes, offsets = vmap(by_adam)(xs, ys)
errors = vmap(vmap(residual, in_axes=(None, 0, 0)))(lines, xs, ys)  # none: errors = vmap(vmap(residual))(lines, xs, ys)
small = vmap(halved)(lines)
best = vmap(lambda e: e.abs().max())(errors)  # read: best = vmap(lambda e: max(e.abs().tolist()))(errors)
signs = vmap(lambda s: (s > 0).where(1.0, -1.0))(slopes)  # if: signs = vmap(lambda s: 1.0 if bool(s > 0) else -1.0)(slopes)
result = lines.slope, every.offset, slopes, offsets, errors, small.slope, best, signs
