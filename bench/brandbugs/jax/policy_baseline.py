"""Advantages: the return of each episode less the mean return of all."""

import jax.numpy as jnp
from jax import Array, vmap
from jaxtyping import Float


@vmap
def episode_return(rewards: Float[Array, "t"]) -> Float[Array, ""]:
    return (rewards * 0.5 ** jnp.arange(rewards.shape[0])).sum()


def advantage(value: Float[Array, ""], baseline: Float[Array, ""]) -> Float[Array, ""]:
    return value - baseline


def advantages(rewards: Float[Array, "n t"]) -> Float[Array, "n"]:
    returns = episode_return(rewards)
    mean = returns.mean()
    return vmap(lambda r: advantage(r, mean))(returns)  # bug: return vmap(lambda r: advantage(r, r.mean()))(returns)


def main() -> None:
    assert advantages(jnp.array([[1.0, 2.0], [0.0, 0.0]])).tolist() == [1.0, -1.0]


if __name__ == "__main__":
    main()
