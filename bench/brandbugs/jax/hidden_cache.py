"""Hidden states and outputs of a recurrent cell for a batch, with a cache of the last states."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def run(
    w: Float[Array, "h h"], states: Float[Array, "n h"], inputs: Float[Array, "n h"], cache: dict[str, Array]
) -> Float[Array, "n"]:
    def cell(h: Float[Array, "h"], x: Float[Array, "h"]) -> Float[Array, "h"]:
        new = jnp.clip(w @ h + x, -1.0, 1.0)  # bug+: cache["state"] = new
        return new

    out = vmap(cell)(states, inputs)
    cache.setdefault("state", out)
    return out.sum(1)


def main() -> None:
    cache: dict[str, Array] = {}
    out = run(jnp.eye(2), jnp.array([[0.5, 0.0], [0.0, 0.0]]), jnp.array([[0.25, 0.0], [9.0, 0.0]]), cache)
    assert out.tolist() == [0.75, 1.0]
    assert (cache["state"] + 0.0).tolist() == [[0.75, 0.0], [1.0, 0.0]]


if __name__ == "__main__":
    main()
