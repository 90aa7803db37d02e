import jax
import jax.numpy as jnp

seen = 0


def double(x):
    global seen
    seen += 1
    return x * 2


doubled = jax.vmap(double)(jnp.array([1.0, 2.0, 3.0]))
print(seen)
