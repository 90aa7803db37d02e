"""Fits a slope through the origin for every data set, and predicts with all slopes."""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def slope(xs: Float[Array, "n"], ys: Float[Array, "n"]) -> Float[Array, ""]:
    return (xs * ys).sum() / jnp.square(xs).sum()


def fit(xs: Float[Array, "k n"], ys: Float[Array, "k n"]) -> Callable[[float], Float[Array, "k"]]:
    def predictor(x: Float[Array, "n"], y: Float[Array, "n"]) -> Callable[[float], Float[Array, ""]]:
        s = slope(x, y)
        return lambda at: s * at

    slopes = vmap(slope)(xs, ys)
    return lambda at: slopes * at  # bug: return vmap(predictor, out_axes=None)(xs, ys)


def main() -> None:
    predict = fit(jnp.array([[1.0, 2.0], [1.0, 0.0]]), jnp.array([[3.0, 6.0], [7.0, 0.0]]))
    assert np.allclose(np.asarray(predict(2.0)), [6.0, 14.0], atol=1e-4)


if __name__ == "__main__":
    main()
