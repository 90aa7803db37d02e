"""An ensemble of modules: Protocols, generic containers, functional_call and stack_module_state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from branded import grad, vmap
from branded.nn.modules import functional_call, stack_module_state
from tinygrad import Tensor, nn
from tinygrad.nn.state import get_state_dict

INPUTS, HIDDEN, EXAMPLES, MEMBERS = 4, 8, 5, 3


class Module(Protocol):
    def __call__(self, x: Tensor, /) -> Tensor: ...


M = TypeVar("M", bound=Module)


class Mlp:
    def __init__(self, width: int = HIDDEN) -> None:
        self.hidden = nn.Linear(INPUTS, width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, 2)

    def __call__(self, x: Tensor, /) -> Tensor:
        h = self.norm(self.hidden(x).relu())
        if h.ndim == 0:  # if: if h.max() == 0:
            return h
        return self.out(h)  # key: return self.output(h)


class Ensemble(Generic[M]):
    def __init__(self, members: Sequence[M]) -> None:
        self.members = list(members)
        self.state = stack_module_state(self.members)

    def one(self, state: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(self.members[0], state, x)

    def __call__(self, xs: Tensor) -> Tensor:
        return vmap(self.one, in_axes=(0, None))(self.state, xs)  # none: return vmap(self.one)(self.state, xs)

    def spread(self, xs: Tensor) -> Tensor:
        return self(xs).std(axis=0).mean()  # read: return Tensor(vmap(lambda s: self.one(s, xs).std().item())(self.state))

    def each(self, xs: Tensor) -> Tensor:
        return vmap(lambda x: self(x), out_axes=1)(xs)  # out: return vmap(lambda x: self(x))(xs)


def energy(state: dict[str, Tensor], model: Module, x: Tensor, y: Tensor) -> Tensor:
    return (functional_call(model, state, x) - y).square().mean()


Tensor.manual_seed(1)
ensemble = Ensemble([Mlp() for _ in range(MEMBERS)])
xs = Tensor.arange(EXAMPLES * INPUTS).reshape(EXAMPLES, INPUTS).float() * 0.1
ys = Tensor.arange(EXAMPLES * 2).reshape(EXAMPLES, 2).float()
outputs = ensemble(xs)
each = ensemble.each(xs)
first = ensemble.members[0]
state = get_state_dict(first)
gradients = vmap(grad(lambda s, x, y: energy(s, first, x, y)), in_axes=(None, 0, 0))(state, xs, ys)  # none: gradients = vmap(grad(lambda s, x, y: energy(s, first, x, y)))(state, xs, ys)
norms = vmap(lambda g: g.square().sum().sqrt())(gradients["out.weight"])  # if: norms = vmap(lambda g: g.square().sum().sqrt() if g.sum() else g.sum())(gradients["out.weight"])
biases = ensemble.state["hidden.bias"]
scaled = vmap(lambda b, w: b * w)(biases, Tensor.arange(MEMBERS).float())  # axis: scaled = vmap(lambda b, w: b * w)(biases, Tensor.arange(EXAMPLES).float())
projected = vmap(lambda w, x: w @ x, in_axes=(0, None))(ensemble.state["hidden.weight"], xs[0])  # none: projected = vmap(lambda w, x: w @ x)(ensemble.state["hidden.weight"], xs[0])
picked = vmap(lambda s: vmap(lambda x: ensemble.one(s, x))(xs))(ensemble.state)  # zip: picked = vmap(lambda s, x: ensemble.one(s, x))(ensemble.state, xs)
residuals = vmap(lambda o, y: o - y, in_axes=(0, None))(outputs, ys)  # none: residuals = vmap(lambda o, y: o - y)(outputs, ys)
result = outputs, each, norms, scaled, projected, picked, residuals, ensemble.spread(xs)
