"""Compare branded.optim with numbers from optax, in all transforms, and check the messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tinygrad import Context, Tensor, dtypes
from tinygrad.nn.optim import SGD, Adam, Optimizer

from branded import errors, grad, jit, optim, scan, tree, value_and_grad, vmap
from tests.golden.optax_steps import OPTIMIZERS, PARAMS, PATH, SCHEDULES, STEPS, loss, steps
from tests.support.by_numpy import read

pytestmark = pytest.mark.by_numpy

GOLDEN = json.loads(PATH.read_text())


def params() -> dict[str, Tensor]:
    return {name: Tensor(x) for name, x in PARAMS.items()}


def close(got: Any, wanted: Any, rtol: float = 2e-5) -> None:
    """Compare tensors with the numbers of the golden file, by name."""
    for name, x in wanted.items():
        np.testing.assert_allclose(read(got[name]).flatten(), x, rtol=rtol, atol=5e-6, err_msg=name)


# ---- comparison with optax ----


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_match_optax(name: str) -> None:
    found = list(steps(optim, OPTIMIZERS[name], params(), grad(loss)))
    assert [*found[-1]] == [*PARAMS] and len(found) == STEPS
    for got, wanted in zip(found, GOLDEN[name], strict=True):
        close(got, wanted)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_match_optax(name: str) -> None:
    schedule = SCHEDULES[name](optim)
    got = [float(read(v)) if isinstance(v := schedule(i), Tensor) else v for i in range(10)]
    np.testing.assert_allclose(got, GOLDEN[f"schedule: {name}"], rtol=2e-6, atol=1e-7)
    whole = read(vmap(lambda i: schedule(i) + 0 * i)(Tensor.arange(10)))
    np.testing.assert_allclose(whole, got, rtol=2e-6, atol=1e-7)


# ---- in transforms ----


def step(opt: optim.GradientTransformation) -> Callable[[Any, Any], Any]:
    def one(carry: Any, _: Any) -> Any:
        p, state = carry
        value, grads = value_and_grad(loss)(p)
        updates, state = opt.update(grads, state, p)
        return (optim.apply_updates(p, updates), state), value

    return one


@pytest.mark.parametrize("name", ["adamw, schedule", "rmsprop, centered", "lamb, decay", "lion", "chain"])
def test_in_scan_and_in_jit_with_donation(name: str) -> None:
    opt = OPTIMIZERS[name](optim)
    (p, _), losses = scan(step(opt), (params(), opt.init(params())), length=STEPS)
    close(p, GOLDEN[name][-1])
    assert losses.shape == (STEPS,)
    fast = jit(lambda p, s: step(opt)((p, s), None)[0], donate_argnums=(0, 1))
    q = params()
    s = opt.init(q)
    for _ in range(STEPS):
        q, s = fast(q, s)
    close(q, GOLDEN[name][-1])
    assert fast.traces <= 2


def test_ensemble_with_its_own_rates() -> None:
    """vmap over learning rates, starts and decays gives the same as the loop over them."""

    def trained(rate: Any, first: Any, decay: Any) -> Any:
        opt = optim.chain(optim.clip_by_global_norm(5.0 * rate), optim.sgd(rate, momentum=decay))
        (p, _), _ = scan(step(opt), (first, opt.init(first)), length=3)
        return p

    rates, decays = Tensor([0.01, 0.1, 0.2]), Tensor([0.9, 0.5, 0.0])
    firsts = tree.map(lambda x: Tensor.stack(x, x * 2, x * 0.5), params())
    every = vmap(trained)(rates, firsts, decays)
    for i in range(3):
        close(
            {name: x[i] for name, x in every.items()},
            {
                name: x.flatten().tolist()
                for name, x in trained(rates[i], tree.map(lambda x: x[i], firsts), decays[i]).items()
            },
        )
    adams = vmap(lambda rate: next(steps(optim, lambda o: o.adam(rate), params(), grad(loss))))(rates)
    close({name: x[1] for name, x in adams.items()}, GOLDEN["adam"][0])


def test_schedule_per_example() -> None:
    """A peak may differ from example to example, even if one of them is zero."""
    peaks = Tensor([0.0, 1.0, 2.0])
    got = vmap(lambda peak: optim.warmup_cosine_decay_schedule(0.0, peak, 3, 8, 0.1)(5))(peaks).tolist()
    assert got[0] == 0 and abs(got[1] - GOLDEN["schedule: warmup, cosine"][5]) < 1e-6


def test_clip_per_example() -> None:
    part = optim.clip_by_global_norm(1.0)
    out = vmap(lambda g: part.update({"a": g, "b": g[0]}, part.init(None))[0]["a"])(Tensor([[0.1, 0.2], [3.0, 4.0]]))
    np.testing.assert_allclose(out.tolist(), [[0.1, 0.2], [3 / 34**0.5, 4 / 34**0.5]], rtol=1e-6)


def test_gradient_through_training() -> None:
    """Differentiate the loss after two steps, 0.5 (1 - r)^4, by the learning rate r."""

    def after(rate: Tensor) -> Tensor:
        opt, p = optim.sgd(rate), Tensor(1.0)
        state = opt.init(p)
        for _ in range(2):
            updates, state = opt.update(grad(lambda p: p * p * 0.5)(p), state)
            p = optim.apply_updates(p, updates)
        return p * p * 0.5

    assert abs(grad(after)(Tensor(0.5)).item() - (-2 * 0.5**3)) < 1e-6


def test_dtypes_are_kept() -> None:
    p = {"w": Tensor([1.0, 2.0], dtype=dtypes.float16), "x": Tensor([1.0])}
    for make in OPTIMIZERS.values():
        if make in (OPTIMIZERS["adamw, mask"],):
            continue
        opt = make(optim)
        state = opt.init(p)
        updates, new = opt.update(p, state, p)
        assert [x.dtype for x in tree.leaves(updates)] == [dtypes.float16, dtypes.float32]
        assert tree.structure(new) == tree.structure(state)
        assert [x.dtype for x in tree.leaves(new)] == [x.dtype for x in tree.leaves(state)]
        assert optim.apply_updates(p, {"w": Tensor([1.0, 1.0]), "x": Tensor([1.0])})["w"].dtype == dtypes.float16
    assert optim.adam(0.1, mu_dtype=dtypes.float16).init(p)[0].mu["x"].dtype == dtypes.float16


def test_mask_may_be_a_function() -> None:
    opt = optim.add_decayed_weights(1.0, mask=lambda p: tree.map(lambda x: len(x.shape) > 0, p))
    out, _ = opt.update({"w": Tensor([0.0]), "b": Tensor(0.0)}, opt.init(None), {"w": Tensor([2.0]), "b": Tensor(3.0)})
    assert out["w"].tolist() == [2.0] and out["b"].item() == 0.0


def test_trust_ratio_of_zero_norms() -> None:
    part = optim.scale_by_trust_ratio()
    xs = [Tensor([0.0, 0.0]), Tensor([3.0, 4.0])]
    out = part.update(xs, part.init(None), xs[::-1])[0]
    assert [x.tolist() for x in out] == [[0, 0], [3, 4]]


# ---- the optimizers of tinygrad ----


def trained(kind: type[Optimizer], x: Tensor, rate: Tensor | None = None) -> Tensor:
    w = (x * 0).is_param_(True)
    opt = kind([w], lr=0.1)
    if rate is not None:
        opt.lr = rate
    with Context(TRAINING=1):
        for _ in range(3):
            opt.zero_grad()
            w.grad = grad(lambda w: (w - x).square().sum())(w)
            opt.step()
    return w


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_optimizers_of_tinygrad_under_vmap(kind: type[Optimizer]) -> None:
    """Each example has its own optimizer; shared state, such as the powers of Adam, is written only after its use."""
    xs, rates = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([0.1, 0.3])
    alone = [trained(kind, (x + 0).realize()).tolist() for x in xs]
    np.testing.assert_allclose(vmap(lambda x: trained(kind, x))(xs).tolist(), alone, rtol=1e-6)
    own = vmap(lambda x, r: trained(kind, x, r))(xs, rates).tolist()
    np.testing.assert_allclose(own[0], alone[0], rtol=1e-6)
    np.testing.assert_allclose(own[1], trained(kind, (xs[1] + 0).realize(), rates[1]).tolist(), rtol=1e-6)


# ---- mistakes ----

P = {"w": Tensor([1.0, 2.0])}
MISTAKES: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "a string as rate": (
        errors.OptionError,
        lambda: optim.sgd("0.1"),
        "sgd: learning_rate is the str '0.1', not a scalar",
    ),
    "vector as rate": (errors.OptionError, lambda: optim.adam(Tensor([0.1, 0.2])), "is f32[2], not a scalar"),
    "a schedule of string value": (
        errors.OptionError,
        lambda: (o := optim.scale_by_schedule(lambda i: "x")).update(P, o.init(P)),
        "the result of the schedule is the str 'x'",
    ),
    "schedule 0.1": (errors.OptionError, lambda: optim.scale_by_schedule(0.1), "the float 0.1 is not a function"),
    "missing parameters": (
        errors.StateError,
        lambda: (o := optim.adamw(0.1)).update(P, o.init(P)),
        "adamw: the update needs params\n  try: update(grads, state, params)",
    ),
    "the state of another optimizer": (
        errors.StateTypeError,
        lambda: optim.adam(0.1).update(P, optim.sgd(0.1).init(P)),
        "scale_by_adam: the state is an EmptyState, not one of its own (ScaleByAdamState)",
    ),
    "state None": (errors.StateTypeError, lambda: optim.adam(0.1).update(P, None), "adam: the state is None"),
    "a state of other parameters": (
        errors.TreeError,
        lambda: (o := optim.adam(0.1)).update(P, o.init({"b": P["w"]})),
        "scale_by_adam: the state has another structure than the updates\n  updates: {'w': f32[2]}",
    ),
    "other updates": (
        errors.TreeError,
        lambda: optim.apply_updates(P, [P["w"]]),
        "apply_updates: the updates have another structure than the params",
    ),
    "text as leaf": (errors.StateTypeError, lambda: optim.adam(0.1).init({"w": "x"}), "the str 'x' is not a tensor"),
    "a part 3": (errors.OptionError, lambda: optim.chain(optim.sgd(0.1), 3), "chain: part 2 is the int 3"),
    "0 steps": (errors.OptionError, lambda: optim.linear_schedule(1.0, 0.0, 0), "transition_steps=0 is not a number"),
    "decay 0": (errors.OptionError, lambda: optim.exponential_decay(1.0, 1, 0.0), "decay_rate=0.0 is not above 0"),
    "a warm-up without decay": (
        errors.OptionError,
        lambda: optim.warmup_cosine_decay_schedule(0.0, 1.0, 5, 5),
        "decay_steps=5 is not more than warmup_steps=5",
    ),
    "too few boundaries": (
        errors.OptionError,
        lambda: optim.join_schedules([optim.constant_schedule(1.0)] * 2, []),
        "0 boundaries for 2 schedules",
    ),
    "text as eps": (errors.OptionError, lambda: optim.adam(0.1, eps="x"), "adam: eps is the str 'x'"),
    "text as momentum": (errors.OptionError, lambda: optim.sgd(0.1, momentum="x"), "sgd: momentum is the str 'x'"),
    "a function as decay": (errors.OptionError, lambda: optim.lion(0.1, b1=abs), "lion: b1 is a builtin_function"),
    "text sum": (errors.OptionError, lambda: optim.adagrad(0.1, "x"), "initial_accumulator_value is the str 'x'"),
    "a string as end value": (
        errors.OptionError,
        lambda: optim.exponential_decay(1.0, 1, 0.5, end_value="x"),
        "exponential_decay: end_value is the str 'x'",
    ),
    "a string as start": (
        errors.OptionError,
        lambda: optim.linear_schedule(1.0, 0.0, 3, "x"),
        "transition_begin='x' is not a number of steps",
    ),
    "a number in join_schedules": (
        errors.OptionError,
        lambda: optim.join_schedules([1.0], []),
        "join_schedules: the float 1.0 is not a schedule",
    ),
    "numbers for both lists": (
        errors.OptionError,
        lambda: optim.join_schedules(3, 3),
        "join_schedules: schedules is the int 3, not a list",
    ),
    "a number for the boundaries": (
        errors.OptionError,
        lambda: optim.join_schedules([optim.constant_schedule(1.0)], 3),
        "join_schedules: boundaries is the int 3, not a list",
    ),
    "a boundary of text": (
        errors.OptionError,
        lambda: optim.join_schedules([optim.constant_schedule(1.0)] * 2, ["x"]),
        "join_schedules: boundary 1 is the str 'x', not a number of steps",
    ),
    "a line from text": (
        errors.OptionError,
        lambda: optim.linear_schedule("x", 0.0, 3),
        "linear_schedule: init_value is the str 'x'",
    ),
    "a warm-up from text": (
        errors.OptionError,
        lambda: optim.warmup_cosine_decay_schedule("x", 1.0, 2, 5),
        "warmup_cosine_decay_schedule: init_value is the str 'x'",
    ),
    "a wave to the power of text": (
        errors.OptionError,
        lambda: optim.warmup_cosine_decay_schedule(0.0, 1.0, 2, 5, exponent="x"),
        "warmup_cosine_decay_schedule: exponent is the str 'x'",
    ),
    "a decay from text": (
        errors.OptionError,
        lambda: optim.warmup_exponential_decay_schedule(0.0, "x", 2, 1, 0.5),
        "warmup_exponential_decay_schedule: peak_value is the str 'x'",
    ),
    "a warmed-up decay to nothing": (
        errors.OptionError,
        lambda: optim.warmup_exponential_decay_schedule(0.0, 1.0, 2, 1, 0.0),
        "warmup_exponential_decay_schedule: decay_rate=0.0 is not above 0",
    ),
    "a count of text": (
        errors.OptionError,
        lambda: optim.linear_schedule(1.0, 0.0, 2)("x"),
        "is not a number of steps",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    kind, run, text = MISTAKES[name]
    with pytest.raises(kind) as e:
        run()
    assert text in str(e.value) and "  try:" in str(e.value)
