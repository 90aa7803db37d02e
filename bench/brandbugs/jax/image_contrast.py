"""Stretches the contrast of every image in a stack whose last axis is the image."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def stretch(image: Float[Array, "h w"]) -> Float[Array, "h w"]:
    low = image.min()
    return (image - low) / (image.max() - low)


def stretch_all(stack: Float[Array, "h w n"]) -> Float[Array, "h w n"]:
    return vmap(stretch, in_axes=-1, out_axes=-1)(stack)  # bug: return vmap(stretch, in_axes=-1)(stack)


def main() -> None:
    out = stretch_all(jnp.array([[[0.0, 2.0], [1.0, 3.0]], [[2.0, 4.0], [4.0, 6.0]]]))
    assert out.tolist() == [[[0.0, 0.0], [0.25, 0.25]], [[0.5, 0.5], [1.0, 1.0]]]


if __name__ == "__main__":
    main()
