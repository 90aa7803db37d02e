"""A recurrent network over padded sequences of different lengths, and a beam of its outputs."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeAlias

from branded import Vec, associative_scan, scan, vmap
from branded.typing import S, S1, S_co
from tinygrad import Tensor

Sequence: TypeAlias = Tensor


class Cell(NamedTuple):
    inner: Tensor
    outer: Tensor
    bias: Tensor

    def __call__(self, state: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
        return (state @ self.inner + x @ self.outer + self.bias).tanh()  # brand: return (state @ self.inner + x @ self.outer + self.bias).tanh().numpy()


class Last(NamedTuple, Generic[S_co]):
    state: Vec[S_co]
    length: Vec[S_co]


def run(cell: Cell, xs: Sequence, length: Tensor) -> Last:
    def step(state: Tensor, at: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, i = at
        after = cell(state, x)
        kept = (i < length).where(after, state)  # if: kept = after if i < length else state
        return kept, kept.sum()

    places = Tensor.arange(xs.shape[0])
    state, _ = scan(step, Tensor.zeros(cell.bias.shape[0]), (xs, places))
    return Last(state, length)  # key: return Last(state, len=length)


def total(last: Last[S]) -> Vec[S]:
    return last.state.sum() / last.length  # read: return last.state.sum() / int(last.length)


def running(xs: Sequence) -> Tensor:
    return associative_scan(lambda a, b: a + b, xs)


def top(scores: Vec[S], k: int) -> tuple[Vec[S], Vec[S]]:
    values, places = scores.topk(k)
    return values, places  # read: return values.numpy(), places


def logits(last: Last[S], table: Tensor) -> Vec[S]:
    return table @ last.state


cell = Cell(Tensor.eye(3) * 0.5, Tensor.arange(6).reshape(2, 3).float() * 0.1, Tensor.zeros(3))
batch = Tensor.arange(24).reshape(3, 4, 2).float().cos()
lengths = Tensor([4, 2, 3])
ends = vmap(run, in_axes=(None, 0, 0))(cell, batch, lengths)  # none: ends = vmap(run, in_axes=(0, 0, 0))(cell, batch, lengths)
totals = vmap(total)(ends)
sums = vmap(running)(batch)
table = Tensor.arange(15).reshape(5, 3).float().sin()
beams, places = vmap(lambda e: top(logits(e, table), 2))(ends)
back = vmap(lambda xs: xs.flip(0), out_axes=1)(batch)  # out: back = vmap(lambda xs: xs.flip(0), out_axes=1.0)(batch)
peaks = vmap(lambda s: s.max() - s.min())(sums)  # read: peaks = vmap(lambda s: s.max().item() - s.min().item())(sums)
result = ends.state, totals, sums, beams, places, back.permute(1, 0, 2), peaks
