"""Readings of sensors, calibrated per sensor, averaged over the times."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def calibrated(reading: Float[Array, ""], gain: Float[Array, ""]) -> Float[Array, ""]:
    return reading * gain


def averages(readings: Float[Array, "s t"], gains: Float[Array, "s"], drift: Float[Array, "t"]) -> Float[Array, "s"]:
    over_times = vmap(calibrated, in_axes=(0, None))  # bug: over_times = vmap(calibrated, in_axes=(0, 0))
    over_sensors = vmap(over_times)  # bug: over_sensors = vmap(over_times, in_axes=(0, None))
    return over_sensors(readings - drift, gains).mean(1)


def main() -> None:
    got = averages(jnp.array([[1.0, 3.0], [2.0, 6.0]]), jnp.array([10.0, 1.0]), jnp.array([0.0, 2.0]))
    assert got.tolist() == [10.0, 3.0]


if __name__ == "__main__":
    main()
