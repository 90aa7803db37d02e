import jax
import jax.numpy as jnp

X, lengths = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), jnp.array([2, 1])
print(jax.vmap(lambda x, n: x[:n].sum())(X, lengths).tolist())
