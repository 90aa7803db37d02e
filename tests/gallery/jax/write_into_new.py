import jax
import jax.numpy as jnp


def padded(x):
    out = jnp.zeros(3)
    out[:2] = x
    return out


print(jax.vmap(padded)(jnp.array([[1.0, 2.0], [3.0, 4.0]])).tolist())
