"""Returns and risks of portfolios over days, with decorated functions."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Days(Brand): ...


class Assets(Brand): ...


class Portfolios(Brand): ...


D, A, P = 7, 3, 4


@vmap
def growth(day: Tensor) -> Tensor:
    return day + 1


def value(weights: Tensor, day: Tensor) -> Tensor:
    return (weights * day).sum()


def history(weights: Tensor, days: Tensor) -> Tensor:
    """The value of one portfolio on every day."""
    return vmap(value, in_axes=(None, 0))(weights, days)  # none: return vmap(value)(weights, days)


def sharpe(weights: Tensor, days: Tensor) -> Tensor:
    values = history(weights, days)
    return values.mean() / (values.std() + 0.1)


def excess(days: Tensor, free: Tensor) -> Tensor:
    return vmap(lambda day, f: day - f)(days, free)  # none: return vmap(lambda day: day - free)(days)


days = as_axes(Tensor.arange(D * A).reshape(D, A).float() * 0.01, Days, Assets)
free = as_axes(Tensor.arange(D).float() * 0.001, Days)
weights = as_axes(Tensor.arange(P * A).reshape(P, A).float() * 0.1, Portfolios, Assets)

values = vmap(lambda w: history(w, days))(weights)  # zip: values = vmap(history)(weights, days)
ratios = vmap(sharpe, in_axes=(0, None))(weights, growth(days))  # axis: ratios = vmap(sharpe, in_axes=(1, None))(weights, growth(days))
by_day = vmap(lambda w: history(w, excess(days, free)), out_axes=1)(weights)  # out: by_day = vmap(lambda w: history(w, excess(days, free)))(weights)
drift = (by_day - free.reshape(-1, 1)).mean(axis=0) + ratios  # axis: drift = (by_day - free.reshape(-1, 1)).mean(axis=1) + ratios
market = days.mean(axis=1) + free  # axis: market = days.mean(axis=0) + free
result = values, ratios, by_day, drift, market
assert by_day.shape == (D, P)
