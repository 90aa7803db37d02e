import jax
import jax.numpy as jnp

X = jnp.array([[1.0, 1.0], [3.0, 3.0]])
shares = jax.vmap(lambda row: jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(row), axis_name="i")
print(shares(X).tolist())  # shares of the whole table
