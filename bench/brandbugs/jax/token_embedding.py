"""The embeddings of a sentence of tokens, scaled to unit length."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float, Int


def sentence_vector(table: Float[Array, "n d"], tokens: Int[Array, "t"]) -> Float[Array, "d"]:
    def embed(token: Int[Array, ""]) -> Float[Array, "d"]:
        v = table[token]
        return v / jnp.sqrt(jnp.square(v).sum())

    return vmap(embed)(tokens).mean(0)  # bug: return vmap(embed)(3).mean(0)


def main() -> None:
    table = jnp.array([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [5.0, 0.0]])
    assert np.allclose(np.asarray(sentence_vector(table, jnp.array([1, 2]))), [0.5, 0.5], atol=1e-5)


if __name__ == "__main__":
    main()
