"""Derivatives of values that have none, and gradients used as shared values."""

from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, brand, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
w, x = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor([[1.0, 0.0], [0.0, 1.0]])


class Users(Brand): ...


class Items(Brand): ...


def loss(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (w * x).sum()


# --- a gradient per example is taken for one that all share
vmap(grad(loss), in_axes=(None, 0), out_axes=None)(w, X)  # E: out_axes: None needs a result

# --- a gradient per example is taken for one that all share, in a lambda
vmap(lambda a: grad(lambda v: (v * a).sum())(w), out_axes=None)(X)  # E: out_axes: None needs a result

# --- a gradient per example, by value_and_grad
vmap(lambda a: value_and_grad(loss)(w, a), out_axes=(0, None))(X)  # E: out_axes: None needs a result


# --- a gradient per example in a variable of Tensor
def per_example(a: Vec[S]) -> Tensor:
    return grad(loss)(w, a)  # E: Incompatible return value type (got "Vec[S, Tensor]", expected "Tensor")


# --- the row of the other argument is left out
def of_two(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return grad(loss)(a, b)  # E: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S, Tensor]")


# --- the row of the other argument is left out, by argnums
def of_both(a: Vec[Users], b: Vec[Items]) -> tuple[Vec[Users], Vec[Items]]:
    return grad(loss, argnums=(0, 1))(a, b)  # E: Incompatible return value type


# --- a gradient is read
vmap(lambda a: grad(loss)(w, a).numpy())(X)  # E: numpy: a value that varies over "a" has no single value to read

# --- the argument of the function is read
vmap(grad(lambda v: v * v.item()))(x)  # E: item: a value that varies over "v" has no single value to read


# --- if on the argument of the function
def relu(v: Vec[S]) -> Vec[S]:
    return v if v > 0 else 0 * v  # E: bool: a value that varies over "S" has no single truth value


# --- if on a value in the closure
vmap(lambda a: grad(lambda v: v if a.sum() > 0 else -v)(2.0))(X)  # E: bool: a value that varies over "a"


# --- a function of tensors with a batched argument
def plain(v: Tensor, a: Tensor) -> Tensor:
    return (v * a).sum()


vmap(grad(plain), in_axes=(None, 0))(w, X)  # E: argument 2 is mapped, but plain wants "Tensor" for one example
vmap(lambda a: grad(plain)(w, a))(X)  # E: Argument 2 to "plain" has incompatible type "Vec[a, Tensor]"; expected "Tenso

# --- grad of a pair
grad(lambda v: (v.sum(), v))(w)  # E: grad: the function must return a scalar, and it returns "tuple[Tensor, Tensor]"

# --- grad of a dict
grad(lambda v: {"loss": v.sum()})(w)  # E: grad: the function must return a scalar, and it returns "dict[str, Tensor]"


# --- grad of a named function that gives a pair
def pair(v: Vec[S]) -> tuple[Vec[S], str]:
    return v.sum(), "text"


grad(pair)(w)  # E: grad: the function must return a scalar, and it returns "tuple[Tensor, str]"

# --- grad of a named function that gives a pair, stored
stored = grad(pair)  # E: grad: the function must return a scalar, and it returns "tuple[Vec[S, Tensor], str]"

# --- grad of a function that gives a string
grad(lambda v: "text")(w)  # E: grad: the function must return a scalar, and it returns "str"

# --- grad of a function that gives None
grad(lambda v: print(v))(w)  # E: grad: the function must return a scalar, and it returns "None"

# --- value_and_grad of a list
value_and_grad(lambda v: [v.sum()])(w)  # E: value_and_grad: the function must return a scalar, and it returns "list[Te

# --- has_aux without a pair
grad(lambda v: v.sum(), has_aux=True)(w)  # E: grad: has_aux=True needs a pair, and the function returns "Tensor"

# --- has_aux with a triple
grad(lambda v: (v.sum(), v, v), has_aux=True)(w)  # E: grad: has_aux=True needs a pair, and the function returns

# --- a derivative with respect to an int
grad(lambda n: w.sum() * n)(3)  # E: grad: argument 1 is an int, and only floats have derivatives

# --- a derivative with respect to a string
grad(lambda v, s: v.sum(), argnums=1)(w, "text")  # E: grad: argument 2 is a str, and only floats have derivatives

# --- a derivative with respect to a bool in a tree
grad(lambda p: p[0].sum())((w, True))  # E: grad: argument 1[1] is a bool, and only floats have derivatives

# --- a derivative with respect to a function
grad(lambda f, v: f(v), argnums=0)(pair, w)  # E: grad: argument 1 is a function, and only floats have derivatives


# --- a derivative with respect to an int, of a named function
def times(v: Vec[S], n: int) -> Vec[S]:
    return v.sum() * n


by_times = grad(times, argnums=1)  # E: grad: argument 2 is an int, and only floats have derivatives

# --- argnums out of range
grad(lambda v: v.sum(), argnums=1)(w)  # E: grad: argnums=1 is out of range for a call with 1 positional argument

# --- argnums out of range, one of several
grad(loss, argnums=(0, 2))(w, x)  # E: grad: argnums=(0, 2) is out of range for a call with 2 positional arguments

# --- argnums that are no numbers
grad(loss, argnums="w")  # E: grad

# --- has_aux that is not a bool
grad(loss, has_aux="yes")  # E: grad

# --- an option that there is not
grad(loss, argnum=1)  # E: Unexpected keyword argument "argnum"  E: No overload variant

# --- too few arguments
grad(loss)(w)  # E: Missing positional argument "x" in call to "loss"

# --- too many arguments
vmap(grad(lambda v: v.sum()))(X, X)  # E: too many arguments

# --- a string for a tensor
grad(loss)(w, "x")  # E: Argument 2 to "loss" has incompatible type "str"

# --- a stored derivative of a string
slope = grad(loss)
slope(w, "x")  # E: No overload variant

# --- jacfwd of a function that gives a string
jacfwd(lambda v: (v, "text"))(w)  # E: jacfwd: the result[1] is a str, not a tensor

# --- jacrev with respect to an int
jacrev(lambda n: w * n)(2)  # E: jacrev: argument 1 is an int, and only floats have derivatives

# --- a Jacobian per example is taken for one that all share
vmap(lambda a: jacrev(lambda v: v * a)(w), out_axes=None)(X)  # E: out_axes: None needs a result

# --- a Hessian per example is taken for one that all share
vmap(hessian(lambda v: v.square().sum()), out_axes=None)(X)  # E: out_axes: None needs a result

# --- vjp: a function that gives a string
vjp(lambda v: "text", w)  # E: vjp: the result is a str, not a tensor

# --- vjp: a cotangent of another tree
vjp(lambda v: (v, v * 2), w)[1](w)  # E: No overload variant

# --- vjp: the cotangents are taken for shared
vmap(lambda a: vjp(loss, w, a)[1](Tensor(1.0)), out_axes=None)(X)  # E: out_axes: None needs a result

# --- vjp with respect to an int
vjp(lambda v, n: v * n, w, 3)  # E: vjp: argument 2 is an int, and only floats have derivatives

# --- jvp: tensors for tuples
jvp(lambda v: v * v, w, w)  # E: jvp: primals and tangents must be tuples

# --- jvp: too few tangents
jvp(loss, (w, x), (w,))  # E: jvp: the tangent has another structure than the primal

# --- jvp: a tangent of another tree
jvp(lambda p: p["w"], ({"w": w},), (w,))  # E: jvp: the tangent has another structure than the primal

# --- jvp: the tangent is taken for shared
vmap(lambda a: jvp(lambda v: v * v, (w,), (a,)), out_axes=None)(X)  # E: out_axes: None needs a result


# --- a gradient of a value of `with brand(...)` is returned
def out_of_with() -> Tensor:
    with brand(Users, 2) as users:
        return grad(loss)(w, users.vec(X))  # E: (got "Vec[Users, Tensor]", expected "Tensor")


# --- no function
grad(w)  # E: grad: "Tensor" is not a function

# --- no function, called at once
grad(w)(x)  # E: "Tensor" not callable

# --- a wrong method in a lambda
grad(lambda v: v.summ())(w)  # E: "Tensor" has no attribute "summ"
