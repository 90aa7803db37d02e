import jax
import jax.numpy as jnp

total = jnp.zeros(2)


def add(x):
    total[:] = total + x * x


jax.vmap(add)(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
print(total.tolist())
