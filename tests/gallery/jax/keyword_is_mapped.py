import jax
import jax.numpy as jnp

w, X = jnp.array([1.0, 10.0]), jnp.array([[1.0, 2.0], [3.0, 4.0]])
print(jax.vmap(lambda x, *, w: (w * x).sum())(X, w=w).tolist())
