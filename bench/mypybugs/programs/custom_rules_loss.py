"""Losses with derivative rules of their own: custom_vjp, custom_jvp, and Jacobians per example."""

from __future__ import annotations

from typing import Any

from branded import Vec, custom_jvp, custom_vjp, grad, hessian, jacrev, jvp, value_and_grad, vmap
from branded.typing import S, S1
from tinygrad import Tensor

EXAMPLES, WIDTH = 5, 3


@custom_jvp
def log1pexp(x: Vec[S]) -> Vec[S]:
    return (1 + x.exp()).log()


@log1pexp.defjvp
def log1pexp_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return log1pexp(x), x.sigmoid() * dx


@custom_vjp
def clip_gradient(x: Vec[S], top: float) -> Vec[S]:
    return x * 1


def clip_forward(x: Vec[S], top: float) -> tuple[Vec[S], float]:
    return x * 1, top


def clip_backward(top: float, ct: Vec[S]) -> tuple[Vec[S], None]:
    return ct.clip(-top, top), None  # if: return ct.clip(-top, top) if ct.abs() > top else ct, None


clip_gradient.defvjp(clip_forward, clip_backward)


def logit(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (clip_gradient(w, 0.5) * x).sum()  # read: return (clip_gradient(w, 0.5) * x).sum().item() * w.sum()


def loss(w: Vec[S], x: Vec[S1], y: Vec[S1]) -> Vec[S | S1]:
    return log1pexp(logit(w, x)) - y * logit(w, x)  # if: return log1pexp(logit(w, x)) - y * logit(w, x) if y else log1pexp(logit(w, x))


def squared(w: Vec[S], x: Vec[S1], y: Vec[S1]) -> Vec[S | S1]:
    return log1pexp((w * x).sum()) + (w * x).sum().square() * y


def newton(w: Vec[S], x: Vec[S1], y: Vec[S1]) -> Vec[S | S1]:
    g = grad(loss)(w, x, y)
    h = hessian(squared)(w, x, y) + Tensor.eye(WIDTH)  # axis: h = hessian(squared)(w, x, y) + Tensor.eye(EXAMPLES)
    return w - (h @ g)


def features(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (w * x).sin().stack((w * x).cos())


w = Tensor([0.5, -1.0, 2.0])
xs = Tensor.arange(EXAMPLES * WIDTH).reshape(EXAMPLES, WIDTH).float() * 0.2 - 1
ys = Tensor([0.0, 1.0, 1.0, 0.0, 1.0])
values, slopes = vmap(value_and_grad(loss), in_axes=(None, 0, 0))(w, xs, ys)  # none: values, slopes = vmap(value_and_grad(loss))(w, xs, ys)
steps = vmap(newton, in_axes=(None, 0, 0))(w, xs, ys)  # none: steps = vmap(newton, in_axes=(None, 0, None))(w, xs, ys)
jacobians = vmap(jacrev(features), in_axes=(None, 0), out_axes=2)(w, xs)  # out: jacobians = vmap(jacrev(features), in_axes=(None, 0))(w, xs)
mixed = vmap(lambda j, x: j * x, in_axes=(2, 0))(jacobians, xs)
_, tangents = vmap(lambda x: jvp(lambda v: log1pexp((v * x).sum()), (w,), (Tensor.ones(WIDTH),)))(xs)  # axis: _, tangents = vmap(lambda x: jvp(lambda v: log1pexp((v * x).sum()), (w,), (Tensor.ones(EXAMPLES),)))(xs)
weighted = vmap(lambda s, t: s * t)(slopes, tangents)  # axis: weighted = vmap(lambda s, t: s * t)(slopes.T, tangents)
every = vmap(lambda v: vmap(lambda x, y: loss(v, x, y))(xs, ys))(steps[:2])  # zip: every = vmap(lambda v, x, y: loss(v, x, y))(steps[:2], xs, ys)
mean_slope = grad(lambda v: vmap(loss, in_axes=(None, 0, 0))(v, xs, ys).mean())(w)  # none: mean_slope = grad(lambda v: vmap(loss, in_axes=(None, 0, None))(v, xs, ys).mean())(w)
positive = vmap(lambda v: (v > 0.5).where(v, 0 * v))(values)  # if: positive = vmap(lambda v: v if v > 0.5 else 0 * v)(values)
result = values, slopes, steps, jacobians, mixed, tangents, weighted, every, mean_slope, positive
