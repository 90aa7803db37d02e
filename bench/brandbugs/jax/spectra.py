"""The energy of every signal at one frequency."""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


@partial(vmap, in_axes=(0, None))  # bug: @partial(vmap, in_axes=(None, None))
def energy(signal: Float[Array, "t"], frequency: Float[Array, ""]) -> Float[Array, ""]:
    phase = jnp.arange(signal.shape[0]) * frequency
    return jnp.square((signal * jnp.cos(phase)).sum()) + jnp.square((signal * jnp.sin(phase)).sum())


def main() -> None:
    got = energy(jnp.array([[1.0, 1.0], [1.0, -1.0]]), jnp.array(np.pi))
    assert np.allclose(np.asarray(got), [0.0, 4.0], atol=1e-3)


if __name__ == "__main__":
    main()
