"""The slope of the trend of every series of three points."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def slope(y: Float[Array, "t"]) -> Float[Array, ""]:
    t = jnp.array([-1.0, 0.0, 1.0])
    return (t * y).sum() / jnp.square(t).sum()


def report(y: Float[Array, "t"]) -> Float[Array, ""]:
    s = (y[2] - y[0]) / 2
    print(f"slope {s.item()}", end="\r")
    return s


def trends(series: Float[Array, "n t"]) -> Float[Array, "n"]:
    return vmap(slope)(series)  # bug: return vmap(report)(series)


def main() -> None:
    series = jnp.array([[1.0, 3.0, 5.0], [4.0, 4.0, 4.0]])
    assert trends(series).tolist() == [2.0, 0.0] and report(series[0]).item() == 2.0


if __name__ == "__main__":
    main()
