import jax
import jax.numpy as jnp


def power(x, n):
    out = 1.0
    for _ in range(n):
        out = out * x
    return out


print(jax.vmap(power)(jnp.array([2.0, 3.0]), jnp.array([3, 2])).tolist())
