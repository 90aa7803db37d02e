"""Programs with axes, each with one mistake, typed by `branded.Axes`."""

from dataclasses import dataclass
from typing import Literal, TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, as_axes, vmap

S = TypeVar("S", bound=Brand)


class Users(Brand): ...


class Items(Brand): ...


class Features(Brand): ...


U, N, F = 4, 3, 5
X = as_axes(Tensor.rand(U, F), Users, Features)
Z = as_axes(Tensor.rand(U, F), Users, Features)
Y = as_axes(Tensor.rand(N, F), Items, Features)
W = as_axes(Tensor.rand(F, N), Features, Items)
u = as_axes(Tensor.rand(U), Users)
w = as_axes(Tensor.rand(F), Features)
b = as_axes(Tensor.rand(N), Items)
best = as_axes(Tensor([0, 1, 2]), Items)


def means(x: Axes[Users, Features]) -> Axes[Users]:
    return x.mean(axis=1)


def norm(x: Vec[S, Axes[Features]]) -> Vec[S, Axes[()]]:
    return (x * x).sum().sqrt()


# --- table_the_wrong_way_round
means(X)  # bug: means(X.T)

# --- another_table
means(X)  # bug: means(Y)


# --- mean_over_the_other_axis
def averages(x: Axes[Users, Features]) -> Axes[Users]:
    return x.mean(axis=1)  # bug: return x.mean(axis=0)


averages(X)


# --- best_of_the_other_axis
def choice(scores: Axes[Users, Items]) -> Axes[Users]:
    return scores.argmax(axis=1)  # bug: return scores.argmax(axis=0)


choice(X @ W)


# --- centred_without_keepdim
def centred(x: Axes[Users, Features]) -> Axes[Users, Features]:
    return x - x.mean(axis=1, keepdim=True)  # bug: return x - x.mean(axis=1)


centred(X)


# --- scaled_by_the_other_sum
def scaled(x: Axes[Users, Features]) -> Axes[Users, Features]:
    return x / x.sum(axis=0)  # bug: return x / x.sum(axis=1)


scaled(X)


# --- softmax_over_the_other_axis
def weights(x: Axes[Users, Features]) -> Axes[Users, Features]:
    return x.softmax(axis=1)  # bug: return x.softmax(axis=0)


weights(X)


# --- transposed_result
def similar(x: Axes[Users, Features], y: Axes[Items, Features]) -> Axes[Users, Items]:
    return x @ y.T  # bug: return y @ x.T


similar(X, Y)


# --- inner_axes_that_differ
def predicted(x: Axes[Users, Features], y: Axes[Items, Features]) -> Axes[Users, Items]:
    return x @ y.T  # bug: return x @ y


predicted(X, Y)


# --- covariance_of_the_other_axis
def covariance(x: Axes[Users, Features]) -> Axes[Features, Features]:
    return x.T @ x  # bug: return x @ x.T


covariance(X)


# --- bias_of_the_other_axis
def layer(x: Axes[Users, Features], bias: Axes[Items], offset: Axes[Users]) -> Axes[Users, Items]:
    return x @ W + bias  # bug: return x @ W + offset


layer(X, b, u)


# --- weights_the_wrong_way_round
def linear(x: Axes[Users, Features]) -> Axes[Users, Items]:
    return x.linear(W, b)  # bug: return x.linear(W.T, b)


linear(X)


# --- einsum_result_the_other_way_round
def table(x: Axes[Users, Features], y: Axes[Items, Features]) -> Axes[Users, Items]:
    return Tensor.einsum("uf,if->ui", x, y)  # bug: return Tensor.einsum("uf,if->iu", x, y)


table(X, Y)


# --- einsum_operands_exchanged
def product(x: Axes[Users, Features], y: Axes[Features, Items]) -> Axes[Users, Items]:
    return Tensor.einsum("uf,fi->ui", x, y)  # bug: return Tensor.einsum("uf,if->ui", x, y)


product(X, W)


# --- rows_by_index
def favourites(x: Axes[Users, Features], rows: Axes[Items]) -> Axes[Items, Features]:
    return x[rows]  # bug: return x[:, rows]


favourites(X, best)


# --- one_column_for_one_row
def first(x: Axes[Users, Features]) -> Axes[Features]:
    return x[0]  # bug: return x[:, 0]


first(X)


# --- stacked_on_the_other_side
def both(a: Axes[Users], c: Axes[Users]) -> Axes[Users, Literal[2]]:
    return a.stack(c, dim=1)  # bug: return a.stack(c)


both(u, u)


# --- joined_along_the_other_axis
def wider(x: Axes[Users, Features], z: Axes[Users, Features]) -> Axes[Users, int]:
    return x.cat(z, dim=1)  # bug: return x.cat(z, dim=0)


wider(X, Z)


# --- one_vmap_where_every_pair_was_meant
def scores(x: Axes[Users, Features], y: Axes[Items, Features]) -> Axes[Users, Items]:
    return vmap(lambda p: vmap(lambda q: (p * q).sum())(y))(x)  # bug: return vmap(lambda p, q: (p * q).sum())(x, y)


scores(X, Y)


# --- every_pair_where_one_to_one_was_meant
def matched(x: Axes[Users, Features], z: Axes[Users, Features]) -> Axes[Users]:
    return vmap(lambda p, q: (p * q).sum())(x, z)  # bug: return vmap(lambda p: vmap(lambda q: (p * q).sum())(z))(x)


matched(X, Z)


# --- a_vmap_of_a_vmap_is_not_every_pair
def outer(x: Axes[Users], y: Axes[Items]) -> Axes[Users, Items]:
    return vmap(lambda p: vmap(lambda q: p * q)(y))(x)  # bug: return vmap(lambda p, q: p * q)(x, y)


outer(u, b)


# --- the_other_axis_of_a_matrix
def norms(x: Axes[Users, Features]) -> Axes[Users]:
    return vmap(norm)(x)  # bug: return vmap(norm, in_axes=1)(x)


norms(X)


# --- results_on_the_other_side
def mapped(x: Axes[Users, Features]) -> Axes[Users, Items]:
    return vmap(lambda p: p @ W)(x)  # bug: return vmap(lambda p: p @ W, out_axes=1)(x)


mapped(X)


# --- levels_exchanged
def pairs(x: Axes[Users, Features], y: Axes[Items, Features]) -> Axes[Users, Items]:
    def dot(p: Vec[S, Axes[Features]], q: Axes[Items, Features]) -> Vec[S, Axes[Items]]:
        return q @ p

    return vmap(dot, in_axes=(0, None))(x, y)  # bug: return vmap(dot, in_axes=(0, None), out_axes=-1)(x, y)


pairs(X, Y)

# --- the_whole_batch_in_the_place_of_one_example
vmap(lambda p: norm(p))(X)  # bug: vmap(lambda p: norm(X))(X)

# --- one_example_to_a_function_of_many
means(X[:1])  # bug: means(X[0])


# --- a_batch_that_is_closed_over
def residuals(x: Axes[Users, Features], y: Axes[Users]) -> Axes[Users]:
    return vmap(lambda p, q: w @ p - q)(x, y)  # bug: return vmap(lambda p, q: w @ p - y)(x, y)


residuals(X, u)

# --- a_name_for_another_axis
vmap(norm, axis_name=Users)(X)  # bug: vmap(norm, axis_name=Items)(X)


# --- a_field_the_wrong_way_round
@dataclass
class Model:
    weights: Axes[Features, Items]
    bias: Axes[Items]


Model(W, b)  # bug: Model(W.T, b)


# --- one_axis_too_many
def column_sums(x: Axes[Users, Features]) -> Axes[Features]:
    return x.sum(axis=0)  # bug: return x.sum(axis=0).sum(axis=1)


column_sums(X)
