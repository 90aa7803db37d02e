"""Takes the median of every window of a signal away."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def middle(window: Float[Array, "3"]) -> Float[Array, ""]:
    ordered = jnp.sort(window)  # bug: ordered = jnp.array(np.sort(np.asarray(window)))
    return ordered[1]


def main() -> None:
    signal = jnp.array([1.0, 9.0, 2.0, 3.0])
    windows = jnp.stack([signal[:-2], signal[1:-1], signal[2:]], axis=1)
    assert np.array_equal(vmap(lambda w: w[1] - middle(w))(windows), [7.0, -1.0])


if __name__ == "__main__":
    main()
