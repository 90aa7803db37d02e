"""Functions with rules of their own, called wrongly."""

from functools import partial
from typing import TypeVar

from tinygrad import Tensor

from branded import Brand, Vec, custom_jvp, custom_vjp, custom_vmap, grad, sequential_vmap, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


@custom_vjp
def product(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return a * b


@custom_jvp
def plain(a: Tensor) -> Tensor:
    return a * 2


# --- a string for a tensor
product(x, "y")  # E: Argument 2 to "product" has incompatible type "str"

# --- too few arguments
product(x)  # E: Missing positional argument "b" in call to "product"


# --- a row is left out
def row(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return product(a, b)  # E: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S, Tensor]")


# --- a result is read
vmap(lambda a: product(a, x).numpy())(x)  # E: numpy: a value that varies over "a" has no single value to read

# --- a function of tensors, mapped
vmap(plain)(x)  # E: argument 1 is mapped, but plain wants "Tensor" for one example
vmap(lambda a: plain(a))(x)  # E: Argument 1 to "plain" has incompatible type "Vec[a, Tensor]"; expected "Tensor"

# --- a gradient is taken for shared
vmap(lambda a: grad(lambda v: product(v, a).sum())(x), out_axes=None)(x)  # E: out_axes: None needs a result


# --- a body reads
@sequential_vmap
def reads(a: Vec[S]) -> Vec[S]:
    return a * a.item()  # E: item: a value that varies over "S" has no single value to read


# --- no function
custom_vmap(3)  # E: custom_vmap

# --- a wrong attribute
product.defjvp(lambda a: a)  # E: has no attribute "defjvp"


@custom_vjp
def times(a: Tensor, b: Tensor) -> Tensor:
    return a * b


@custom_jvp
def squared(a: Tensor) -> Tensor:
    return a * a


# --- a forward rule with other arguments than the function
times.defvjp(lambda a: (a, a), lambda r, ct: (ct, ct))  # E: the forward rule does not take its arguments: Too many

# --- a forward rule without residuals
times.defvjp(lambda a, b: a * b, lambda r, ct: (ct, ct))  # E: the forward rule returned "Tensor"

# --- a forward rule with another value than the function
times.defvjp(lambda a, b: ((a, b), None), lambda r, ct: (ct, ct))  # E: defvjp: the forward rule returned another struct

# --- a backward rule with a cotangent too few
times.defvjp(lambda a, b: (a * b, b), lambda r, ct: (ct * r,))  # E: the backward rule returned "tuple[Tensor]"

# --- a backward rule with one tensor
times.defvjp(lambda a, b: (a * b, b), lambda r, ct: ct * r)  # E: the backward rule returned "Tensor"

# --- a backward rule for other residuals
times.defvjp(lambda a, b: (a * b, (a, b)), lambda r, ct: (ct * r[2], ct))  # E: Tuple index out of range

# --- a backward rule with another tree than the argument
times.defvjp(lambda a, b: (a * b, b), lambda r, ct: (ct * r, (ct, r)))  # E: defvjp: the backward rule returned another


# --- a backward rule without the argument that is not differentiated
@partial(custom_vjp, nondiff_argnums=(1,))
def power_of(a: Tensor, n: int) -> Tensor:
    return a**n


power_of.defvjp(lambda a, n: (a**n, a), lambda a, ct: (ct * a,))  # E: the backward rule does not take its arguments


# --- a tangent rule without the value
@squared.defjvp  # E: the rule returned "Tensor"
def tangent(p: tuple[Tensor], t: tuple[Tensor]) -> Tensor:
    return 2 * p[0] * t[0]


# --- a tangent rule for more arguments than the function has
squared.defjvp(lambda p, t: (p[0] * p[0], p[1] * t[1]))  # E: Tuple index out of range
