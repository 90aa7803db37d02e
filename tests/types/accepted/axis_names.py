"""Tensors whose axes are known by name."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar, Union, assert_type, reveal_type

from tinygrad import Tensor, dtypes

from branded import (
    Axes,
    Brand,
    Vec,
    all_gather,
    as_axes,
    associative_scan,
    axes,
    brand,
    cond,
    fori_loop,
    functions,
    grad,
    jacrev,
    linalg,
    pmean,
    psum,
    scan,
    vmap,
    while_loop,
)
from branded import map as each

S = TypeVar("S", bound=Brand)
N = TypeVar("N", bound=Brand)
M = TypeVar("M", bound=Brand)


class Users(Brand): ...


class Items(Brand): ...


class Features(Brand): ...


X = as_axes(Tensor.ones(4, 3), Users, Features)
Y = as_axes(Tensor.ones(2, 3), Items, Features)
W = as_axes(Tensor.ones(3, 2), Features, Items)
u = as_axes(Tensor.ones(4), Users)
w = as_axes(Tensor.ones(3), Features)
plain = Tensor.ones(4, 3)


# --- results of as_axes
assert_type(X, Axes[Users, Features])
assert_type(as_axes(plain, 4, Features), Axes[Literal[4], Features])
assert_type(as_axes(plain, None, Features), Axes[int, Features])
assert_type(as_axes(Tensor(1.0)), Axes[()])
assert [*axes(X)] == [Users, Features]


# --- a Tensor goes where axes are wanted, and axes where a Tensor is
def total(x: Tensor) -> Tensor:
    return x.sum()


def means(x: Axes[Users, Features]) -> Axes[Users]:
    return x.mean(axis=1)


total(X)
means(X)
means(plain)
several: list[Tensor] = [X, plain]
named: Axes[Items, Users] = plain


# --- any axis, and a length
def columns(x: Axes[int, Literal[3]]) -> Axes[int]:
    return x.sum(axis=1)


columns(as_axes(plain, Users, 3))

# --- elementwise, by broadcasting from the right
assert_type(X + w, Axes[Users, Features])
assert_type(2 * X - 1, Axes[Users, Features])
assert_type(-(X**2), Axes[Users, Features])
assert_type(X - X.mean(axis=0, keepdim=True), Axes[Users, Features])
assert_type(u.unsqueeze(-1) * w, Axes[Users, Features])
assert_type(u[:, None] + w, Axes[Users, Features])
assert_type((X > 0).where(X, 0.0), Axes[Users, Features])
assert_type(X.maximum(w).clip(0, 1).exp().softmax(axis=-1), Axes[Users, Features])
assert_type(X + plain, Tensor)
assert_type(plain + X, Tensor)
assert_type(X.unsqueeze(0) + as_axes(Tensor.ones(5, 1, 1), 5, 1, 1), Axes[Literal[5], Users, Features])

# --- in place
Z = as_axes(Tensor.ones(4, 3), Users, Features)
Z += w
assert_type(Z, Axes[Users, Features])

# --- reductions
n = plain.ndim - 1
assert_type(X.sum(axis=0), Axes[Features])
assert_type(X.sum((0, 1)), Axes[()])
assert_type(X.max(axis=-1, keepdim=True), Axes[Users, Literal[1]])
assert_type(X.argmax(axis=1), Axes[Users])
assert_type(X.sum(), Axes[()])
assert_type(X.sum(axis=n), Tensor)
assert_type(X.sort(), tuple[Axes[Users, Features], Axes[Users, Features]])

# --- order
assert_type(X.T, Axes[Features, Users])
assert_type(X.transpose(0, 1), Axes[Features, Users])
assert_type(X.permute(1, 0), Axes[Features, Users])
assert_type(X.unsqueeze(0).permute((2, 0, 1)), Axes[Features, Literal[1], Users])

# --- shapes
assert_type(X.unsqueeze(1).squeeze(1), Axes[Users, Features])
assert_type(w.expand(7, -1), Axes[Literal[7], Features])
assert_type(X.reshape(-1, 6), Axes[int, Literal[6]])
assert_type(X.reshape(plain.shape), Tensor)
assert_type(X.stack(X, X), Axes[Literal[3], Users, Features])
assert_type(Tensor.stack(X, X, dim=-1), Axes[Users, Features, Literal[2]])
assert_type(X.cat(Y, dim=0), Axes[int, Features])

# --- indexing
assert_type(X[0], Axes[Features])
assert_type(X[:, n], Axes[Users])
assert_type(X[..., None], Axes[Users, Features, Literal[1]])
assert_type(X[1:], Axes[int, Features])
assert_type(X[[0, 2]], Axes[int, Features])
assert_type(Y[as_axes(Tensor([0, 1, 1]), 3)], Axes[Literal[3], Features])
assert_type(X[plain.int()], Tensor)

# --- a loop over the first axis
for row in X:
    assert_type(row, Axes[Features])
assert_type([row.sum() for row in X], list[Axes[()]])

# --- products
assert_type(X @ w, Axes[Users])
assert_type(X @ W, Axes[Users, Items])
assert_type(X @ X.T, Axes[Users, Users])
assert_type(w @ w, Axes[()])
assert_type(X.dot(W), Axes[Users, Items])
assert_type(X.linear(W), Axes[Users, Items])
assert_type(X @ plain.T, Tensor)
assert_type(Tensor.einsum("uf,fi->iu", X, W), Axes[Items, Users])
assert_type(Tensor.einsum("uf,if", X, Y), Axes[Items, Users])
assert_type(Tensor.einsum("uf,fk->uk", X, plain.T), Axes[Users, int])


# --- functions that are generic in the names
def unit(x: Axes[N]) -> Axes[N]:
    return x / x.sum()


assert_type(unit(u), Axes[Users])
assert_type(unit(w), Axes[Features])


# --- vmap takes the axis off, and puts it on
def norm(x: Vec[S, Axes[Features]]) -> Vec[S, Axes[()]]:
    return (x * x).sum().sqrt()


assert_type(vmap(norm)(X), Axes[Users])
assert_type(vmap(norm, axis_name=Users)(X), Axes[Users])
assert_type(vmap(norm, in_axes=1)(X.T), Axes[Users])
assert_type(vmap(norm)(plain), Axes[int])
assert_type(vmap(lambda x: x.sum(), in_axes=1)(X), Axes[Features])
assert_type(vmap(lambda x: x + 1, out_axes=1)(X), Axes[Features, Users])
assert_type(vmap(lambda x, y: x * y)(X, u), Axes[Users, Features])
assert_type(vmap(lambda x, y: x @ y, in_axes=(0, None))(X, W), Axes[Users, Items])
assert_type(vmap(lambda x: (x, [x.sum()]))(X), tuple[Axes[Users, Features], list[Axes[Users]]])

# --- every pair
assert_type(vmap(lambda x: vmap(lambda y: (x * y).sum())(Y))(X), Axes[Users, Items])
assert_type(vmap(lambda x: vmap(lambda y: (x * y).sum())(Y), out_axes=1)(X), Axes[Items, Users])

# --- a mapped function that is kept
norms = vmap(norm)
assert_type(norms(X), Axes[int])
norms(plain)
by_user = vmap(norm, axis_name=Users)
assert_type(by_user(X), Axes[Users])
columnwise = vmap(norm, in_axes=1, axis_name=Items)
assert_type(columnwise(W), Axes[Items])

# --- a brand that is entered
with brand(Users, 4) as users:
    x = users.vec(X)
    assert_type(x, Vec[Users, Axes[Features]])
    assert_type(users.unvec(x.sum()), Axes[Users])
    assert_type(users.unvec(x, axis=1), Axes[Features, Users])


# --- fields
@dataclass
class Table:
    rows: Axes[Users, Features]
    weights: Axes[Features]

    def scores(self) -> Axes[Users]:
        return self.rows @ self.weights


assert_type(Table(X, w).scores(), Axes[Users])


# --- a class that is generic in names
@dataclass
class Dense(Generic[N, M]):
    weights: Axes[N, M]

    def __call__(self, x: Axes[N]) -> Axes[M]:
        return x @ self.weights


assert_type(Dense(W)(w), Axes[Items])

# --- tensors of several axes, side by side
parameters: list[Tensor] = [W, w]
means(parameters[0].T)

# --- unknown axes give a Tensor
assert_type(associative_scan(lambda a, b: a + b, X), Tensor)
assert_type(jacrev(lambda x: x * 2.0)(w), Tensor)
assert_type(grad(lambda x: (x * x).sum())(w), Axes[Features])
assert_type(list(X), list[Tensor])
assert_type(X.unfold(0, 2, 1), Tensor)


# --- a list of tensors of several axes says nothing of them
def listed(x: Vec[S]) -> Vec[S]:
    tensors, values = [X, X.T, Y], {"x": x, "X": X[0]}
    assert_type(tensors, list[Tensor])
    assert_type(values, dict[str, Vec[S, Tensor]])
    alike = [X, X * 2]
    assert_type(alike, list[Axes[Users, Features]])
    return (values["x"] + tensors[0][0]).sum() + len(alike)


assert_type(vmap(listed)(X), Tensor)
assert_type(vmap(lambda x: [x, Y])(X), list[Tensor])


# --- loops remove the first axis and add it to the results
T = as_axes(Tensor.ones(5, 3), Items, Features)
assert_type(scan(lambda c, x: (c + x, (c * x).sum()), w, T), tuple[Axes[Features], Axes[Items]])
assert_type(scan(lambda c, x: (c + x, None), Tensor.zeros(3), T), tuple[Tensor, None])
assert_type(each(lambda x: x * 2, T), Axes[Items, Features])
assert_type(fori_loop(0, 3, lambda i, c: c * 2, w), Axes[Features])
assert_type(while_loop(lambda c: c.sum() < 30, lambda c: c * 2, w), Axes[Features])
assert_type(vmap(lambda x: scan(lambda c, y: (c + y, c.sum()), x, T)[1])(X), Axes[Users, Items])

# --- branches that have the same axes
assert_type(cond(w.sum() > 0, lambda: w, lambda: -w), Axes[Features])
assert_type(cond(w.sum() > 0, lambda: w, lambda: Tensor.zeros(3)), Tensor)

# --- collectives over an axis
assert_type(vmap(lambda x: psum(x, Users), axis_name=Users, out_axes=None)(X), Axes[Features])
assert_type(vmap(lambda x: x - pmean(x, Users), axis_name=Users)(X), Axes[Users, Features])
assert_type(vmap(lambda x: all_gather(x, Users, axis=1), axis_name=Users, out_axes=None)(X), Axes[Features, Users])
assert_type(vmap(lambda x: all_gather(x, Users, tiled=True), axis_name=Users, out_axes=None)(X), Tensor)

# --- functions and linear algebra
assert_type(linalg.pinv(X), Axes[Features, Users])
assert_type(linalg.norm(X, axis=1), Axes[Users])
assert_type(linalg.norm(X, axis=1, keepdims=True), Axes[Users, Literal[1]])
assert_type(linalg.det(X.T @ X), Axes[()])
assert_type(functions.median(X, axis=0), Axes[Features])
assert_type(functions.logaddexp(X, w), Axes[Users, Features])
assert_type(functions.fft(X), tuple[Tensor, Tensor])
assert_type(vmap(lambda x: linalg.norm(x))(X), Axes[Users])

# --- one axis of all, and axes of length 1
assert_type(X.flatten(), Axes[int])
assert_type(as_axes(Tensor.ones(1, 3), 1, Features).squeeze(0), Axes[Features])
assert_type(as_axes(Tensor.ones(1, 3), 1, Features).squeeze(), Tensor)

# --- names in a tuple, which nobody follows
both = (Users, Features)
assert_type(as_axes(plain, *both), Tensor)

# --- an axis of a result, counted from its end
assert_type(vmap(lambda x: x + 1, out_axes=-1)(X), Axes[Features, Users])


# --- an einsum of nothing
def of_nothing() -> Tensor:
    return Tensor.einsum("u->u")


# --- recursive types, and lists of lists
Forest = Union[Axes[Users], list["Forest"]]  # noqa: UP007  a `|` of a text does not run


def planted() -> Forest:
    return [u, [u]]


grown = vmap(lambda f: f.sum() if isinstance(f, Tensor) else Tensor(0.0))(planted())
assert_type(grown, Axes[Users] | Tensor)
i = int(Tensor(1).item())
assert_type(X[[i, 0]], Axes[int, Features])
assert_type(X[[[i, 0], [0, 1]]], Tensor)

# --- recursive types of batched values are unchanged
Grove = Union[Vec[S, Axes[Users, Features]], list["Grove[S]"]]  # noqa: UP007


def replanted(g: "Grove[Users]") -> None:
    vmap(lambda t: reveal_type(t))(g)  # N: .Features]] | list[...]"


# --- numbers of another size
assert_type(X.bitcast(dtypes.int8), Axes[Users, int])
assert_type(X.argmax(keepdim=True), Axes[()])
