import jax
import jax.numpy as jnp

queries, documents = jnp.array([1.0, 2.0]), jnp.array([10.0, 30.0])
scores = jax.vmap(lambda document: jax.vmap(lambda query: document - query)(queries))(documents)
print(scores.argmax(1).tolist())  # the best document of each query
