"""Training with branded.optim: many learning rates, schedules, jit, and states in dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from branded import jit, optim, scan, tree, value_and_grad, vmap
from tinygrad import Tensor

EXAMPLES, WIDTH, RATES, STEPS = 6, 3, 4, 5
Params = dict[str, Tensor]


@dataclass(frozen=True)
class TrainState:
    params: Params
    opt: optim.OptState


def model(params: Params, x: Tensor) -> Tensor:
    return (params["w"] * x).sum() + params["b"]  # key: return (params.w * x).sum() + params["b"]


def loss(params: Params, xs: Tensor, ys: Tensor) -> Tensor:
    errors = vmap(model, in_axes=(None, 0))(params, xs) - ys  # none: errors = vmap(model)(params, xs) - ys
    return errors.square().mean()


def initial(scale: float = 0.0) -> Params:
    return {"w": Tensor.ones(WIDTH) * scale, "b": Tensor(0.0)}


def make_step(opt: optim.GradientTransformation, xs: Tensor, ys: Tensor) -> Callable[[TrainState], tuple[TrainState, Tensor]]:
    def step(state: TrainState) -> tuple[TrainState, Tensor]:
        value, grads = value_and_grad(loss)(state.params, xs, ys)
        updates, after = opt.update(grads, state.opt, state.params)
        return TrainState(optim.apply_updates(state.params, updates), after), value

    return step


def trained(rate: Tensor, xs: Tensor, ys: Tensor) -> tuple[Params, Tensor]:
    opt = optim.adam(rate)
    step = make_step(opt, xs, ys)
    first = TrainState(initial(), opt.init(initial()))
    last, losses = scan(lambda state, _: step(state), first, length=STEPS)
    return last.params, losses  # read: return last.params, Tensor(losses.tolist())


def final(rate: Tensor, xs: Tensor, ys: Tensor) -> Tensor:
    _, losses = trained(rate, xs, ys)
    return (losses[-1] < losses[0]).where(losses[-1], losses[0])  # if: return losses[-1] if losses[-1] < losses[0] else losses[0]


def epochs(xs: Tensor, size: int) -> Iterator[Tensor]:
    for start in range(0, EXAMPLES, size):
        yield xs[start : start + size]


xs = Tensor.arange(EXAMPLES * WIDTH).reshape(EXAMPLES, WIDTH).float() * 0.1
ys = Tensor.arange(EXAMPLES).float() * 0.3
rates = Tensor([0.001, 0.01, 0.1, 0.3])
params, losses = vmap(trained, in_axes=(0, None, None))(rates, xs, ys)  # none: params, losses = vmap(trained)(rates, xs, ys)
finals = vmap(final, in_axes=(0, None, None))(rates, xs, ys)  # none: finals = vmap(final, in_axes=(0, 0, 0))(rates, xs, ys)
curves = vmap(lambda c: c / c[0], out_axes=1)(losses)  # out: curves = vmap(lambda c: c / c[0])(losses)
relative = curves / finals
outputs = vmap(lambda p: vmap(lambda x: model(p, x))(xs))(params)  # zip: outputs = vmap(model)(params, xs)
residuals = vmap(lambda o, y: o - y, in_axes=(0, None))(outputs, ys)  # none: residuals = vmap(lambda o, y: o - y)(outputs, ys)
schedule = optim.cosine_decay_schedule(0.1, STEPS)
plan = vmap(schedule)(Tensor.arange(STEPS))
combined = vmap(lambda losses, rate: (losses * rate).sum(), in_axes=(0, None))(losses, plan)  # none: combined = vmap(lambda losses, rate: (losses * rate).sum())(losses, plan)
fast = jit(vmap(lambda p, r: tree.map(lambda leaf: leaf * r, p)))
shrunk = fast(params, rates)  # axis: shrunk = fast(params, ys)
best = finals.argmin().item()  # read: best = vmap(lambda f: f.argmin().item())(finals)
batches = [vmap(lambda x: x.square().sum())(part) for part in epochs(xs, 2)]
means = Tensor.stack(*[vmap(lambda v: v / 2)(b).mean() for b in batches])
starts = vmap(lambda s: loss(initial(), xs, ys) * s)(rates)  # if: starts = vmap(lambda s: loss(initial(), xs, ys) * s if s > 0.05 else s)(rates)
result = params["w"], losses, finals, relative, outputs, residuals, combined, shrunk["w"], starts, means
