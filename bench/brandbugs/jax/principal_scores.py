"""The scores of all examples on one component, and the component made a unit vector."""

import jax.numpy as jnp
import numpy as np
from jax import Array, vmap
from jaxtyping import Float


def project(xs: Float[Array, "n d"], component: Float[Array, "d"]) -> tuple[Float[Array, "n"], Float[Array, "d"]]:
    unit = component / jnp.sqrt(jnp.square(component).sum())

    def one(x: Float[Array, "d"]) -> tuple[Float[Array, ""], Float[Array, "d"]]:
        return x @ unit, unit

    return vmap(one, out_axes=(0, None))(xs)  # bug: return vmap(one, out_axes=(None, 0))(xs)


def main() -> None:
    scores, unit = project(jnp.array([[5.0, 0.0], [0.0, 10.0]]), jnp.array([3.0, 4.0]))
    assert unit.shape == (2,) and np.allclose(np.asarray(scores), [3.0, 8.0], atol=1e-5)


if __name__ == "__main__":
    main()
