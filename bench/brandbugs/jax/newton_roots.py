"""Square roots of many numbers by Newton's method."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


@vmap
def root(a: Float[Array, ""]) -> Float[Array, ""]:
    x = a * 0.5 + 0.5
    for _ in range(6):  # bug: while jnp.abs(x * x - a) > 1e-4:
        x = (x + a / x) * 0.5
    return x


def main() -> None:
    assert np.allclose(np.asarray(root(jnp.array([1.0, 4.0, 9.0, 2.0]))), [1.0, 2.0, 3.0, 2**0.5], atol=1e-3)


if __name__ == "__main__":
    main()
