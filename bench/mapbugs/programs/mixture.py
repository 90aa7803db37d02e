"""A mixture of experts: every expert for every example, weighted by a gate."""

from typing import TypedDict

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Examples(Brand): ...


class Experts(Brand): ...


class Inputs(Brand): ...


N, E, I = 5, 3, 4


class Parameters(TypedDict):
    gate: Tensor
    experts: Tensor


def gate(p: Parameters, x: Tensor) -> Tensor:
    """The weights of the experts for one example."""
    return (p["gate"] @ x).softmax(axis=0)


def outputs(p: Parameters, x: Tensor) -> Tensor:
    return vmap(lambda w: (w * x).sum())(p["experts"])  # axis: return vmap(lambda w: (w * x).sum(), in_axes=1)(p["experts"])


def mixed(p: Parameters, x: Tensor) -> Tensor:
    return (gate(p, x) * outputs(p, x)).sum()


def run(p: Parameters, X: Tensor) -> Tensor:
    return vmap(lambda x: mixed(p, x))(X)  # none: return vmap(mixed)(p, X)


def load(p: Parameters, X: Tensor) -> Tensor:
    """How much each expert is used."""
    return vmap(gate, in_axes=(None, 0))(p, X).mean(axis=0)  # none: return vmap(gate, in_axes=(0, 0))(p, X).mean(axis=0)


X = as_axes(Tensor.arange(N * I).reshape(N, I).float() * 0.1, Examples, Inputs)
p = Parameters(
    gate=as_axes(Tensor.arange(E * I).reshape(E, I).float() * 0.1, Experts, Inputs),
    experts=as_axes(Tensor.arange(E * I).reshape(E, I).float() * 0.2, Experts, Inputs),
)
y = run(p, X)  # axis: y = run(p, X.T)
table = vmap(lambda x: outputs(p, x), out_axes=1)(X)  # out: table = vmap(lambda x: outputs(p, x))(X)
share = load(p, X) * table.mean(axis=1)  # axis: share = load(p, X) * table.mean(axis=0)
pairs = vmap(lambda w: vmap(lambda x: (w * x).sum())(X))(p["experts"])  # zip: pairs = vmap(lambda w, x: (w * x).sum())(p["experts"], X)
result = y, table, share, pairs
assert table.shape == (E, N)
