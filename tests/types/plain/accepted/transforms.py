"""Derivatives, loops, branches and collectives: the result has the brands of the arguments."""

from typing import Any, TypeVar, assert_type

from tinygrad import Tensor

from branded import (
    Brand,
    Vec,
    all_gather,
    axis_index,
    axis_size,
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    lift,
    optim,
    pmean,
    ppermute,
    psum,
    scan,
    stop_gradient,
    switch,
    unvec,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
S2 = TypeVar("S2", bound=Brand)
w, x = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
X = Tensor([[1.0, 0.0], [0.0, 1.0]])
zero = Tensor(0.0)


class Users(Brand): ...


class Items(Brand): ...


def norm(a: Vec[S]) -> Vec[S]:
    return a.square().sum()


def loss(w: Vec[S], x: Vec[S1]) -> Vec[S | S1]:
    return (w * x).sum()


def plain_loss(w: Tensor, x: Tensor) -> Tensor:
    return (w * x).sum()


# --- grad of a function of tensors
assert_type(grad(plain_loss)(w, x), Tensor)


# --- grad of a function with type variables
def descend(a: Vec[S]) -> Vec[S]:
    return a - grad(norm)(a)


vmap(descend)(X)

# --- grad of a function with type variables, of plain tensors
unvec(grad(norm)(w))
unvec(grad(loss)(w, x))


# --- a gradient has the brands of all arguments
def per_example(a: Vec[S], b: Vec[S1]) -> Vec[S | S1]:
    return grad(loss)(a, b)


# --- per-example gradients
vmap(grad(loss), in_axes=(None, 0))(w, X)
vmap(grad(norm))(X)


# --- grad of a tree
def of_dict(p: dict[str, Tensor], a: Tensor) -> Tensor:
    return (p["w"] * a).sum()


slopes: dict[str, Tensor] = grad(of_dict)({"w": w}, x)


# --- grad of a function of a float
def of_float(n: float) -> Tensor:
    return x.sum() * n


assert_type(grad(of_float)(2.0), Tensor)

# --- grad of grad
grad(grad(norm))

# --- argnums
second = grad(plain_loss, argnums=1)(w, x)
both = grad(plain_loss, argnums=(0, 1))(w, x)


# --- has_aux
def with_aux(w: Tensor) -> tuple[Tensor, str]:
    return w.sum(), "text"


assert_type(grad(with_aux, has_aux=True)(w), tuple[Tensor, str])

# --- value_and_grad
assert_type(value_and_grad(plain_loss)(w, x), tuple[Tensor, Tensor])


def value_and_slope(a: Vec[S]) -> tuple[Vec[S], Vec[S]]:
    return value_and_grad(norm)(a)


# --- Jacobians and Hessians
def square(a: Tensor) -> Tensor:
    return a * a


assert_type(jacfwd(square)(w), Tensor)
assert_type(jacrev(square)(w), Tensor)
assert_type(hessian(plain_loss)(w, x), Tensor)


def curvature(a: Vec[S]) -> Vec[S]:
    return hessian(norm)(a)


# --- vjp and jvp
value, pullback = vjp(plain_loss, w, x)
assert_type(value, Tensor)
slope_w, slope_x = pullback(Tensor(1.0))
assert_type(slope_w, Tensor)
assert_type(jvp(plain_loss, (w, x), (w, x)), tuple[Tensor, Tensor])


# --- stop_gradient
def fixed(a: Vec[S]) -> Vec[S]:
    return a * stop_gradient(a)


assert_type(stop_gradient({"w": w}), dict[str, Tensor])


# --- scan of functions of tensors
def step(c: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
    return c + a, c * a


assert_type(scan(step, zero, x), tuple[Tensor, Tensor])
assert_type(scan(step, zero, x, reverse=True)[0], Tensor)


# --- scan without xs
def tick(c: Tensor, _: None) -> tuple[Tensor, Tensor]:
    return c * 2, c


assert_type(scan(tick, zero, length=3), tuple[Tensor, Tensor])


# --- scan in a function with type variables
def running(xs: Vec[S]) -> Vec[S]:
    def body(c: Vec[S], a: Vec[S]) -> tuple[Vec[S], Vec[S]]:
        return c + a, c

    start: Vec[S] = zero
    return scan(body, start, xs)[0]


vmap(running)(X)


# --- fori_loop
def double(i: Tensor, c: Tensor) -> Tensor:
    return c * 2 + i


assert_type(fori_loop(0, 3, double, zero), Tensor)


# --- while_loop
def go(c: Tensor) -> Tensor:
    return c < 100


def twice(c: Tensor) -> Tensor:
    return c * 2 + 1


assert_type(while_loop(go, twice, zero), Tensor)


# --- while_loop in a function with type variables
def grow(a: Vec[S]) -> Vec[S]:
    def small(c: Vec[S]) -> Vec[S]:
        return c < 100

    def more(c: Vec[S]) -> Vec[S]:
        return c * 2 + 1

    return while_loop(small, more, a)


vmap(grow)(x)


# --- cond
def choose(p: Vec[S], a: Vec[S1]) -> Vec[S | S1]:
    def same() -> Vec[S1]:
        return a

    def negative() -> Vec[S1]:
        return -a

    return cond(p, same, negative)


assert_type(unvec(cond(zero > 1, twice, square, x)), Tensor)
assert_type(unvec(cond(True, twice, square, x)), Tensor)

# --- switch
assert_type(unvec(switch(1, [twice, square], x)), Tensor)


# --- collectives of a named brand
def share(u: Vec[Users]) -> Vec[Users]:
    return u / psum(u, Users)


def moved(u: Vec[Users]) -> Vec[Users]:
    return u - ppermute(u, Users, [(0, 1)]) + axis_index(Users) * axis_size(Users)


vmap(share, axis_name=Users)(x)
vmap(moved, axis_name=Users)(x)


# --- collectives of a string
def centered(a: Vec[S]) -> Vec[S]:
    return a - pmean(a, "users") + all_gather(a, "users").sum()


vmap(centered, axis_name="users")(x)


# --- a function with a custom rule, of tensors
@custom_jvp
def soft(a: Tensor) -> Tensor:
    return (1 + a.exp()).log()


@soft.defjvp
def soft_rule(primals: Any, tangents: Any) -> Any:
    return soft(*primals), primals[0].sigmoid() * tangents[0]


assert_type(soft(x), Tensor)
assert_type(grad(soft)(Tensor(1.0)), Tensor)


# --- a function with a custom rule and type variables
@custom_vjp
def scaled(a: Vec[S]) -> Vec[S]:
    return a * 2


scaled.defvjp(lambda a: (a * 2, None), lambda r, ct: (ct * 2,))
vmap(scaled)(x)


# --- a derivative with respect to another argument than the first one
def of_both(w: Vec[S], a: Vec[S1]) -> tuple[Vec[S | S1], Vec[S | S1]]:
    out: tuple[Vec[S | S1], Vec[S | S1]] = grad(loss, argnums=(0, 1))(w, a)
    return out


# --- the sum over a named brand does not vary over it
def total(u: Vec[Users | S]) -> Vec[S]:
    return psum(u, Users)


def grand_total(u: Vec[Users]) -> Tensor:
    return unvec(psum(u, Users))


# --- a choice between values of two brands
def either(p: Vec[S], a: Vec[S1], b: Vec[S2]) -> Vec[S | S1 | S2]:
    return cond(p, lambda: a, lambda: b)


# --- a function with a custom rule, at two brands
@custom_jvp
def softplus(a: Vec[S]) -> Vec[S]:
    return (1 + a.exp()).log()


def two(a: Vec[S1], b: Vec[S2]) -> tuple[Vec[S1], Vec[S2]]:
    return softplus(a), softplus(b)


# --- an option of a lifted function
def times(a: Tensor, n: int = 2) -> Tensor:
    return a * n


lift(times)(x, n=8)
vmap(lambda a: lift(times)(a, n=8))(x)


# --- updates of an optimizer have the type of the gradients
def updated(params: dict[str, Tensor]) -> dict[str, Tensor]:
    opt = optim.sgd(0.1)
    updates, _ = opt.update(params, opt.init(params))
    return optim.apply_updates(params, updates)


updated({"w": x})
