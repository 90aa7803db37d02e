import jax
import jax.numpy as jnp

X = jnp.array([[1.0, 10.0], [3.0, 30.0]])
print(jax.vmap(lambda x: x - x.mean(0))(X).tolist())
