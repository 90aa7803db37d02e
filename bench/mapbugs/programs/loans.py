"""Payments for every loan at every rate, and the cheapest of them."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Loans(Brand): ...


class Rates(Brand): ...


L, R = 3, 5
YEARS = 10


def payment(amount: Tensor, rate: Tensor) -> Tensor:
    factor = (1 + rate).pow(YEARS)
    return amount * rate * factor / (factor - 1)


def total(amount: Tensor, rate: Tensor) -> Tensor:
    return payment(amount, rate) * YEARS


amounts = as_axes((Tensor.arange(L).float() + 1) * 1000, Loans)
rates = as_axes((Tensor.arange(R).float() + 1) / 100, Rates)

every = vmap(lambda a: vmap(lambda r: total(a, r))(rates))(amounts)  # zip: every = vmap(total)(amounts, rates)
by_rate = vmap(lambda r: vmap(lambda a: payment(a, r))(amounts))(rates)  # zip: by_rate = vmap(lambda r, a: payment(a, r))(rates, amounts)
fixed = vmap(payment, in_axes=(0, None))(amounts, rates[0])  # none: fixed = vmap(payment)(amounts, rates)
interest = vmap(lambda a, row: row - a)(amounts, every)  # axis: interest = vmap(lambda a, row: row - a)(amounts, by_rate)
margin = every - amounts.reshape(-1, 1)  # axis: margin = every - amounts
cheapest = every.min(axis=1) - fixed  # axis: cheapest = every.min(axis=0) - fixed
transposed = vmap(lambda a: total(a, rates), out_axes=1)(amounts)  # out: transposed = vmap(lambda a: total(a, rates))(amounts)
result = every, by_rate, fixed, interest, margin, cheapest, transposed
assert transposed.shape == (R, L)
