"""The forward algorithm of a hidden Markov model: NamedTuples, scan, and sequences in one batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from branded import scan, vmap
from tinygrad import Tensor

STATES, SYMBOLS, STEPS, SEQUENCES = 3, 4, 5, 2


class Model(NamedTuple):
    start: Tensor
    move: Tensor
    emit: Tensor


class Carry(NamedTuple):
    alpha: Tensor
    total: Tensor


def normalized(x: Tensor) -> tuple[Tensor, Tensor]:
    size = x.sum()
    return x / size, size.log()


def forward(model: Model, symbols: Tensor) -> Tensor:
    def step(carry: Carry, symbol: Tensor) -> tuple[Carry, Tensor]:
        seen = model.emit[:, symbol]  # read: seen = model.emit[:, int(symbol.item())]
        alpha, size = normalized((carry.alpha @ model.move) * seen)
        return Carry(alpha, carry.total + size), alpha  # key: return Carry(alpha, carry.sum + size), alpha

    alpha, size = normalized(model.start * model.emit[:, symbols[0]])
    last, _ = scan(step, Carry(alpha, size), symbols[1:])
    return last.total


def posterior(model: Model, symbols: Tensor) -> Tensor:
    first = model.start * model.emit[:, symbols[0]]

    def step(alpha: Tensor, symbol: Tensor) -> tuple[Tensor, Tensor]:
        alpha = normalized((alpha @ model.move) * model.emit[:, symbol])[0]
        return alpha, alpha

    last, history = scan(step, normalized(first)[0], symbols[1:])
    if history.shape[0] == 0:  # if: if history.sum() == 0:
        return last
    return history


def best(f: Callable[[Tensor], Tensor], xs: Tensor) -> Tensor:
    return vmap(f)(xs).argmax()


model = Model(
    Tensor.ones(STATES) / STATES,
    (Tensor.arange(STATES * STATES).reshape(STATES, STATES).float() + 1).softmax(axis=1),
    (Tensor.arange(STATES * SYMBOLS).reshape(STATES, SYMBOLS).float() % 3 + 1).softmax(axis=1),
)
symbols = Tensor.arange(SEQUENCES * STEPS).reshape(SEQUENCES, STEPS) % SYMBOLS
likelihoods = vmap(forward, in_axes=(None, 0))(model, symbols)  # none: likelihoods = vmap(forward)(model, symbols)
paths = vmap(posterior, in_axes=(None, 0), out_axes=1)(model, symbols)  # out: paths = vmap(posterior, in_axes=(None, 0))(model, symbols)
winner = best(lambda s: forward(model, s), symbols)  # axis: winner = best(lambda s: (s * Tensor.ones(SEQUENCES)).sum(), symbols)
models = Model(model.start.expand(4, STATES), vmap(lambda s: model.move * s)(Tensor.arange(4).float() + 1), model.emit)
variants = vmap(forward, in_axes=(Model(0, 0, None), None))(models, symbols[0])  # none: variants = vmap(forward, in_axes=(0, None))(models, symbols[0])
table = vmap(lambda m, e: vmap(lambda s: forward(Model(model.start, m, e), s))(symbols), in_axes=(0, None))(models.move, model.emit)  # zip: table = vmap(lambda m, s: forward(Model(model.start, m, model.emit), s))(models.move, symbols)
history = vmap(lambda s: posterior(model, s))(symbols)
usage = vmap(lambda h: h.mean(axis=0))(history)
shares = vmap(lambda u, start: u / start, in_axes=(0, None))(usage, model.start)  # none: shares = vmap(lambda u, start: u / start)(usage, model.start)
tops = vmap(lambda u: u.max())(usage).tolist()  # read: tops = vmap(lambda u: u.max().tolist())(usage)
result = likelihoods, paths, winner, variants, table, shares
assert len(tops) == SEQUENCES
