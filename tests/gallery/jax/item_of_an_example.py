import jax
import jax.numpy as jnp

table = [10.0, 20.0, 30.0]
print(jax.vmap(lambda i: table[i.item()])(jnp.array([2, 0])).tolist())
