"""Softmax, norms, losses, attention, interpolation, and the layers of `tinygrad.nn`."""

from collections.abc import Callable
from typing import Any

from tinygrad import Context, Tensor, nn

from ..table import bools, family, index, positive, real, unit
from .closures import INDEX, K, V, closure, fixed

case = family("Networks")

case("softmax", "softmax", lambda x: Tensor.stack(x.softmax(), x.softmax(0)), real(3, 4))
case("softmax in another dtype", "softmax", lambda x: x.softmax(axis=-1, dtype="float64"), real(3, 4))
case("log_softmax", "log_softmax", lambda x: Tensor.stack(x.log_softmax(), x.log_softmax(0)), real(3, 4))
case("softmin", "softmin", lambda x: x.softmin(0), real(3, 4))
case("softmax of a closure with x", "softmax", lambda x: (K + x).softmax() @ x, real(4))
case("layernorm", "layernorm", lambda x: (x.layernorm(), x.layernorm(axis=(0, 1), eps=1e-3)), real(3, 4))
case(
    "batchnorm",
    "batchnorm",
    lambda x: x.batchnorm(None, None, x.mean((0, 2)), x.var((0, 2)).add(1e-5).rsqrt()),
    real(2, 3, 4),
)
case(
    "batchnorm with weights",
    "batchnorm",
    lambda x, w, b: x.batchnorm(w, b, x.mean(0), x.var(0).add(1e-5).rsqrt()),
    real(3, 4),
    real(4),
    real(4),
)
case("batchnorm with closures", "batchnorm", lambda x: x.batchnorm(V, V, V, V.abs(), axis=0), real(4, 2))
case("dropout when not training", "dropout", lambda x: x.dropout(0.5) * 2, real(4))

for name in ("mean", "sum", "none"):
    case(
        f"cross_entropy, {name}",
        "cross_entropy",
        lambda x, y, name=name: x.cross_entropy(y, reduction=name),
        real(3, 4),
        index(3),
    )
    case(
        f"sparse_categorical_crossentropy, {name}",
        "sparse_categorical_crossentropy",
        lambda x, y, name=name: (
            x.sparse_categorical_crossentropy(y, reduction=name),
            x.sparse_categorical_crossentropy(y, ignore_index=0, label_smoothing=0.1, reduction="sum"),
        ),
        real(3, 4),
        index(3),
    )
    case(
        f"binary_crossentropy, {name}",
        "binary_crossentropy binary_crossentropy_logits",
        lambda x, y, name=name: (
            x.sigmoid().binary_crossentropy(y.float(), reduction=name),
            x.binary_crossentropy_logits(y, reduction=name),
        ),
        real(3),
        bools(3),
    )
    case(
        f"nll_loss, {name}",
        "nll_loss",
        lambda x, y, name=name: x.log_softmax().nll_loss(y, reduction=name),
        real(3, 4),
        index(3),
    )
case(
    "cross_entropy with label smoothing",
    "cross_entropy",
    lambda x, y: x.cross_entropy(y, label_smoothing=0.2),
    real(3, 4),
    index(3),
)
case(
    "cross_entropy with probabilities",
    "cross_entropy",
    lambda x, p: x.cross_entropy(p.softmax()),
    real(3, 4),
    real(3, 4),
)
case("cross_entropy of one example", "cross_entropy", lambda x, y: x.cross_entropy(y), real(4), index())
case("cross_entropy with a closure", "cross_entropy", lambda x: x.cross_entropy(INDEX), real(3, 4))
case(
    "binary_crossentropy_logits with weights",
    "binary_crossentropy_logits",
    lambda x, y, w: x.binary_crossentropy_logits(y.float(), pos_weight=w),
    real(3),
    bools(3),
    positive(3),
)
case(
    "nll_loss with weights",
    "nll_loss",
    lambda x, y, w: (x.log_softmax().nll_loss(y, w), x.log_softmax().nll_loss(y, V, ignore_index=1)),
    real(3, 4),
    index(3),
    positive(4),
)

case(
    "attention",
    "scaled_dot_product_attention",
    lambda q, k, v: q.scaled_dot_product_attention(k, v),
    real(3, 4),
    real(5, 4),
    real(5, 2),
)
case(
    "attention, causal",
    "scaled_dot_product_attention",
    lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
    real(3, 4),
    real(3, 4),
    real(3, 4),
)
case(
    "attention with a mask",
    "scaled_dot_product_attention",
    lambda q, k, m: q.scaled_dot_product_attention(k, k, attn_mask=m),
    real(3, 4),
    real(2, 4),
    real(3, 2),
)
case(
    "attention with a mask of bools",
    "scaled_dot_product_attention",
    lambda q, k, m: q.scaled_dot_product_attention(k, k, m.pad((1, 0), value=True)),
    real(3, 4),
    real(3, 4),
    bools(3, 2),
)
case(
    "attention with heads",
    "scaled_dot_product_attention",
    lambda q, k: q.scaled_dot_product_attention(k, k),
    real(2, 3, 4),
    real(2, 2, 4),
)
case(
    "attention with grouped queries",
    "scaled_dot_product_attention",
    lambda q, k: q.scaled_dot_product_attention(k, k, enable_gqa=True),
    real(4, 3, 2),
    real(2, 2, 2),
)
case(
    "attention of a closure",
    "scaled_dot_product_attention",
    lambda k, v: K.scaled_dot_product_attention(k, v),
    real(3, 4),
    real(3, 2),
)
case(
    "attention to a closure", "scaled_dot_product_attention", lambda q: q.scaled_dot_product_attention(K, K), real(3, 4)
)

for name in ("linear", "nearest", "nearest-exact"):
    case(
        f"interpolate, {name}",
        "interpolate",
        lambda x, name=name: (x.interpolate((5,), mode=name), x.interpolate((3, 2), mode=name)),
        real(2, 4),
    )
case(
    "interpolate with aligned corners",
    "interpolate",
    lambda x: x.interpolate((5, 3), align_corners=True),
    real(1, 3, 2),
)

LAYERS: dict[str, tuple[Any, Any]] = {
    "Linear": (nn.Linear(4, 3), real(4)),
    "Conv1d": (nn.Conv1d(2, 3, 2), real(1, 2, 4)),
    "Conv2d": (nn.Conv2d(2, 3, 3, padding=1), real(1, 2, 4, 4)),
    "ConvTranspose1d": (nn.ConvTranspose1d(2, 3, 2), real(1, 2, 3)),
    "ConvTranspose2d": (nn.ConvTranspose2d(2, 3, 2), real(1, 2, 3, 3)),
    "LayerNorm": (nn.LayerNorm(4), real(3, 4)),
    "LayerNorm2d": (nn.LayerNorm2d(2), real(1, 2, 3, 3)),
    "RMSNorm": (nn.RMSNorm(4), real(3, 4)),
    "GroupNorm": (nn.GroupNorm(2, 4), real(1, 4, 3)),
    "InstanceNorm": (nn.InstanceNorm(2), real(1, 2, 3)),
    "BatchNorm": (nn.BatchNorm(2), real(2, 2, 3)),
    "Embedding": (nn.Embedding(5, 3), index(4, high=5)),
    "LSTMCell": (nn.LSTMCell(4, 3), real(2, 4)),
}
for name, (layer, x) in LAYERS.items():
    case(f"nn.{name}", f"nn.{name}", fixed(layer), x)
linear, lstm, embedding = LAYERS["Linear"][0], LAYERS["LSTMCell"][0], LAYERS["Embedding"][0]
batch_statistics = fixed(nn.BatchNorm(2, track_running_stats=False))


def training(f: Callable[..., Any]) -> Callable[..., Any]:
    def trained(*args: Tensor) -> Any:
        with Context(TRAINING=1):
            return f(*args)

    return trained


def with_weights(w: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Apply the layer with per-example weights."""
    layer = nn.Linear.__new__(nn.Linear)
    layer.weight, layer.bias = w, b
    return layer(x)


case("BatchNorm on the statistics of the example", "nn.BatchNorm", training(batch_statistics), real(2, 2, 3))
case("LSTMCell with a state", "nn.LSTMCell", lambda x, h, c: lstm(x, (h, c)), real(1, 4), real(1, 3), real(1, 3))
case("LSTMCell, unrolled", "nn.LSTMCell", lambda x: lstm(x[1:], lstm(x[:1])), real(2, 4))
case("Linear with weights of the example", "nn.Linear", with_weights, real(3, 4), real(3), real(4))
case("sequential", "sequential", lambda x: x.sequential([linear, Tensor.relu, lambda y: y.layernorm()]), real(2, 4))
case(
    "embedding, then attention",
    "nn.Embedding scaled_dot_product_attention",
    lambda i: (lambda e: e.scaled_dot_product_attention(e, e, is_causal=True))(embedding(i)),
    index(3, high=5),
)

W1, W2 = closure(4, 6), closure(6, 3)
case("two-layer network", "relu __matmul__ log_softmax", lambda x: ((x @ W1).relu() @ W2).log_softmax(), real(4))
case("network of the example", "tanh __matmul__", lambda w, x: (x @ w).tanh() @ w.T, real(4, 3), unit(2, 4))
