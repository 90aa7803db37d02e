import jax
import jax.numpy as jnp

data = {"rows": jnp.array([[1.0, 2.0], [3.0, 4.0]]), "columns": jnp.array([[10.0, 20.0], [30.0, 40.0]])}
axes = {"columns": 1, "rows": 0}
print(jax.vmap(lambda d: d["rows"] + d["columns"], in_axes=(axes,))(data).tolist())
