"""Check minima, roots and fixed points for each example, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes
from tinygrad.uop.ops import Ops

from branded import errors, grad, hessian, jacfwd, jacrev, jit, jvp, optim, pmean, tree, vmap
from tests.support.by_numpy import read, reads

pytestmark = pytest.mark.by_numpy

A = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.25], [0.5, 0.25, 1.0]], dtype=np.float32)
METHODS = ["bfgs", "l-bfgs"]


def rosenbrock(x: Tensor) -> Tensor:
    return (100 * (x[1:] - x[:-1].square()).square() + (1 - x[:-1]).square()).sum()


def done(r: Any) -> Any:
    """Compute all parts of a result together: a part that is read alone runs the loop again."""
    Tensor.realize(*tree.leaves(r))
    return r


# ---- minimize ----


@pytest.mark.parametrize("method", METHODS)
def test_minimize_from_several_starts(method: str) -> None:
    """Each example stops where the loop over the examples stops, after as many steps; the minimum itself takes none."""
    starts = Tensor([[-1.2, 1.0], [2.0, 2.0], [1.0, 1.0]])
    with Context(NOOPT=1):  # the kernels have only six numbers
        every = done(vmap(lambda x: optim.minimize(rosenbrock, x, method=method))(starts))
        alone = done(optim.minimize(rosenbrock, starts[1], method=method))
    np.testing.assert_allclose(every.x.tolist(), np.ones((3, 2)), atol=2e-3)
    assert every.success.tolist() == [True] * 3 and every.status.tolist() == [0] * 3
    assert every.nit.tolist()[2] == 0 and every.nfev.tolist()[2] == 1 and every.nit.tolist()[0] > 10
    assert alone.nit.item() == every.nit.tolist()[1] and alone.nfev.item() == every.nfev.tolist()[1]
    np.testing.assert_allclose(alone.x.tolist(), every.x.tolist()[1], atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_minimum_of_a_quadratic(method: str) -> None:
    """0.5 xᵀAx - xᵀb has its minimum where Ax = b; the inverse Hessian estimated by BFGS is A⁻¹."""
    b = Tensor([1.0, -2.0, 3.0])
    f = lambda x, b: 0.5 * x.dot(Tensor(A) @ x) - x.dot(b)  # noqa: E731
    r = done(optim.minimize(f, Tensor.zeros(3), (b,), method=method, tol=1e-4))
    np.testing.assert_allclose(r.x.tolist(), np.linalg.solve(A, b.numpy()), atol=1e-3)
    assert r.success.item() and np.abs(r.jac.numpy()).max() < 1e-4 and r.njev.item() == r.nfev.item()
    if method == "bfgs":
        np.testing.assert_allclose(r.hess_inv.numpy(), np.linalg.inv(A), atol=0.02)
    else:
        assert r.hess_inv is None


def test_tree_in_double_precision() -> None:
    """The result has the structure of the start; f64 reaches a tolerance that f32 cannot."""
    first = {"w": Tensor([3.0, -1.0], dtype=dtypes.float64), "b": Tensor(2.0, dtype=dtypes.float64)}
    f = lambda p: (p["w"] - 1).square().square().sum() + (p["b"] * p["w"][0] - 2).square()  # noqa: E731
    r = done(optim.minimize(f, first, options={"gtol": 1e-9, "norm": 2, "maxiter": 200}))
    assert r.success.item() and list(r.x) == ["w", "b"] and r.x["w"].dtype == dtypes.float64
    np.testing.assert_allclose(r.x["w"].tolist(), [1, 1], atol=2e-3)
    np.testing.assert_allclose(r.x["b"].item() * r.x["w"].tolist()[0], 2, atol=1e-6)
    assert np.linalg.norm(tree.ravel(r.jac)[0].numpy()) < 1e-9


def test_function_without_a_minimum() -> None:
    down = done(optim.minimize(lambda x: x.sum(), Tensor([1.0]), options={"maxiter": 3}))
    assert not down.success.item() and down.status.item() == 1 and down.nit.item() == 3
    f = lambda x: (x + (x > -5).where(0, 100)).sum()  # noqa: E731
    cliff = done(optim.minimize(f, Tensor([-4.9]), options={"maxls": 8}))
    assert cliff.status.item() in (1, 3) and cliff.x.item() > -5.01


def test_minimize_in_jit_and_jvp() -> None:
    """The minimum of (x - a)² moves with `a`."""
    at = jit(lambda a: optim.minimize(lambda x: ((x - a) * (x - a)).sum(), a * 0).x)
    assert np.allclose([at(Tensor([3.0])).item(), at(Tensor([5.0])).item()], [3, 5], atol=1e-4)
    _, moved = jvp(
        lambda a: optim.minimize(lambda x: ((x - a) * (x - a)).sum(), a * 0).x, (Tensor([3.0]),), (Tensor([2.0]),)
    )
    assert abs(moved.item() - 2) < 1e-3


# ---- root and fixed_point ----


def cube_root(a: Tensor) -> Tensor:
    return optim.root(lambda x: x * x * x - a, Tensor(1.0)).x  # type: ignore[no-any-return]


def babylonian(a: Tensor) -> Tensor:
    return optim.fixed_point(lambda x, a: (x + a / x) / 2, Tensor(1.0), (a,)).x  # type: ignore[no-any-return]


def test_derivatives_of_all_orders_in_both_modes() -> None:
    """Derivatives by captured values and by arguments; the expected ones belong to a^(1/3)."""
    a = Tensor(8.0)
    third = [2, 1 / 12, -2 / 9 * 8 ** (-5 / 3), 10 / 27 * 8 ** (-8 / 3)]
    got = [cube_root(a), grad(cube_root)(a), grad(grad(cube_root))(a), grad(grad(grad(cube_root)))(a)]
    np.testing.assert_allclose(reads(got), third, rtol=1e-4)
    got = [jacfwd(cube_root)(a), jacfwd(grad(cube_root))(a), hessian(cube_root)(a), jacrev(jacfwd(cube_root))(a)]
    np.testing.assert_allclose(reads(got), [third[1], *[third[2]] * 3], rtol=1e-4)
    b = Tensor(9.0)
    got = [babylonian(b), grad(babylonian)(b), jacfwd(grad(babylonian))(b)]
    np.testing.assert_allclose(reads(got), [3, 1 / 6, -0.25 / 27], rtol=1e-4)
    xs = Tensor([1.0, 8.0, 27.0])
    got = [vmap(grad(cube_root))(xs), vmap(grad(babylonian))(xs)]
    np.testing.assert_allclose(reads(got), [[1 / 3, 1 / 12, 1 / 27], 0.5 / np.sqrt([1, 8, 27])], rtol=1e-4)


def test_values_alone_solve_no_system() -> None:
    """A fixed point without a derivative is its iteration: the system of the implicit function theorem is not built."""
    assert not _solved_systems(babylonian(Tensor(9.0))) and _solved_systems(grad(babylonian)(Tensor(9.0)))
    assert not _solved_systems(vmap(babylonian)(Tensor([1.0, 9.0])))


def _solved_systems(x: Tensor) -> bool:
    return any(u.op is Ops.FUNCTION and u.arg.name == "solve" for u in x.uop.toposort())


def test_fourth_derivatives_of_examples() -> None:
    """The derivatives of the square root, -15/16 a^(-7/2)."""
    xs = np.array([1.0, 4.0, 9.0])
    got = vmap(grad(grad(grad(grad(babylonian)))))(Tensor(xs.astype(np.float32)))
    np.testing.assert_allclose(read(got), -15 / 16 * xs**-3.5, rtol=1e-3)


def test_derivatives_by_entries_that_ints_select() -> None:
    """The function captures an int of the example, and a table that all examples share."""
    table = Tensor([1.0, 4.0, 9.0])
    at = lambda i: grad(lambda t: optim.fixed_point(lambda x: (x + t[i] / x) / 2, Tensor(1.0)).x)(table)  # noqa: E731
    np.testing.assert_allclose(read(vmap(at)(Tensor([0, 2]))), [[1 / 2, 0, 0], [0, 0, 1 / 6]], rtol=1e-4)


def test_examples_that_share_a_solution() -> None:
    """The examples exchange values in the function; their solution is the root of the mean of all `a`."""

    def shared(a: Tensor) -> Any:
        return optim.fixed_point(lambda x: (x + pmean(a * x, "i") / (x * x)) / 2, Tensor(1.0)).x

    got = grad(lambda a: vmap(shared, axis_name="i")(a).sum())(Tensor([1.0, 4.0, 7.0]))
    np.testing.assert_allclose(read(got), [1 / 4] * 3, rtol=1e-4)


def test_root_of_a_system_over_a_tree() -> None:
    """The solution of A x = b, and its derivative by `b`, A⁻¹."""

    def solved(b: Tensor) -> Any:
        def f(p: Any) -> Any:
            x = p["u"].cat(p["v"].reshape(1))
            return Tensor(A) @ x - b

        r = optim.root(f, {"v": Tensor(0.0), "u": Tensor([0.0, 0.0])})
        return r.x["u"].cat(r.x["v"].reshape(1))

    b = Tensor([1.0, -2.0, 3.0])
    np.testing.assert_allclose(read(solved(b)), np.linalg.solve(A, b.numpy()), rtol=1e-4)
    np.testing.assert_allclose(read(jacrev(solved)(b)), np.linalg.inv(A), atol=1e-4)


def test_start_has_no_derivative() -> None:
    assert grad(lambda s: optim.root(lambda x: x * x - 4, s).x)(Tensor(1.0)).item() == 0


def test_minimum_as_a_root_of_the_gradient() -> None:
    """Differentiate the minimum of x⁴/4 - ax, which is a^(1/3), in reverse mode."""

    def least(a: Tensor) -> Tensor:
        f = lambda x: x * x * x * x / 4 - a * x  # noqa: E731
        found = optim.minimize(lambda x: f(x), Tensor(1.0)).x
        return optim.root(grad(f), found).x  # type: ignore[no-any-return]

    assert abs(read(grad(least)(Tensor(8.0))) - 1 / 12) < 1e-4


def test_no_solution_is_not_success() -> None:
    none = done(optim.root(lambda x: x * x + 1, Tensor(1.0)))
    assert not none.success.item() and none.fun.item() >= 1
    away = done(optim.fixed_point(lambda x: 2 * x + 1, Tensor(1.0), maxiter=5))
    assert not away.success.item() and away.nit.item() == 5


# ---- mistakes ----

X = Tensor([1.0, 2.0])
MISTAKES: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "an int as f": (errors.CallError, lambda: optim.minimize(3, X), "minimize: the int 3 is not a function"),
    "an unknown method": (
        errors.OptionError,
        lambda: optim.minimize(rosenbrock, X, method="newton"),
        'unknown method \'newton\'\n  try: method="bfgs" or "l-bfgs"',
    ),
    "an unknown option": (
        errors.OptionError,
        lambda: optim.minimize(rosenbrock, X, options={"eps": 1}),
        "minimize: unknown option 'eps'\n  try: use one of gtol, maxcor, maxiter, maxls, norm",
    ),
    "0 steps": (
        errors.OptionError,
        lambda: optim.minimize(rosenbrock, X, options={"maxiter": 0}),
        "minimize: maxiter=0 is not a number of steps",
    ),
    "an unknown norm": (
        errors.OptionError,
        lambda: optim.minimize(rosenbrock, X, options={"norm": "fro"}),
        "minimize: norm='fro' is not the order of a norm",
    ),
    "args": (errors.OptionError, lambda: optim.minimize(rosenbrock, X, 3.0), "args is the float 3.0, not a tuple"),
    "options is not a dict": (
        errors.OptionError,
        lambda: optim.minimize(rosenbrock, X, options=[1]),
        "options is a list, not a dict",
    ),
    "a string as gtol": (
        errors.OptionError,
        lambda: optim.minimize(rosenbrock, X, options={"gtol": "x"}),
        "minimize: gtol='x' is not a number",
    ),
    "too many parameters": (errors.CallError, lambda: optim.minimize(lambda x, y: x, X), "minimize: "),
    "args of root": (errors.OptionError, lambda: optim.root(rosenbrock, X, 3.0), "root: args is the float 3.0"),
    "no numbers": (errors.OptionError, lambda: optim.minimize(rosenbrock, {}), "minimize: x0 has no elements"),
    "a string as start": (
        errors.StateTypeError,
        lambda: optim.minimize(rosenbrock, ["x"]),
        "the str 'x' is not a tensor",
    ),
    "a vector": (errors.DerivativeError, lambda: optim.minimize(lambda x: x, X), "the function must return a scalar"),
    "too few equations": (
        errors.OptionError,
        lambda: optim.root(lambda x: x.sum(), X),
        "root: the function returns 1 numbers, and x has 2\n  result: f32[]\n  x:      f32[2]",
    ),
    "a result of another size": (
        errors.OptionError,
        lambda: optim.fixed_point(lambda x: x.cat(x), X),
        "fixed_point: the function returns 4 numbers",
    ),
    "a tolerance of 0": (errors.OptionError, lambda: optim.root(lambda x: x, X, tol=0), "root: tol=0 is not a number"),
    "a string as maxiter": (
        errors.OptionError,
        lambda: optim.root(lambda x: x, X, maxiter="x"),
        "root: maxiter='x' is not a number of steps",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    kind, run, text = MISTAKES[name]
    with pytest.raises(kind) as e:
        run()
    assert text in str(e.value) and "  try:" in str(e.value)
