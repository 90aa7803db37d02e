"""A vector index in the syntax of Python 3.12: generic classes, bounded functions, aliases and overrides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Never, Protocol, override

from branded import Axes, Brand, Vec, as_axes, vmap
from tinygrad import Tensor

DOCS, QUERIES, WIDTH = 5, 3, 2


class Docs(Brand): ...


class Queries(Brand): ...


class Widths(Brand): ...


type Score[S: Brand, S1: Brand] = Callable[[Vec[S], Vec[S1]], Vec[S | S1]]
type Named[T] = tuple[str, T]


class Metric(Protocol):
    def __call__[S: Brand, S1: Brand](self, a: Vec[S], b: Vec[S1], /) -> Vec[S | S1]: ...


def cosine[S: Brand, S1: Brand](a: Vec[S], b: Vec[S1], /) -> Vec[S | S1]:
    size = a.square().sum().sqrt() * b.square().sum().sqrt()
    return (a * b).sum() / size  # if: return (a * b).sum() / size if size > 0 else Tensor(0.0)


def euclid[S: Brand, S1: Brand](a: Vec[S], b: Vec[S1], /) -> Vec[S | S1]:  # brand: def euclid[S: Brand, S1: Brand](a: Vec[S], b: Vec[S1], /) -> Vec[S]:
    return -(a - b).square().sum()


@dataclass(frozen=True)
class Hit[S: Brand]:
    score: Vec[S]
    place: Vec[S]

    def better[S1: Brand](self, other: "Hit[S1]") -> "Hit[S | S1]":
        won = self.score > other.score
        return Hit(won.where(self.score, other.score), won.where(self.place, other.place))  # if: return Hit(self.score, self.place) if won else Hit(other.score, other.place)


class Index[M: Metric]:
    def __init__(self, metric: M, vectors: Tensor) -> None:
        self.metric, self.vectors = metric, vectors

    def scores[S: Brand](self, query: Vec[S]) -> Vec[S]:
        return vmap(self.metric, in_axes=(None, 0))(query, self.vectors)  # none: return vmap(self.metric)(query, self.vectors)

    def best[S: Brand](self, query: Vec[S]) -> Hit[S]:
        scores = self.scores(query)
        return Hit(scores.max(), scores.argmax())  # read: return Hit(scores.max(), Tensor(scores.argmax().item()))


class Shifted[M: Metric](Index[M]):
    @override
    def scores[S: Brand](self, query: Vec[S]) -> Vec[S]:
        return super().scores(query - self.vectors.mean(axis=0))  # axis: return super().scores(query - self.vectors.mean(axis=1))


def first[T](pairs: Sequence[Named[T]], name: str) -> T:
    return next(value for key, value in pairs if key == name)


def apply[S: Brand, S1: Brand](score: Score[S, S1], a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return score(a, b)  # brand: return score(a, a)


docs = as_axes(Tensor([[1.0, 0.2], [0.3, 0.9], [0.5, 0.5], [-1.0, 0.1], [0.2, -0.7]]), Docs, Widths)
queries = as_axes(Tensor([[1.0, 1.0], [0.0, 1.0], [-1.0, 0.5]]), Queries, Widths)
indexes: list[Named[Index[Metric]]] = [("plain", Index(cosine, docs)), ("shifted", Shifted(euclid, docs))]
hits = vmap(lambda q: first(indexes, "plain").best(q))(queries)
others = vmap(lambda q: first(indexes, "shifted").best(q))(queries)
merged: Hit[Never] = vmap(lambda a, b: a.better(b))(hits, others)
table: Axes[Queries, Docs] = vmap(lambda q: vmap(lambda d: apply(cosine, q, d))(docs))(queries)  # zip: table: Axes[Queries, Docs] = vmap(lambda q, d: apply(cosine, q, d))(queries, docs)
ranks: Axes[Docs] = vmap(lambda column: column.max(), in_axes=1)(table)  # axis: ranks: Axes[Docs] = vmap(lambda column: column.max())(table)
boosted: Axes[Queries, Docs] = vmap(lambda row: row * ranks)(table)  # axis: boosted: Axes[Queries, Docs] = vmap(lambda row: row * ranks, in_axes=1)(table)
flipped: Axes[Docs, Queries] = vmap(lambda row: row - row.mean(), out_axes=1)(boosted)  # out: flipped: Axes[Docs, Queries] = vmap(lambda row: row - row.mean())(boosted)
spread = vmap(lambda r: r.std(), axis_name=Docs)(flipped)
gain = vmap(lambda s, d: s * d)(spread, docs)  # axis: gain = vmap(lambda s, d: s * d, in_axes=(0, 1))(spread, docs)
near = vmap(lambda q, d: cosine(q, d), in_axes=(0, None))(queries, docs[0])  # none: near = vmap(lambda q, d: cosine(q, d))(queries, docs[0])
kept: list[Vec[Never]] = []
sure = vmap(lambda h: h.score.sigmoid())(merged)
named = [f"{i}" for i in merged.place.tolist()]  # read: named = vmap(lambda h: str(h.place.item()))(merged)
result = hits.score, merged.place, table, ranks, boosted, flipped, spread, gain, near, sure
