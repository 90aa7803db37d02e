"""How well every signal matches every template."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def match(signal: Float[Array, "n"], template: Float[Array, "n"]) -> Float[Array, ""]:
    return (signal * template).sum() / jnp.sqrt(jnp.square(signal).sum() * jnp.square(template).sum())


def matches(signals: Float[Array, "s n"], templates: Float[Array, "t n"]) -> Float[Array, "s t"]:
    one_signal = vmap(match, in_axes=(None, 0))
    return vmap(one_signal, in_axes=(0, None))(signals, templates)  # bug: return vmap(match)(signals, templates)


def main() -> None:
    got = matches(jnp.array([[3.0, 0.0], [0.0, 2.0]]), jnp.array([[1.0, 0.0], [0.0, 5.0]]))
    assert np.allclose(np.asarray(got), np.eye(2), atol=1e-5)


if __name__ == "__main__":
    main()
