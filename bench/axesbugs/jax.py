"""The same programs in JAX, typed by jaxtyping and checked by beartype when they run."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from beartype import beartype
from jaxtyping import Array, Float, Int, jaxtyped

checked = jaxtyped(typechecker=beartype)
U, N, F = 4, 3, 5
rng = np.random.default_rng(0)
X, Z, Y = (jnp.asarray(rng.random((n, F), dtype=np.float32)) for n in (U, U, N))
W, u, w, b = (jnp.asarray(rng.random(s, dtype=np.float32)) for s in ((F, N), (U,), (F,), (N,)))
best = jnp.array([0, 1, 2])


@checked
def means(x: Float[Array, "users features"]) -> Float[Array, "users"]:
    return x.mean(axis=1)


@checked
def norm(x: Float[Array, "features"]) -> Float[Array, ""]:
    return jnp.sqrt((x * x).sum())


# --- table_the_wrong_way_round
means(X)  # bug: means(X.T)

# --- another_table
means(X)  # bug: means(Y)


# --- mean_over_the_other_axis
@checked
def averages(x: Float[Array, "users features"]) -> Float[Array, "users"]:
    return x.mean(axis=1)  # bug: return x.mean(axis=0)


averages(X)


# --- best_of_the_other_axis
@checked
def choice(scores: Float[Array, "users items"]) -> Int[Array, "users"]:
    return scores.argmax(axis=1)  # bug: return scores.argmax(axis=0)


choice(X @ W)


# --- centred_without_keepdim
@checked
def centred(x: Float[Array, "users features"]) -> Float[Array, "users features"]:
    return x - x.mean(axis=1, keepdims=True)  # bug: return x - x.mean(axis=1)


centred(X)


# --- scaled_by_the_other_sum
@checked
def scaled(x: Float[Array, "users features"]) -> Float[Array, "users features"]:
    return x / x.sum(axis=0)  # bug: return x / x.sum(axis=1)


scaled(X)


# --- softmax_over_the_other_axis
@checked
def weights(x: Float[Array, "users features"]) -> Float[Array, "users features"]:
    return jax.nn.softmax(x, axis=1)  # bug: return jax.nn.softmax(x, axis=0)


weights(X)


# --- transposed_result
@checked
def similar(x: Float[Array, "users features"], y: Float[Array, "items features"]) -> Float[Array, "users items"]:
    return x @ y.T  # bug: return y @ x.T


similar(X, Y)


# --- inner_axes_that_differ
@checked
def predicted(x: Float[Array, "users features"], y: Float[Array, "items features"]) -> Float[Array, "users items"]:
    return x @ y.T  # bug: return x @ y


predicted(X, Y)


# --- covariance_of_the_other_axis
@checked
def covariance(x: Float[Array, "users features"]) -> Float[Array, "features features"]:
    return x.T @ x  # bug: return x @ x.T


covariance(X)


# --- bias_of_the_other_axis
@checked
def layer(
    x: Float[Array, "users features"], bias: Float[Array, "items"], offset: Float[Array, "users"]
) -> Float[Array, "users items"]:
    return x @ W + bias  # bug: return x @ W + offset


layer(X, b, u)


# --- weights_the_wrong_way_round
@checked
def linear(x: Float[Array, "users features"]) -> Float[Array, "users items"]:
    return x @ W + b  # bug: return x @ W.T + b


linear(X)


# --- einsum_result_the_other_way_round
@checked
def table(x: Float[Array, "users features"], y: Float[Array, "items features"]) -> Float[Array, "users items"]:
    return jnp.einsum("uf,if->ui", x, y)  # bug: return jnp.einsum("uf,if->iu", x, y)


table(X, Y)


# --- einsum_operands_exchanged
@checked
def product(x: Float[Array, "users features"], y: Float[Array, "features items"]) -> Float[Array, "users items"]:
    return jnp.einsum("uf,fi->ui", x, y)  # bug: return jnp.einsum("uf,if->ui", x, y)


product(X, W)


# --- rows_by_index
@checked
def favourites(x: Float[Array, "users features"], rows: Int[Array, "items"]) -> Float[Array, "items features"]:
    return x[rows]  # bug: return x[:, rows]


favourites(X, best)


# --- one_column_for_one_row
@checked
def first(x: Float[Array, "users features"]) -> Float[Array, "features"]:
    return x[0]  # bug: return x[:, 0]


first(X)


# --- stacked_on_the_other_side
@checked
def both(a: Float[Array, "users"], c: Float[Array, "users"]) -> Float[Array, "users 2"]:
    return jnp.stack([a, c], axis=1)  # bug: return jnp.stack([a, c])


both(u, u)


# --- joined_along_the_other_axis
@checked
def wider(x: Float[Array, "users features"], z: Float[Array, "users features"]) -> Float[Array, "users _"]:
    return jnp.concatenate([x, z], axis=1)  # bug: return jnp.concatenate([x, z], axis=0)


wider(X, Z)


# --- one_vmap_where_every_pair_was_meant
@checked
def scores(x: Float[Array, "users features"], y: Float[Array, "items features"]) -> Float[Array, "users items"]:
    return jax.vmap(lambda p: jax.vmap(lambda q: (p * q).sum())(y))(x)  # bug: return jax.vmap(jnp.dot)(x, y)


scores(X, Y)


# --- every_pair_where_one_to_one_was_meant
@checked
def matched(x: Float[Array, "users features"], z: Float[Array, "users features"]) -> Float[Array, "users"]:
    return jax.vmap(jnp.dot)(x, z)  # bug: return jax.vmap(lambda p: jax.vmap(lambda q: (p * q).sum())(z))(x)


matched(X, Z)


# --- a_vmap_of_a_vmap_is_not_every_pair
@checked
def outer(x: Float[Array, "users"], y: Float[Array, "items"]) -> Float[Array, "users items"]:
    return jax.vmap(lambda p: jax.vmap(lambda q: p * q)(y))(x)  # bug: return jax.vmap(lambda p, q: p * q)(x, y)


outer(u, b)


# --- the_other_axis_of_a_matrix
@checked
def norms(x: Float[Array, "users features"]) -> Float[Array, "users"]:
    return jax.vmap(norm)(x)  # bug: return jax.vmap(norm, in_axes=1)(x)


norms(X)


# --- results_on_the_other_side
@checked
def mapped(x: Float[Array, "users features"]) -> Float[Array, "users items"]:
    return jax.vmap(lambda p: p @ W)(x)  # bug: return jax.vmap(lambda p: p @ W, out_axes=1)(x)


mapped(X)


# --- levels_exchanged
@checked
def pairs(x: Float[Array, "users features"], y: Float[Array, "items features"]) -> Float[Array, "users items"]:
    @checked
    def dot(p: Float[Array, "features"], q: Float[Array, "items features"]) -> Float[Array, "items"]:
        return q @ p

    return jax.vmap(dot, in_axes=(0, None))(x, y)  # bug: return jax.vmap(dot, in_axes=(0, None), out_axes=-1)(x, y)


pairs(X, Y)

# --- the_whole_batch_in_the_place_of_one_example
jax.vmap(lambda p: norm(p))(X)  # bug: jax.vmap(lambda p: norm(X))(X)

# --- one_example_to_a_function_of_many
means(X[:1])  # bug: means(X[0])


# --- a_batch_that_is_closed_over
@checked
def residuals(x: Float[Array, "users features"], y: Float[Array, "users"]) -> Float[Array, "users"]:
    return jax.vmap(lambda p, q: w @ p - q)(x, y)  # bug: return jax.vmap(lambda p, q: w @ p - y)(x, y)


residuals(X, u)

# --- a_name_for_another_axis
jax.vmap(norm, axis_name="users")(X)  # bug: jax.vmap(norm, axis_name="items")(X)


# --- a_field_the_wrong_way_round
@checked
@dataclass
class Model:
    weights: Float[Array, "features items"]
    bias: Float[Array, "items"]


Model(W, b)  # bug: Model(W.T, b)


# --- one_axis_too_many
@checked
def column_sums(x: Float[Array, "users features"]) -> Float[Array, "features"]:
    return x.sum(axis=0)  # bug: return x.sum(axis=0).sum(axis=1)


column_sums(X)
