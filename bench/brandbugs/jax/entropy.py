"""The entropy of every row of a table of probabilities."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def entropy(p: Float[Array, "d"]) -> Float[Array, ""]:
    total = p.sum()  # bug: total: float = sum(p.tolist())
    q = p / total
    return -(q * jnp.log2(q + 1e-12)).sum()


def main() -> None:
    got = vmap(entropy)(jnp.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [2.0, 2.0, 4.0]]))
    assert np.allclose(np.asarray(got), [1.0, 0.0, 1.5], atol=1e-4)


if __name__ == "__main__":
    main()
