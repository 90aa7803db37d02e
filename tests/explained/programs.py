"""Functions whose explanations are recorded in this folder."""

from __future__ import annotations

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, cond, grad, linalg, psum, scan, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)


class Users(Brand): ...


class Items(Brand): ...


def zipped(a: Tensor = Tensor([1, 2, 3]), b: Tensor = Tensor([4, 6, 8])) -> Tensor:
    """Two vectors, number by number."""
    return vmap(lambda x, y: x + y)(a, b)


def outer(a: Tensor = Tensor([1, 2, 3]), b: Tensor = Tensor([4, 6])) -> Tensor:
    return vmap(lambda x: vmap(lambda y: x + y * 2)(b))(a)


def softmax(rows: Tensor = Tensor([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])) -> Tensor:
    return vmap(lambda row: (row - row.max()).softmax())(rows)


def distance(x: Vec[S], y: Vec[S1]) -> Vec[S | S1]:
    return (x - y).square().sum()


def nested(
    users: Tensor = Tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]),
    items: Tensor = Tensor([[1.0, 1.0], [2.0, 0.0]]),
) -> Tensor:
    def of_user(u: Vec[Users]) -> Vec[Users]:
        def of_item(i: Vec[Items]) -> Vec[Users | Items]:
            return distance(u, i)

        return vmap(of_item, axis_name=Items)(items)

    return vmap(of_user, axis_name=Users, out_axes=1)(users)


def gradient(w: Tensor = Tensor([1.0, 2.0]), xs: Tensor = Tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])) -> Tensor:
    def loss(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
        return (w * x).sum().square()

    return vmap(grad(loss), in_axes=(None, 0))(w, xs)


def running(rows: Tensor = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) -> Tensor:
    return vmap(lambda row: scan(lambda c, x: (c + x, c * x), Tensor(0.0), row)[1])(rows)


def branch(xs: Tensor = Tensor([4.0, -1.0, 9.0])) -> Tensor:
    return vmap(lambda x: cond(x > 0, lambda x: x.sqrt(), lambda x: x * 0, x))(xs)


def shares(rows: Tensor = Tensor([[1.0, 3.0], [3.0, 1.0]])) -> Tensor:
    return vmap(lambda row: row / psum(row, "i"), axis_name="i")(rows)


def solved(
    a: Tensor = Tensor([[2.0, 0.0], [1.0, 4.0]]), bs: Tensor = Tensor([[2.0, 5.0], [4.0, 6.0], [0.0, 1.0]])
) -> Tensor:
    """One matrix and three right sides, which become its columns: it is factored once."""
    return vmap(lambda b: linalg.solve(a, b))(bs)


PROGRAMS = (zipped, outer, softmax, nested, gradient, running, branch, shares, solved)
