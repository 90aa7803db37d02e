"""The cross entropy of every row of logits, with weights of the classes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def cross_entropy(logits: Float[Array, "c"], target: Float[Array, "c"], weights: Float[Array, "c"]) -> Float[Array, ""]:
    return -(weights * target * jax.nn.log_softmax(logits)).sum()


def against_all(logits: Float[Array, "n c"], targets: Float[Array, "m c"], weights: Float[Array, "c"]) -> Array:
    """Row by row: every row of logits against every target."""

    def row(z: Float[Array, "c"]) -> Float[Array, "m"]:
        def cell(t: Float[Array, "c"]) -> Float[Array, ""]:
            return cross_entropy(z, t, weights)  # bug: return cross_entropy(z, t, z)

        return vmap(cell)(targets)

    return vmap(row)(logits)


def main() -> None:
    got = against_all(jnp.array([[0.0, 0.0], [9.0, 0.0]]), jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([1.0, 2.0]))
    assert np.allclose(np.asarray(got), [[0.6931, 1.3863], [0.0001, 18.0002]], atol=1e-3)


if __name__ == "__main__":
    main()
