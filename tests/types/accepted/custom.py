"""Functions with rules of their own keep their types."""

from functools import partial
from typing import Any, TypeVar, assert_type, reveal_type

from tinygrad import Tensor

import branded as br
from branded import Brand, Vec, custom_jvp, custom_vjp, custom_vmap, grad, jvp, sequential_vmap, value_and_grad, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor([[1.0, 2.0], [3.0, 4.0]])


@custom_jvp
def softplus(a: Vec[S]) -> Vec[S]:
    return (1 + a.exp()).log()


@softplus.defjvp
def softplus_rule(primals: Any, tangents: Any) -> Any:
    return softplus(*primals), primals[0].sigmoid() * tangents[0]


@custom_vjp
def product(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return a * b


product.defvjp(lambda a, b: (a * b, (a, b)), lambda r, ct: (ct * r[1], ct * r[0]))


@custom_vmap
def double(a: Vec[S]) -> Vec[S]:
    return a * 2


@double.def_vmap
def double_rule(axis_size: int, in_batched: list[Any], a: Tensor) -> tuple[Tensor, bool]:
    return a * 2, in_batched[0]


@sequential_vmap
def total(a: Vec[S]) -> Vec[S]:
    return a.sum()


# --- custom_jvp of plain tensors
assert_type(softplus(x), Tensor)

# --- custom_jvp in a body
vmap(lambda a: reveal_type(softplus(a)))(x)  # N: Vec[a,
assert_type(vmap(softplus)(x), Tensor)

# --- custom_jvp: derivatives, in both orders
assert_type(grad(softplus)(Tensor(1.0)), Tensor)
assert_type(vmap(grad(softplus))(x), Tensor)
assert_type(grad(lambda v: vmap(softplus)(v).sum())(x), Tensor)
assert_type(jvp(softplus, (x,), (x,)), tuple[Tensor, Tensor])

# --- custom_vjp of two rows
assert_type(product(x, y), Tensor)
vmap(lambda a: vmap(lambda b: reveal_type(product(a, b)))(y))(x)  # N: Vec[a | b,
assert_type(vmap(product, in_axes=(0, None))(x, Tensor(2.0)), Tensor)

# --- custom_vjp: derivatives
assert_type(value_and_grad(lambda a: product(a, y).sum())(x), tuple[Tensor, Tensor])
assert_type(vmap(grad(product, argnums=(0, 1)))(x, y), tuple[Tensor, Tensor])

# --- custom_vmap
assert_type(double(x), Tensor)
assert_type(vmap(double)(x), Tensor)
assert_type(vmap(lambda a: double(a) + a)(x), Tensor)

# --- sequential_vmap
assert_type(total(X), Tensor)
assert_type(vmap(total)(X), Tensor)
vmap(lambda a: reveal_type(total(a)))(X)  # N: Vec[a,

# --- of a lambda
assert_type(vmap(sequential_vmap(lambda a: a.sum()))(X), Tensor)
assert_type(sequential_vmap(lambda a: a.sum())(X), Tensor)


# --- in a function of rows
def both(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    assert_type(product(a, b), Vec[S | S1])
    return product(softplus(a), b)


assert_type(vmap(both)(x, y), Tensor)


# --- with arguments that are not differentiated
@partial(custom_vjp, nondiff_argnums=(1,))
def power(a: Vec[S], n: int) -> Vec[S]:
    return a**n


power.defvjp(lambda a, n: (a**n, a), lambda n, a, ct: (ct * n * a ** (n - 1),))
assert_type(power(x, 2), Tensor)
assert_type(vmap(lambda a: power(a, 2))(x), Tensor)


# --- by a call
def cube(a: Vec[S]) -> Vec[S]:
    return a * a * a


own = custom_vjp(cube)
assert_type(own(x), Tensor)
assert_type(vmap(own)(x), Tensor)

# --- by the module
assert_type(br.custom_jvp(cube)(x), Tensor)


# --- a function of plain tensors
@custom_jvp
def plain(a: Tensor) -> Tensor:
    return a * 2


assert_type(plain(x), Tensor)


# --- a method
class Layer:
    @custom_vmap
    def run(self, a: Vec[S]) -> Vec[S]:
        return a * 2


out: Tensor = Layer().run(x)
