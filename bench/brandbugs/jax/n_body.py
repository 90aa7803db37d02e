"""The pull of all bodies on each body."""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def pull(me: Float[Array, "d"], other: Float[Array, "d"]) -> Float[Array, "d"]:
    d = other - me
    return d / (jnp.square(d).sum() + 1.0) ** 1.5


def force(me: Float[Array, "d"], others: Float[Array, "n d"]) -> Float[Array, "d"]:
    return vmap(partial(pull, me))(others).sum(0)


def forces(bodies: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return vmap(force, in_axes=(0, None))(bodies, bodies)  # bug: return vmap(force)(bodies, bodies)


def main() -> None:
    f = np.asarray(forces(jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])))
    assert f.shape == (3, 2)
    assert np.allclose(f.sum(0), 0.0, atol=1e-5)
    assert f[0, 0] > 0 and f[0, 1] > 0


if __name__ == "__main__":
    main()
