"""Statistics over named brands: psum, pmean, all_gather, ranks, and normalization inside a layer."""

from __future__ import annotations

from dataclasses import dataclass

from branded import Brand, Vec, all_gather, axis_index, axis_size, pmax, pmean, ppermute, psum, vmap
from branded.typing import S
from tinygrad import Tensor

SCHOOLS, PUPILS, TESTS = 3, 4, 2


class Schools(Brand): ...


class Pupils(Brand): ...


@dataclass(frozen=True)
class Norm:
    eps: float = 1e-3

    def __call__(self, x: Vec[Pupils | S]) -> Vec[Pupils | S]:
        mean = pmean(x, Pupils)
        var = pmean((x - mean).square(), Pupils)
        return (x - mean) / (var + self.eps).sqrt()  # read: return (x - mean) / (float(pmean(x, Schools)) + self.eps)


def share(x: Vec[Pupils | S]) -> Vec[Pupils | S]:
    return x / psum(x, Pupils)  # name: return x / psum(x, "pupil")


def total(x: Vec[Pupils | S]) -> Vec[S]:
    return psum(x, Pupils)  # brand: return x


def rank(x: Vec[Pupils | S]) -> Vec[Pupils | S]:
    return (all_gather(x, Pupils) < x).sum()


def is_best(x: Vec[Pupils | S]) -> Vec[Pupils | S]:
    return (x == pmax(x, Pupils)).where(1.0, 0.0)  # if: return Tensor(1.0) if x == pmax(x, Pupils) else Tensor(0.0)


def next_one(x: Vec[Pupils | S]) -> Vec[Pupils | S]:
    return ppermute(x, Pupils, [(i, (i + 1) % PUPILS) for i in range(PUPILS)])



grades = Tensor.arange(SCHOOLS * PUPILS * TESTS).reshape(SCHOOLS, PUPILS, TESTS).float() % 7 + 1
norm = Norm()
first = grades[:, :, 0]
normalized = vmap(lambda school: vmap(norm, axis_name=Pupils)(school), axis_name=Schools)(grades)
shares = vmap(vmap(share, axis_name=Pupils))(first)  # name: shares = vmap(vmap(share, axis_name=Schools))(first)
sums = vmap(lambda s: vmap(total, axis_name=Pupils, out_axes=None)(s))(grades)  # out: sums = vmap(lambda s: vmap(share, axis_name=Pupils, out_axes=None)(s))(grades)
ranks = vmap(vmap(rank, axis_name=Pupils))(first)
best = vmap(vmap(is_best, axis_name=Pupils))(first)
turned = vmap(vmap(next_one, axis_name=Pupils))(first)  # axis: turned = vmap(vmap(next_one, axis_name=Pupils))(grades.sum(axis=1))
places = vmap(lambda x: x * 0 + axis_index(Schools) * axis_size(Schools), axis_name=Schools)(first[:, 0])  # name: places = vmap(lambda x: x * 0 + axis_index(Schools) * axis_size(Schools), axis_name=Pupils)(first[:, 0])
country = vmap(lambda s: pmean(vmap(lambda p: pmean(p, Pupils), axis_name=Pupils, out_axes=None)(s), Schools), axis_name=Schools, out_axes=None)(grades)  # out: country = vmap(lambda s: vmap(lambda p: pmean(p, Pupils), axis_name=Pupils, out_axes=None)(s), axis_name=Schools, out_axes=None)(grades)
above = vmap(lambda s, c: s - c, in_axes=(0, None))(sums / PUPILS, country)  # none: above = vmap(lambda s, c: s - c)(sums / PUPILS, country)
weights = Tensor([0.25, 0.75])
finals = vmap(lambda s: vmap(lambda p, w: (p * w).sum(), in_axes=(0, None))(s, weights))(grades)  # none: finals = vmap(lambda s: vmap(lambda p, w: (p * w).sum())(s, weights))(grades)
pairs = vmap(lambda a: vmap(lambda b: (a - b).abs().sum())(sums))(first[:, :TESTS])  # zip: pairs = vmap(lambda a, b: (a - b).abs().sum())(first[0], sums)
highest = vmap(lambda s: pmax(s.max(), Schools), axis_name=Schools, out_axes=None)(first).item()  # read: highest = vmap(lambda s: pmax(s.max().item(), Schools), axis_name=Schools, out_axes=None)(first)
result = normalized, shares, sums, ranks, best, turned, places, above, finals, pairs
