"""The output of every network of an ensemble for one input; the weights are a dict."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


def network(params: Mapping[str, Float[Array, "..."]], x: Float[Array, "i"]) -> Float[Array, ""]:
    hidden = jax.nn.relu(params["w"] @ x)
    return params["v"] @ hidden + params["b"]


def ensemble(params: dict[str, Array], x: Float[Array, "i"]) -> Float[Array, "n"]:
    return vmap(network, in_axes=(0, None))(params, x)  # bug: return vmap(network)(params) + x.sum()


def main() -> None:
    w, v = jnp.array([[[1.0, 0.0], [0.0, 1.0]]] * 2), jnp.array([[1.0, 2.0]] * 2)
    params = {"w": w, "v": v, "b": jnp.array([0.0, 1.0])}
    assert ensemble(params, jnp.array([3.0, -1.0])).tolist() == [3.0, 4.0]


if __name__ == "__main__":
    main()
