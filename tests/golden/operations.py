"""Derivatives of operations in both modes, for a batch, including ties, zeros and edges."""

# ruff: noqa: E731  short functions read best as one line
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.golden.registry import program


def weights(m: Any, y: Any) -> Any:
    """Return a cotangent with a different value for each element."""
    n = 1
    for k in y.shape:
        n *= k
    return m.cos(m.to_float(m.arange(n)) + 1).reshape(y.shape)


def slopes(m: Any, f: Callable[[Any], Any], xs: Any) -> Any:
    """Return the value and both derivatives for each example."""

    def one(x: Any) -> Any:
        y, dy = m.jvp(f, (x,), (weights(m, x),))
        return y, dy, m.grad(lambda x: (f(x) * weights(m, y)).sum())(x)

    return m.vmap(one)(xs)


# ---- elementwise ----


@program
def trigonometry(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.sin(x), m.cos(x), m.tan(x)]), m.some(4))


@program
def inverse_trigonometry(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.asin(x), m.atan(x)]), m.some(4) * 0.9)


@program
def hyperbolic_functions(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.sinh(x), m.cosh(x), m.tanh(x)]), m.some(4))


@program
def exponentials_and_logarithms(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.exp(x), m.log(x), m.log(1 + m.exp(x))]), m.some(4) + 1.5)


@program
def roots_and_reciprocals(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.sqrt(x), 1 / x, 1 / m.sqrt(x)]), m.some(4) + 1.5)


@program
def activations(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.sigmoid(x), m.softplus(x), m.silu(x), m.gelu(x)]), m.some(4) * 3)


@program
def relu_at_zero(m: Any) -> Any:
    return slopes(m, m.relu, m.array([-1.0, 0.0, 2.0]))


@program
def abs_away_from_zero(m: Any) -> Any:
    return slopes(m, lambda x: m.abs(x) * x, m.array([-2.0, 0.5, 3.0]))


@program
def steps_have_no_slope(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.floor(x), m.round(x), m.sign(x)]) * x, m.array([-1.3, 0.4, 2.6]))


@program
def clip_inside_and_outside(m: Any) -> Any:
    return slopes(m, lambda x: m.clip(x * x, 0.5, 2.0), m.array([0.1, 1.0, -1.2, 3.0]))


@program
def division_of_two(m: Any) -> Any:
    return m.vmap(m.grad(lambda x, y: x / y, (0, 1)))(m.some(4), m.some(4) + 2)


@program
def powers_of_a_negative_base(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([x**2, x**3, x**-1, x**4]), m.array([-1.5, -0.5, 2.0]))


@program
def powers_of_zero(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([x**2, x**3, x**1]), m.array([0.0, 0.5]))


@program
def power_of_two_values(m: Any) -> Any:
    return m.vmap(m.value_and_grad(lambda x, y: x**y, (0, 1)))(m.some(4) + 1.5, m.some(4) * 2)


@program
def second_derivative_of_a_power(m: Any) -> Any:
    return m.vmap(m.grad(m.grad(lambda x: x**2.5)))(m.some(4) + 1.5)


@program
def casts_to_int_stop_the_gradient(m: Any) -> Any:
    return slopes(m, lambda x: m.to_float(m.to_int(x)) * x, m.array([1.5, -2.5, 0.25]))


@program
def maximum_of_two_with_ties(m: Any) -> Any:
    f = m.grad(lambda x, y: m.maximum(x, y) ** 2, (0, 1))
    return m.vmap(f)(m.array([1.0, 2.0, 3.0]), m.array([2.0, 2.0, 2.0]))


@program
def minimum_of_two_with_ties(m: Any) -> Any:
    f = lambda x, y: m.jvp(m.minimum, (x, y), (m.array(1.0), m.array(10.0)))
    return m.vmap(f)(m.array([1.0, 2.0, 3.0]), m.array([2.0, 2.0, 2.0]))


# ---- where ----


@program
def where_with_a_mapped_condition(m: Any) -> Any:
    return slopes(m, lambda x: m.where(x > 0, x**2, -3 * x), m.some(5))


@program
def where_keeps_what_is_not_chosen_out(m: Any) -> Any:
    def f(x: Any) -> Any:
        safe = m.where(x > 0, x, m.array(1.0))
        return m.where(x > 0, m.sqrt(safe), m.array(0.0))

    return slopes(m, f, m.array([-1.0, 0.0, 4.0]))


@program
def where_broadcasts_its_choices(m: Any) -> Any:
    f = lambda x, s: m.where(m.array([True, False, True]), x, s).sum() ** 2
    return m.vmap(m.grad(f, (0, 1)))(m.some(2, 3), m.array([1.0, 2.0]))


@program
def huber_loss(m: Any) -> Any:
    f = lambda x: m.where(m.abs(x) < 1, 0.5 * x * x, m.abs(x) - 0.5)
    return slopes(m, f, m.array([-3.0, -0.5, 0.25, 2.0]))


# ---- reductions ----


@program
def sum_over_axes(m: Any) -> Any:
    return slopes(m, lambda x: (x * x).sum(0) * (x**3).sum((0, 1)), m.some(2, 2, 3))


@program
def mean_and_variance(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([m.mean(x), m.var(x), m.std(x)]), m.some(2, 4))


@program
def max_without_ties(m: Any) -> Any:
    return slopes(m, lambda x: m.max(x, 1) ** 2, m.some(2, 3, 3))


@program
def max_with_ties_shares(m: Any) -> Any:
    return slopes(m, lambda x: m.max(x, 0), m.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]))


@program
def min_with_ties_shares(m: Any) -> Any:
    return slopes(m, lambda x: m.min(x, 0) * x, m.array([[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]]))


@program
def max_over_two_axes_with_ties(m: Any) -> Any:
    return slopes(m, lambda x: m.max(x, (0, 1)), m.array([[[1.0, 4.0], [4.0, 4.0]], [[5.0, 0.0], [0.0, 5.0]]]))


@program
def prod_of_numbers(m: Any) -> Any:
    return slopes(m, lambda x: m.prod(x, 0), m.some(2, 3, 2) + 0.5)


@program
def prod_with_one_zero(m: Any) -> Any:
    return slopes(m, lambda x: m.prod(x, 0), m.array([[2.0, 0.0, 3.0], [0.0, 5.0, -1.0]]))


@program
def prod_with_two_zeros(m: Any) -> Any:
    return slopes(m, lambda x: m.prod(x, 0), m.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))


@program
def hessian_of_a_prod_with_a_zero(m: Any) -> Any:
    return m.hessian(lambda x: m.prod(x))(m.array([2.0, 0.0, 3.0]))


@program
def logsumexp_of_large_numbers(m: Any) -> Any:
    return slopes(m, lambda x: m.logsumexp(x, 0), m.array([[1000.0, 1001.0], [-1000.0, -1000.5]]))


@program
def softmax_over_an_axis(m: Any) -> Any:
    return slopes(m, lambda x: m.softmax(x, 0), m.some(2, 3, 2))


@program
def log_softmax_of_large_numbers(m: Any) -> Any:
    return slopes(m, lambda x: m.log_softmax(x, -1), m.array([[100.0, 101.0, 0.0], [-50.0, 0.0, 50.0]]))


@program
def second_derivative_of_softmax(m: Any) -> Any:
    return m.vmap(m.hessian(lambda x: m.softmax(x, 0)[1]))(m.some(2, 3))


@program
def norms(m: Any) -> Any:
    return slopes(m, lambda x: m.norm(x) * m.norm(x, 0), m.some(2, 3, 2))


@program
def cross_entropy_with_labels(m: Any) -> Any:
    f = lambda x, label: -m.log_softmax(x, 0)[label]
    return m.vmap(m.value_and_grad(f))(m.some(3, 4), m.array([0, 3, 1]))


@program
def layer_normalisation(m: Any) -> Any:
    return slopes(m, lambda x: (x - m.mean(x)) / m.sqrt(m.var(x) + 1e-3), m.some(2, 5))


# ---- scans along an axis ----


@program
def cumsum_along_either_axis(m: Any) -> Any:
    return slopes(m, lambda x: m.cumsum(x, 0) * m.cumsum(x, 1), m.some(2, 3, 2))


@program
def cumsum_from_the_end(m: Any) -> Any:
    return slopes(m, lambda x: m.flip(m.cumsum(m.flip(x, 0), 0), 0) ** 2, m.some(2, 4))


@program
def cumprod_of_numbers(m: Any) -> Any:
    return slopes(m, lambda x: m.cumprod(x, 0), m.some(2, 4) + 0.5)


@program
def cumprod_with_zeros(m: Any) -> Any:
    return slopes(m, lambda x: m.cumprod(x, 0), m.array([[2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 1.0]]))


# ---- order ----


@program
def sort_of_distinct_numbers(m: Any) -> Any:
    return slopes(m, lambda x: m.sort(x), m.some(2, 4))


@program
def sort_downwards_along_the_first_axis(m: Any) -> Any:
    return slopes(m, lambda x: m.sort(x * x, 0, descending=True), m.some(2, 3, 2))


@program
def median_by_sort(m: Any) -> Any:
    return slopes(m, lambda x: m.sort(x)[1], m.some(2, 3))


@program
def argmax_as_an_index(m: Any) -> Any:
    return slopes(m, lambda x: x[m.argmax(x, 0)] * x[m.argmin(x, 0)], m.some(3, 4))


# ---- indexing and movement ----


@program
def gather_with_repeats(m: Any) -> Any:
    return slopes(m, lambda x: x[m.array([0, 2, 2, 1, 2])] ** 2, m.some(2, 3))


@program
def gather_with_a_mapped_index(m: Any) -> Any:
    f = lambda x, i: (x[i] ** 2).sum()
    return m.vmap(m.grad(f), in_axes=(None, 0))(m.some(4, 2), m.array([[0, 1], [3, 3], [2, 0]]))


@program
def gather_of_negative_indices(m: Any) -> Any:
    return slopes(m, lambda x: x[m.array([-1, 0, -2])], m.some(2, 3))


@program
def gather_by_two_indices(m: Any) -> Any:
    return slopes(m, lambda x: x[m.array([0, 1, 1]), m.array([2, 0, 0])] ** 2, m.some(2, 2, 3))


@program
def gather_of_rows_by_a_matrix(m: Any) -> Any:
    return slopes(m, lambda x: x[m.array([[0, 1], [1, 1]])].sum(0), m.some(2, 2, 2))


@program
def take_along_an_axis(m: Any) -> Any:
    i = m.array([[0, 2, 1], [1, 1, 0]])
    return slopes(m, lambda x: m.take_along_axis(x, i, 1) * x, m.some(2, 2, 3))


@program
def embedding_of_a_sentence(m: Any) -> Any:
    f = lambda table, words: m.tanh(table[words]).mean(0).sum()
    return m.grad(lambda t: m.vmap(f, (None, 0))(t, m.array([[0, 1, 1], [2, 0, 3]])).sum())(m.some(4, 2))


@program
def slices_with_steps(m: Any) -> Any:
    return slopes(m, lambda x: x[1::2] * x[:-1:2] + x[::-1][:2], m.some(2, 4))


@program
def put_one_row(m: Any) -> Any:
    f = lambda x, v: (m.put(x, 1, v) ** 2).sum()
    return m.vmap(m.grad(f, (0, 1)))(m.some(2, 3, 2), m.array([[1.0, 2.0], [3.0, 4.0]]))


@program
def movement(m: Any) -> Any:
    f = lambda x: m.flip(m.roll(m.transpose(x.reshape(3, 2), (1, 0)), 1, 1), 0)
    return slopes(m, lambda x: f(x) ** 2, m.some(2, 6))


@program
def pad_concat_and_stack(m: Any) -> Any:
    f = lambda x: m.concat([m.pad(x, ((1, 0), (0, 2))), m.stack([x[0], x[1]])[:, :1] * m.ones((2, 5))])
    return slopes(m, f, m.some(2, 2, 3))


@program
def triangles_and_diagonals(m: Any) -> Any:
    return slopes(m, lambda x: m.tril(x, -1) + m.triu(x) ** 2 + m.diag(x[0]), m.some(2, 3, 3))


# ---- contractions ----


@program
def matmul_of_two_matrices(m: Any) -> Any:
    f = lambda a, b: (m.sin(a @ b)).sum()
    return m.vmap(m.grad(f, (0, 1)), in_axes=(0, None))(m.some(2, 2, 3), m.some(3, 2))


@program
def matmul_of_batched_matrices(m: Any) -> Any:
    f = lambda a, b: a @ b
    a, b = m.some(2, 2, 3), m.some(3, 2)
    return m.jvp(f, (a, b), (m.ones((2, 2, 3)), b * 2)), m.vjp(f, a, b)[1](m.some(2, 2, 2))


@program
def matmul_of_vectors(m: Any) -> Any:
    return slopes(m, lambda x: m.stack([x[0] @ x[1], x[1] @ m.some(3, 3) @ x[0]]), m.some(2, 2, 3))


@program
def einsum_of_three(m: Any) -> Any:
    f = lambda a, b, c: m.einsum("ij,jk,k->i", a, b, c)
    return m.vmap(m.jacrev(f, (0, 2)), in_axes=(0, None, 0))(m.some(2, 2, 2), m.some(2, 3), m.some(2, 3))


@program
def attention(m: Any) -> Any:
    f = lambda q, k, v: (m.softmax(q @ m.transpose(k, (1, 0)), -1) @ v).sum()
    return m.vmap(m.grad(f, (0, 1, 2)))(m.some(2, 2, 2), m.some(2, 3, 2), m.some(2, 3, 2))


@program
def convolution(m: Any) -> Any:
    f = lambda w, x: m.tanh(m.conv(x, w))
    w, x = m.some(2, 1, 2, 2), m.some(1, 1, 4, 4)
    return m.vjp(f, w, x)[1](m.ones((1, 2, 3, 3))), m.jvp(f, (w, x), (m.ones((2, 1, 2, 2)), x))[1].sum((2, 3))


@program
def convolution_with_stride_and_padding(m: Any) -> Any:
    f = lambda w, x: (m.conv(x, w, stride=2, padding=1) ** 2).sum()
    return m.vmap(m.grad(f, (0, 1)), in_axes=(None, 0))(m.some(1, 1, 2, 2), m.some(2, 1, 1, 3, 3))


@program
def per_example_gradients_of_a_convolution(m: Any) -> Any:
    f = lambda w, x: m.relu(m.conv(x.reshape(1, 1, 4, 4), w) - 0.1).mean()
    return m.vmap(m.grad(f), in_axes=(None, 0))(m.some(1, 1, 2, 2), m.some(3, 4, 4))


@program
def max_pooling(m: Any) -> Any:
    return slopes(m, lambda x: m.max_pool(x.reshape(1, 1, 4, 4), 2), m.some(2, 16))


@program
def a_small_network(m: Any) -> Any:
    def loss(p: Any, x: Any, y: Any) -> Any:
        h = m.relu(x @ p["w1"] + p["b1"])
        return -m.log_softmax(h @ p["w2"], 0)[y]

    p = {"w1": m.some(3, 4), "b1": m.some(4) * 0.1, "w2": m.some(4, 2)}
    return m.vmap(m.value_and_grad(loss), in_axes=(None, 0, 0))(p, m.some(2, 3), m.array([1, 0]))


# ---- where a derivative is not finite ----


@program(finite=False)
def edges_of_a_domain(m: Any) -> Any:
    return m.vmap(m.grad(lambda x: m.sqrt(x)))(m.array([0.0, 4.0])), m.vmap(m.grad(m.log))(m.array([0.0, 2.0]))
