"""Operations on each element: unary, binary, ternary, comparisons, bits, and tensors in every operand position."""

from tinygrad import Tensor, dtypes
from tinygrad.uop.ops import Ops

from ..table import bools, family, index, ints, positive, real, special, unit
from .closures import MASK, K, V

case = family("Elementwise")

ANY_SIGN = """
    abs asinh atan ceil celu cos cosh elu erf exp exp2 floor gelu hardsigmoid hardswish hardtanh isfinite isinf isnan
    leaky_relu logical_not logsigmoid mish neg quick_gelu reciprocal relu relu6 round selu sigmoid sign silu sin sinh
    softplus softsign square swish tan tanh trunc
"""
for name in ANY_SIGN.split():
    case(name, name, lambda x, name=name: getattr(x, name)(), real(3))
for name in ("log", "log2", "log10", "rsqrt", "sqrt"):
    case(name, name, lambda x, name=name: getattr(x, name)(), positive(3))
for name in ("acos", "asin", "atanh"):
    case(name, name, lambda x, name=name: getattr(x, name)(), unit(3))
case("acosh", "acosh __add__", lambda x: (x + 1).acosh(), positive(3))

case("gelu without approximation", "gelu", lambda x: x.gelu(approximate="none"), real(3))
case(
    "options of activations",
    "elu celu selu leaky_relu hardtanh hardsigmoid softplus",
    lambda x: (
        x.elu(0.5) + x.celu(2.0),
        x.selu(1.1, 1.2) + x.leaky_relu(0.2),
        x.hardtanh(-0.3, 0.4) + x.hardsigmoid(0.3, 0.1),
        x.softplus(2.0),
    ),
    real(3),
)
case(
    "rounding of halves",
    "round trunc floor ceil",
    lambda i: Tensor.stack((i / 2).round(), (i / 2).trunc(), (i / 2).floor(), (i / 2).ceil()),
    ints(4),
)
case("NaN and infinity", "isnan isinf isfinite", lambda x: Tensor.stack(x.isnan(), x.isinf(), x.isfinite()), special(4))
case("one infinity", "isinf", lambda x: Tensor.stack(x.isinf(True, False), x.isinf(False, True)), special(4))
case(
    "NaN through arithmetic",
    "maximum __add__ relu where",
    lambda x, y: Tensor.stack(x + y, x.maximum(y), x.relu(), (x > 0).where(x, y)),
    special(4),
    special(4),
)

for name in ("add", "sub", "mul", "div", "maximum", "minimum", "copysign", "logaddexp", "eq", "ne"):
    case(name, name, lambda x, y, name=name: getattr(x, name)(y), real(3), real(3))
case(
    "operators",
    "__add__ __sub__ __mul__ __truediv__ __neg__",
    lambda x, y: -x + y - x * y / (y * y + 1),
    real(3),
    real(3),
)
case(
    "numbers on the right",
    "__add__ __sub__ __mul__ __truediv__ __pow__",
    lambda x: ((x + 2) * 3 - 1) / 4 + x**2,
    real(3),
)
case(
    "numbers on the left",
    "__radd__ __rsub__ __rmul__ __rtruediv__ __rpow__",
    lambda x: 1 + 2 * x + (1 - x) + 3 / x + 2.0**x,
    positive(3),
)
case(
    "reversed methods",
    "add sub mul div pow",
    lambda x, y: Tensor.stack(
        x.add(y, reverse=True),
        x.sub(y, reverse=True),
        x.mul(2, reverse=True),
        x.div(y, reverse=True),
        x.pow(2.0, reverse=True),
    ),
    positive(3),
    positive(3),
)
case("pow", "pow __pow__", lambda x, y: x.pow(y) + x**y, positive(3), real(3))
case("pow of a negative base", "__pow__", lambda x, i: Tensor.stack(x**i, x**-1, x**0.5), real(3), ints(3))
case(
    "floor division and modulo",
    "__floordiv__ __mod__ __divmod__ __pos__ __abs__ mod",
    lambda x, y: Tensor.stack(x // y, x % y, x.mod(y), abs(x), *divmod(+x, y)),
    real(4),
    positive(4),
)
case(
    "division with rounding",
    "div fmod",
    lambda x, y: Tensor.stack(x.div(y, rounding_mode="trunc"), x.div(y, rounding_mode="floor"), x.fmod(y)),
    real(4),
    positive(4),
)
case(
    "integer division",
    "__floordiv__ __mod__ div __rfloordiv__ __rmod__ __rdivmod__ fmod",
    lambda i, j: Tensor.stack(i // (j + 1), i % (j + 1), i.div(j + 1), *divmod(17, j + 1), i.fmod(j + 1)),
    ints(4),
    index(4),
)
case(
    "comparisons",
    "__lt__ __le__ __gt__ __ge__ __eq__ __ne__",
    lambda i, j: Tensor.stack(i < j, i <= j, i > j, i >= j, i == j, i != j),
    index(4),
    index(4),
)
case(
    "comparison with a number",
    "__lt__ __eq__ __le__ __ne__",
    lambda x: Tensor.stack(x < 0.5, x == 0, 1 >= x, x != 0.5),  # noqa: SIM300
    real(4),
)
case(
    "closeness",
    "isclose",
    lambda x, y: Tensor.stack(x.isclose(x + 1e-9), x.isclose(y, rtol=0.5, atol=0.1)),
    real(4),
    real(4),
)
case("closeness of NaN", "isclose", lambda x: Tensor.stack(x.isclose(x), x.isclose(x, equal_nan=True)), special(4))
case("closeness of all", "allclose", lambda x, y: Tensor.stack(x.allclose(y), x.allclose(x * 1)), real(4), real(4))

case("bits", "__and__ __or__ __xor__ __invert__", lambda i, j: Tensor.stack(i & j, i | j, i ^ j, ~i), ints(4), ints(4))
case(
    "bits by method",
    "bitwise_and bitwise_or bitwise_xor bitwise_not",
    lambda i, j: Tensor.stack(i.bitwise_and(j), i.bitwise_or(j), i.bitwise_xor(j), i.bitwise_not()),
    ints(4),
    ints(4),
)
case(
    "bits with a number on the left", "__rand__ __ror__ __rxor__", lambda i: Tensor.stack(6 & i, 6 | i, 6 ^ i), ints(4)
)
case(
    "logic",
    "__and__ __or__ __xor__ __invert__ logical_not",
    lambda p, q: Tensor.stack(p & q, p | q, p ^ q, ~p, p.logical_not()),
    bools(4),
    bools(4),
)
case(
    "shifts",
    "__lshift__ __rshift__ lshift rshift __rlshift__ __rrshift__",
    lambda i, j: Tensor.stack(i << 2, i >> 1, i << j, i.lshift(j), i.rshift(j), i.__rlshift__(j), i.__rrshift__(j * 9)),
    index(4),
    index(4),
)
case(
    "threefry",
    "threefry long",
    lambda i, j: i.long().cast("uint64").threefry(j.long().cast("uint64")),
    index(4),
    index(4),
)
BITS = index(2, high=1000, dtype=dtypes.uint32)
case("random bits of a key", "random_bits", lambda key, counter: Tensor.random_bits(key, counter, 3), BITS, BITS)

case("where", "where", lambda m, x, y: m.where(x, y), bools(3), real(3), real(3))
case(
    "where with numbers",
    "where",
    lambda m, x: Tensor.stack(m.where(x, 0.0), m.where(1, x), m.where(1, 0)),
    bools(3),
    real(3),
)
case("where broadcasts", "where", lambda m, x, y: m.where(x, y), bools(3, 1), real(4), real(2, 1, 1))
case("where of a comparison", "where", lambda x, y: (x > y).where(x - y, y - x), real(3), real(3))
case("clip", "clip clamp", lambda x: Tensor.stack(x.clip(-0.5, 0.5), x.clamp(0), x.clip(max_=0.1)), real(4))
case("clip by tensors", "clip", lambda x, low: x.clip(low, low + 1), real(4), real(4))
case("lerp", "lerp", lambda x, y, w: Tensor.stack(x.lerp(y, 0.3), x.lerp(y, w)), real(3), real(3), unit(3))
case(
    "masked_fill",
    "masked_fill",
    lambda x, m, v: Tensor.stack(x.masked_fill(m, -1.0), x.masked_fill(m, v)),
    real(3),
    bools(3),
    real(),
)
case("alu", "alu", lambda x, y: Tensor.stack(x.alu(Ops.ADD, y), x.alu(Ops.SIN)), real(3), real(3))
case(
    "sum and product of operands",
    "usum uprod",
    lambda x, y: Tensor.stack(x.usum(y, x), x.uprod(y, y)),
    real(3),
    real(3),
)
case("sum and product of masks", "usum uprod", lambda p, q: Tensor.stack(p.usum(q), p.uprod(q)), bools(3), bools(3))
case("number as operand", "ufix", lambda x: x * x.ufix(2), real(3))

# unbatched tensors in every operand position
case(
    "closure + x",
    "__add__ __mul__ __truediv__ __sub__",
    lambda x: Tensor.stack(V + x, V - x, V * x, V / x),
    positive(4),
)
case(
    "x + closure",
    "__add__ __mul__ __truediv__ __sub__",
    lambda x: Tensor.stack(x + V, x - V, x * V, x / V),
    positive(4),
)
case("closure ** x", "__pow__ abs", lambda x: Tensor.stack(V.abs() ** x, x**V), positive(4))
case(
    "closure.maximum(x)",
    "maximum minimum",
    lambda x: Tensor.stack(V.maximum(x), V.minimum(x), x.maximum(V), x.minimum(V)),
    real(4),
)
case("closure < x", "__lt__ __gt__ __eq__", lambda x: Tensor.stack(V < x, V > x, V == x), real(4))  # noqa: SIM300
case(
    "closure.where(x, closure)",
    "where",
    lambda x: (MASK.where(x, V), MASK.where(V, x), (V > 0).where(x, x * 2)),
    real(4),
)
case("x.where(closure, closure)", "where", lambda m: (m.where(V, 0), m.where(V, V * 2), m.where(1, V)), bools(4))
case("closure.lerp(x, closure)", "lerp", lambda x: Tensor.stack(V.lerp(x, 0.5), x.lerp(V, V), V.lerp(V, x)), real(4))
case("closure.masked_fill", "masked_fill", lambda m: V.masked_fill(m, 0.0), bools(4))
case("closure of higher rank", "__add__ __mul__", lambda x: Tensor.stack(K + x, K * x.reshape(4, 1)), real(4))
case("closure of lower rank", "__add__", lambda x: Tensor.stack(V + x, x + V), real(3, 4))
case("new tensor on the left", "__add__ __mul__", lambda x: Tensor([1.0, 2.0, 3.0]) + Tensor([3, 2, 1]) * x, real(3))

# ranks
case("ranks 1 and 3", "__add__", lambda x, y: x + y, real(4), real(2, 3, 4))
case("ranks 3 and 1", "__sub__", lambda x, y: x - y, real(2, 3, 4), real(4))
case("rank 0 and rank 2", "__mul__ __add__", lambda s, y: s * y + s, real(), real(3, 4))
case("rank 0 and rank 0", "__mul__ exp", lambda s, t: s * t + s.exp(), real(), real())
case("both are stretched", "__add__", lambda x, y: x.reshape(3, 1) + y, real(3), real(4))
case("size 1 and size 0", "__add__", lambda x, y: x + y, real(1), real(0))
case("nothing in it", "__mul__ exp", lambda x: (x * 2, x.exp()), real(0, 3))
case("common subexpressions", "__add__ __mul__", lambda x: (x + 1) * (x + 1) + (x + 1), real(3))
case("the argument itself", "", lambda x: x, real(3))
case("several results", "__add__", lambda x, y: (x, x + y, y), real(3), real(2, 1))
case("a result that does not vary", "__mul__", lambda x: (V * 2, x), real(3))
