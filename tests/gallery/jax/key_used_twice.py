import jax

keys = jax.random.split(jax.random.key(0), 2)


def difference(key):
    return jax.random.normal(key) - jax.random.normal(key)


print((jax.vmap(difference)(keys) != 0).tolist())
