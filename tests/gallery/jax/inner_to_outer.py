import jax
import jax.numpy as jnp

steps = jnp.array([1.0, 2.0])


def total(x):
    last = x

    def step(t):
        nonlocal last
        last = x * t
        return last

    jax.vmap(step)(steps)
    return last


print(jax.vmap(total)(jnp.array([10.0, 20.0])).tolist())
