"""The acceleration of pendulums at many angles."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


@vmap
def acceleration(angle: Float[Array, ""]) -> Float[Array, ""]:
    return -9.81 * jnp.sin(angle)


def main() -> None:
    swing = acceleration(jnp.array([0.0, np.pi / 2]))  # bug: swing = acceleration(np.pi / 2)
    assert np.allclose(np.asarray(swing), [0.0, -9.81], atol=1e-4)


if __name__ == "__main__":
    main()
