"""One prediction and correction of a Kalman filter, for many tracked objects at once."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


class Track(NamedTuple):
    """The estimate of one object: mean and covariance."""

    mean: Float[Array, "*n d"]
    variance: Float[Array, "*n d"]


def step(motion: Float[Array, "d d"], track: Track, seen: Float[Array, "d"]) -> Track:
    mean, variance = motion @ track.mean, track.variance + 1.0
    gain = variance / (variance + 2.0)
    return Track(mean + gain * (seen - mean), (1.0 - gain) * variance)


def advance(motion: Float[Array, "d d"], tracks: Track, seen: Float[Array, "n d"]) -> Track:
    return vmap(step, in_axes=(None, 0, 0))(motion, tracks, seen)  # bug: return vmap(step)(motion, tracks, seen)


def main() -> None:
    tracks = advance(
        jnp.array([[1.0, 1.0], [0.0, 1.0]]),
        Track(jnp.array([[0.0, 1.0], [2.0, 2.0]]), jnp.array([[1.0, 1.0], [1.0, 1.0]])),
        jnp.array([[3.0, 1.0], [4.0, 2.0]]),
    )
    assert tracks.mean.tolist() == [[2.0, 1.0], [4.0, 2.0]]
    assert tracks.variance.tolist() == [[1.0, 1.0], [1.0, 1.0]]


if __name__ == "__main__":
    main()
