"""A linear model in plain functions: one weight vector, many examples."""

from branded import Brand, as_axes, vmap
from tinygrad import Tensor


class Users(Brand): ...


class Features(Brand): ...


U, F = 4, 3


def score(w: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The score of one user."""
    return (w * x).sum() + b


def normalized(x: Tensor) -> Tensor:
    """The features of one user, with mean 0."""
    return x - x.mean()


def scores(w: Tensor, b: Tensor, X: Tensor) -> Tensor:
    return vmap(score, in_axes=(None, None, 0))(w, b, X)  # none: return vmap(score, in_axes=(0, None, 0))(w, b, X)


def centered(X: Tensor) -> Tensor:
    return vmap(normalized)(X)  # axis: return vmap(normalized, in_axes=1)(X)


def penalty(w: Tensor, X: Tensor) -> Tensor:
    def one(x: Tensor, v: Tensor) -> Tensor:
        return (x - v).square().sum()

    return vmap(one, in_axes=(0, None))(X, w)  # none: return vmap(one)(X, w)


def main() -> tuple[Tensor, Tensor, Tensor]:
    X = as_axes(Tensor.arange(U * F).reshape(U, F).float(), Users, Features)
    w = as_axes(Tensor.arange(F).float() + 1, Features)
    b = Tensor(0.5)
    together = scores(w, b, centered(X))  # axis: together = scores(w, b, centered(X).T)
    weighted = (X.T * together).sum(axis=1)  # axis: weighted = (X * together).sum(axis=1)
    return together, weighted, penalty(w, X)


result = main()
assert result[0].shape == (U,) and result[1].shape == (F,)
