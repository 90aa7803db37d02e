"""Filters for images: every filter on every patch."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Patches(Brand): ...


class Filters(Brand): ...


class Pixels(Brand): ...


P, F, X = 6, 2, 9


def response(patch: Tensor, kernel: Tensor) -> Tensor:
    return (patch * kernel).sum().relu()


def responses(patch: Tensor, bank: Tensor) -> Tensor:
    return vmap(lambda kernel: response(patch, kernel))(bank)  # zip: return vmap(lambda x, kernel: response(x, kernel))(patch, bank)


def contrast(patches: Tensor) -> Tensor:
    def of_one(patch: Tensor) -> Tensor:
        return (patch - patch.mean()) / (patch.std() + 1)

    return vmap(of_one)(patches)  # axis: return vmap(of_one, in_axes=1)(patches)


def whiten(patches: Tensor, mean: Tensor, gain: Tensor) -> Tensor:
    one = lambda patch, m, g: (patch - m) * g
    return vmap(one, in_axes=(0, None, 0))(patches, mean, gain)  # none: return vmap(one)(patches, mean, gain)


def run(patches: Tensor, bank: Tensor) -> Tensor:
    maps = vmap(responses, in_axes=(0, None), out_axes=1)(patches, bank)  # out: maps = vmap(responses, in_axes=(0, None))(patches, bank)
    return vmap(lambda m: m / (m.max() + 1))(maps)


patches = as_axes(Tensor.arange(P * X).reshape(P, X).float() % 5, Patches, Pixels)
bank = as_axes(Tensor.arange(F * X).reshape(F, X).float() % 3, Filters, Pixels)
gain = as_axes(Tensor.ones(P), Patches)
clean = whiten(contrast(patches), patches.mean(axis=0), gain)  # axis: clean = whiten(contrast(patches), patches.mean(axis=1), gain)
maps = run(clean, bank)
total = maps.sum(axis=0) + gain  # axis: total = maps.sum(axis=1) + gain
result = maps, total
