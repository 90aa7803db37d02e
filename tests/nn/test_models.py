"""Compare vmap over inputs and stacked weights, and per-example gradients, with the loop on real models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Context, Tensor, nn
from tinygrad.nn.state import get_state_dict
from tinygrad.uop.ops import Ops

from branded import functional_call, grad, pmean, stack_module_state, tree, vmap
from branded.errors import WriteError
from tests.nn.models.language import GPT2, Llama, Mamba
from tests.nn.models.speech import RNNT, Whisper
from tests.nn.models.vision import Detector, ResNet, UNet
from tests.support.by_numpy import Array, values
from tests.support.examples import in_memory

pytestmark = pytest.mark.by_numpy

RNG = np.random.default_rng(0)


def reals(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def tokens(*shape: int) -> Any:
    return RNG.integers(0, 5, shape).astype(np.int32)


class Model(NamedTuple):
    make: Callable[[], Any]
    inputs: tuple[Any, ...]
    """The inputs of two examples."""
    training: bool = False


MODELS = {
    "gpt2": Model(GPT2, (tokens(2, 1, 3),)),
    "llama": Model(Llama, (tokens(2, 1, 3),)),
    "mamba": Model(Mamba, (tokens(2, 2),)),
    "whisper": Model(Whisper, (reals(2, 1, 4, 6), tokens(2, 1, 2))),
    "rnnt": Model(RNNT, (reals(2, 4, 1, 3), tokens(2, 1, 2))),
    "resnet": Model(ResNet, (reals(2, 2, 2, 4, 4),)),
    "resnet in training": Model(ResNet, (reals(2, 2, 2, 4, 4),), training=True),
    "unet": Model(UNet, (reals(2, 1, 2, 4, 4), reals(2))),
    "detector": Model(Detector, (reals(2, 1, 2, 8, 8),)),
}
CACHED = ["gpt2", "llama", "mamba", "whisper"]


def create_models(model: Model, n: int) -> list[Any]:
    """Create models whose layers skip their slow random initialization, and set their parameters."""
    Tensor.manual_seed(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tensor, "uniform", lambda *shape, **_: Tensor.zeros(*shape))
        models = [model.make() for _ in range(n)]
    for m in models:
        for t in get_state_dict(m).values():
            if t.is_param:
                t.replace(in_memory(RNG.normal(size=t.shape).astype(np.float32) * 0.4 + (t.ndim == 1)))
    return models


def leaves(out: Any) -> list[Any]:
    return list(tree.leaves(out))


def close(got: list[Any], want: list[list[Array]]) -> None:
    """Compare results for all examples with the results of each example."""
    for y, *each in zip(values(got), *want, strict=True):
        np.testing.assert_allclose(y, np.stack(each), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop is traced once and its graph is evaluated for each example; models with a cache run once per example."""
    model = MODELS[name]
    first, second = create_models(model, 2)
    inputs = [in_memory(x) for x in model.inputs]
    states = stack_module_state([first, second])
    ones = [get_state_dict(first), get_state_dict(second)]
    learned = {k: t for k, t in ones[0].items() if t.is_param and t.is_floating_point() and "cache" not in k}
    learned = {k: t for k, t in learned.items() if not k.endswith("_state") and k != "lm_head.weight"}

    def call(s: Any, *xs: Any) -> Any:
        """Return the outputs and the written state of the model."""
        return functional_call(first, s, *xs, mutable=True)

    def loss(s: Any, *xs: Any) -> Any:
        return sum(y.float().square().sum() for y in leaves(call(s, *xs)[0]))

    def loop(f: Any, states: list[Any]) -> list[list[Array]]:
        realize = Tensor.realize
        given = [[x.uop for x in tree.leaves((s, xs))] for s, xs in zip(states, one, strict=True)]

        def written(x: Tensor) -> Tensor:
            writes = name in CACHED and any(u.op is Ops.STORE for u in x.uop.toposort())
            return realize(x) if writes else x

        with monkeypatch.context() as m:
            m.setattr(Tensor, "realize", written)
            if name in CACHED:
                return [values(leaves(f(s, *xs))) for s, xs in zip(states, one, strict=True)]
            graph = leaves(f(states[0], *one[0]))
        others = {u: values([Tensor(v)])[0] for u, v in zip(*given, strict=True) if u is not v}
        return [values(graph), values(graph, others)]

    one = [[in_memory(x[i, ...]) for x in model.inputs] for i in range(2)]
    with Context(TRAINING=int(model.training)):
        shared = vmap(call, in_axes=(None, *(0 for _ in inputs)))(ones[0], *inputs)
        close(leaves(shared), loop(call, [ones[0]] * 2))
        stacked = vmap(call)(states, *inputs)
        close(leaves(stacked), loop(call, ones))
        slopes = vmap(grad(loss), in_axes=(None, *(0 for _ in inputs)))(learned, *inputs)
        close(leaves(slopes), loop(grad(loss), [learned] * 2))


@pytest.mark.parametrize("name", CACHED)
def test_models_created_in_the_body(name: str) -> None:
    """Without functional_call: the body creates the module, and the loop realizes its caches."""
    model = MODELS[name]
    inputs = [in_memory(x) for x in model.inputs]
    weights = {
        k: t for k, t in get_state_dict(create_models(model, 1)[0]).items() if "cache" not in k and "_state" not in k
    }

    def body(*xs: Any) -> Any:
        own = model.make()
        for k, t in get_state_dict(own).items():
            if k in weights:
                t.replace(weights[k])
        return own(*xs)

    with Context(TRAINING=0, NOOPT=1):
        want = [body(*(in_memory(x[i, ...]) for x in model.inputs)).numpy() for i in range(2)]
        got = values([vmap(body, randomness="same")(*inputs)])[0]
    np.testing.assert_allclose(got, np.stack(want), rtol=2e-4, atol=2e-5)


# ---- BatchNorm in training ----


def test_message_of_batchnorm_in_training() -> None:
    norm, x = nn.BatchNorm(2), Tensor(reals(3, 4, 2, 2, 2))
    with Context(TRAINING=1), pytest.raises(WriteError) as info:
        vmap(lambda x: norm(x))(x)
    assert str(info.value).splitlines() == [
        "BatchNorm: in training each example of `x` has its own statistics, and running_mean is one for all of them",
        "  value: Vec[x:3, f32[4, 2, 2, 2]]",
        "  try:   y, new = functional_call(model, state, x, mutable=True), and return new or its pmean",
    ]

    def each(s: Any, x: Any) -> Any:
        return functional_call(norm, s, x, mutable=True)

    def shared(s: Any, x: Any) -> Any:
        y, new = functional_call(norm, s, x, mutable=True)
        return y, {k: pmean(t, "batch") if "running" in k else t for k, t in new.items()}

    state = get_state_dict(norm)
    with Context(TRAINING=1):
        y, new = vmap(each, in_axes=(None, 0))(state, x)
        z, one = vmap(shared, in_axes=(None, 0), out_axes=(0, None), axis_name="batch")(state, x)
    means = x.mean((1, 3, 4))
    got = values([y - z, new["running_mean"], one["running_mean"], one["num_batches_tracked"], means])
    np.testing.assert_allclose(got[0], 0 * got[0])
    np.testing.assert_allclose(got[1], 0.1 * got[4], rtol=1e-5)
    np.testing.assert_allclose(got[2], 0.1 * got[4].mean(0), rtol=1e-5)
    assert got[3] == 1 and values([norm.running_mean])[0].tolist() == [0, 0]
