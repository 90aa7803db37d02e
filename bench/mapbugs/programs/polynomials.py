"""Polynomials at many places: every coefficient vector at every place."""

from branded import Brand, as_axes, scan, vmap
from tinygrad import Tensor


class Curves(Brand): ...


class Places(Brand): ...


class Powers(Brand): ...


C, P, D = 4, 6, 3


def powers(x: Tensor) -> Tensor:
    return Tensor.stack(x * 0 + 1, x, x * x)


def at(coefficients: Tensor, x: Tensor) -> Tensor:
    return (coefficients * powers(x)).sum()


def horner(coefficients: Tensor, x: Tensor) -> Tensor:
    def step(total: Tensor, c: Tensor) -> tuple[Tensor, None]:
        return total * x + c, None

    return scan(step, Tensor(0.0), coefficients)[0]


coefficients = as_axes(Tensor.arange(C * D).reshape(C, D).float() * 0.1, Curves, Powers)
places = as_axes(Tensor.arange(P).float() * 0.3, Places)
weights = as_axes(Tensor.arange(P).float(), Places)

table = vmap(lambda c: vmap(lambda x: at(c, x))(places))(coefficients)  # zip: table = vmap(at)(coefficients, places)
curve = vmap(at, in_axes=(None, 0))(coefficients[0], places)  # none: curve = vmap(at)(coefficients[0], places)
again = vmap(lambda x: vmap(horner, in_axes=(0, None))(coefficients, x), out_axes=1)(places)  # out: again = vmap(lambda x: vmap(horner, in_axes=(0, None))(coefficients, x))(places)
integral = vmap(lambda row: (row * weights).sum())(table)  # none: integral = vmap(lambda row, w: (row * w).sum())(table, weights)
residual = vmap(lambda row: row - curve)(table)  # axis: residual = vmap(lambda row: row - curve, in_axes=1)(table)
best = table.max(axis=1) + integral  # axis: best = table.max(axis=0) + integral
design = vmap(powers)(places)
fit = design.T @ weights  # axis: fit = design @ weights
result = table, curve, again, integral, residual, best, fit
assert again.shape == (C, P)
