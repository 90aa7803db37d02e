import jax
import jax.numpy as jnp

X = jnp.array([[1.0, -2.0, 3.0], [4.0, -5.0, -6.0]])
print(jax.vmap(lambda x: x[x > 0].sum())(X).tolist())
