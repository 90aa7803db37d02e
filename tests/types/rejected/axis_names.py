"""Mistakes with the axes of tensors."""

from typing import Literal, TypeVar

from tinygrad import Tensor

from branded import Axes, Brand, Vec, all_gather, as_axes, brand, functions, linalg, scan, vmap

S = TypeVar("S", bound=Brand)


class Users(Brand): ...


class Items(Brand): ...


class Features(Brand): ...


X = as_axes(Tensor.ones(4, 3), Users, Features)
Y = as_axes(Tensor.ones(2, 3), Items, Features)
W = as_axes(Tensor.ones(3, 2), Features, Items)
u = as_axes(Tensor.ones(4), Users)
w = as_axes(Tensor.ones(3), Features)


def norm(x: Vec[S, Axes[Features]]) -> Vec[S, Axes[()]]:
    return (x * x).sum().sqrt()


def means(x: Axes[Users, Features]) -> Axes[Users]:
    return x.mean(axis=1)


# --- a table the wrong way round
means(X.T)  # E: incompatible type "Axes[Features, Users]"; expected "Axes[Users, Features]"


# --- another table
means(Y)  # E: incompatible type "Axes[Items, Features]"; expected "Axes[Users, Features]"


# --- the mean over the other axis
def means_by_user(x: Axes[Users, Features]) -> Axes[Users]:
    return x.mean(axis=0)  # E: got "Axes[Features]", expected "Axes[Users]"


# --- a transposed result
def scores(x: Axes[Users, Features], y: Axes[Items, Features]) -> Axes[Users, Items]:
    return y @ x.T  # E: got "Axes[Items, Users]", expected "Axes[Users, Items]"


# --- a product whose inner axes differ
X @ Y  # E: @: the inner axes are `Features` and `Items`
X.dot(u)  # E: dot: the inner axes are `Features` and `Users`
w @ X  # E: @: the inner axes are `Features` and `Users`

# --- broadcasting against another axis
X - u  # E: -: `Features` differs from `Users` at axis -1
X + X.T  # E: +: `Users` differs from `Features` at axis -2
(X > 0).where(X, u)  # E: where: `Features` differs from `Users` at axis -1
X *= u  # E: *: `Features` differs from `Users` at axis -1

# --- lengths that differ
as_axes(Tensor.ones(3), 3) + as_axes(Tensor.ones(3, 4), 3, 4)  # E: +: `Literal[3]` differs from `Literal[4]` at axis -1

# --- a sort along an axis that is not there
X.sort(dim=2)  # E: sort: axis 2 of a tensor with 2 axes

# --- a reduction over an axis that is not there
X.sum(axis=2)  # E: sum: axis 2 of a tensor with 2 axes
X.sum(axis=(0, -3))  # E: sum: axis -3 of a tensor with 2 axes
w.softmax(axis=1)  # E: softmax: axis 1 of a tensor with 1 axis

# --- too many indices
X[0, 0, 0]  # E: []: 3 indices for a tensor with 2 axes
X[:, 0][:, 0]  # E: []: 2 indices for a tensor with 1 axis

# --- axes that are not there to move
turned = w.T  # E: T: a tensor with 1 axis has no two axes to swap
X.permute(0, 2, 1)  # E: permute: 3 positions for a tensor with 2 axes
X.transpose(0, 2)  # E: transpose: axis 2 of a tensor with 2 axes
X.expand(5)  # E: expand: 1 length for a tensor with 2 axes
X.unsqueeze(3)  # E: unsqueeze: axis 3 of a tensor with 2 axes

# --- tensors of other axes side by side
X.stack(X.T)  # E: stack: `Users` differs from `Features` at axis 0
X.cat(Y, dim=1)  # E: cat: `Users` differs from `Items` at axis 0
X.cat(w)  # E: cat: 2 axes and 1 axis

# --- einsum
Tensor.einsum("uf,if->ui", X, W)  # E: einsum: `f` is `Features` and `Items`
Tensor.einsum("uf,uf->u", X, Y)  # E: einsum: `u` is `Users` and `Items`
Tensor.einsum("uf,f->u", X, X)  # E: einsum: `f` is for a tensor with 1 axis, and this one has 2 axes

# --- vmap over the other axis
vmap(norm, in_axes=1)(X)  # E: argument 1 is mapped, but norm wants "Vec[x, Axes[Features]]" for one example

# --- the axis that a brand is not
vmap(norm, axis_name=Items)(X)  # E: axis_name: Items, and argument 1 is mapped over `Users`
with brand(Items, 4) as items:
    items.vec(X)  # E: axis_name: Items, and x is mapped over `Users`

# --- two axes that do not go together, where every pair was meant
vmap(lambda x, y: (x * y).sum())(X, Y)  # E: vmap: `Users` of argument 1 is zipped with `Items` of argument 2

# --- an axis that is not there
vmap(norm, in_axes=2)(X)  # E: in_axes: axis 2 of argument 1, which has 2

# --- all examples, given to a function of one
norm(X)  # E: incompatible type "Axes[Users, Features]"; expected "Vec[Never, Axes[Features]]"

# --- one example, given to a function of all
vmap(lambda x: means(x))(X)  # E: incompatible type "Vec[x, Axes[Features]]"; expected "Axes[Users, Features]"

# --- the results on the other side
table: Axes[Users, Items] = vmap(lambda y: X @ y)(Y)  # E: expression has type "Axes[Items, Users]"

# --- a mapped function that is kept
norms = vmap(norm, axis_name=Users)
norms(Y)  # E: incompatible type "Axes[Items, Features]"; expected "Axes[Users, Features]"
norms(X.T)  # E: incompatible type "Axes[Features, Users]"; expected "Axes[Users, Features]"

# --- lengths
three: Axes[Users, Literal[3]] = as_axes(Tensor.ones(4, 4), Users, 4)  # E: has type "Axes[Users, Literal[4]]"
as_axes(X, Users)  # E: as_axes: 1 name for a tensor with 2 axes


# --- types that are not axes
def wrong(x: Axes[str]) -> None:  # E: Axes: str is not an axis
    print(x.shape)


# --- an operator in the result of a function gives one error
def centered(x: Axes[Users, Features]) -> Axes[Users, Features]:
    return x - x.mean(axis=1)  # E: -: `Features` differs from `Users` at axis -1


def above(x: Axes[Users, Features]) -> Tensor:
    return x > x.mean(axis=1)  # E: >: `Features` differs from `Users` at axis -1


def shifted(x: Axes[Users, Features]) -> Axes[Users, Features]:
    x += u  # E: `Features` differs from `Users` at axis -1
    return 1 - (x * u)  # E: *: `Features` differs from `Users` at axis -1


# --- a carry that changes its axes
scan(lambda c, x: (c.sum(), None), w, X)  # E: scan: the carry has other axes after a step than before

# --- two tensors that do not begin with the same axis
scan(lambda c, x: (c, x[0] + x[1]), w, (X, Y))  # E: scan: `Users` of xs is zipped with `Items` of xs


# --- the outputs of a loop begin with the axis of its steps
def running(x: Axes[Users, Features]) -> Axes[Features, Users]:
    return scan(lambda c, y: (c + y, c), w, x)[1]  # E: got "Axes[Users, Features]", expected "Axes[Features, Users]"


# --- all_gather puts its axis first
def gathered(x: Axes[Users, Features]) -> Axes[Features, Users]:
    return vmap(lambda y: all_gather(y, Users), axis_name=Users, out_axes=None)(x)  # E: Axes[Users, Features]


# --- functions with incompatible operands
functions.logaddexp(X, u)  # E: logaddexp: `Features` differs from `Users` at axis -1
linalg.det(u)  # E: det: a matrix has two axes, and this has 1 axis
linalg.norm(X, axis=2)  # E: norm: axis 2 of a tensor with 2 axes
means(linalg.pinv(X))  # E: incompatible type "Axes[Features, Users]"; expected "Axes[Users, Features]"

# --- an operand of an operand in a lambda, which mypy only tries at first
vmap(lambda a: a.stack(1 + (X @ Y)))(Tensor.ones(2, 4, 2))  # E: @: the inner axes are `Features` and `Items`


# --- a function of one row that is not generic in brands
def mean_of(row: Axes[Features]) -> Axes[()]:
    return row.mean()


vmap(mean_of)(X)  # E: argument 1 is mapped, but mean_of wants "Axes[Features]" for one example


# --- a function of shared values is mapped over data with axes
def of_shared(x: Tensor) -> Tensor:
    return x.sum()


vmap(of_shared)(X)  # E: as Vec[S], or map lift(of_shared): in a file with Vec, Tensor is a shared value
