"""Streams of batches: generators, comprehensions, the walrus, context managers, running statistics."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict, deque
from collections.abc import Generator, Iterable, Iterator
from itertools import accumulate, chain, islice, starmap
from types import TracebackType

from branded import brand, vmap
from branded import map as map_batched
from tinygrad import Tensor

BATCH, WIDTH, TOTAL = 4, 3, 3


def batches(total: int) -> Iterator[Tensor]:
    for i in range(total):
        yield (Tensor.arange(BATCH * WIDTH).reshape(BATCH, WIDTH).float() + i) * 0.1  # axis: yield (Tensor.arange(BATCH * WIDTH).reshape(WIDTH, BATCH).float() + i) * 0.1


class Timer:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextlib.contextmanager
    def measure(self, name: str) -> Generator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - begin


class Log:
    lines: deque[float]

    def __enter__(self) -> Log:
        self.lines = deque(maxlen=8)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.lines.append(0.0)

    def add(self, value: Tensor) -> None:
        self.lines.append(value.mean().item())


def whitened(x: Tensor, mean: Tensor, scale: Tensor) -> Tensor:
    return (x - mean) / scale  # axis: return (x.unsqueeze(1) - mean) / scale


def clipped(x: Tensor, top: float) -> Tensor:
    if (size := x.square().sum().sqrt()).shape:  # if: if (size := x.square().sum().sqrt()) > top:
        return x
    return x * (top / size).minimum(1.0)


def moments(xs: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    total = Tensor.stack(*xs)
    return total.mean(axis=(0, 1)), total.std(axis=(0, 1)) + 0.1  # axis: return total.mean(axis=0), total.std(axis=0) + 0.1


def scored(x: Tensor, ws: Iterable[Tensor]) -> Tensor:
    parts = [s for w in ws if (s := (w * x).sum()).ndim == 0]  # if: parts = [s for w in ws if (s := (w * x).sum()) > 0]
    return sum(parts, start=Tensor(0.0))


def blended(a: Tensor, b: Tensor) -> Tensor:
    return 0.9 * a + b


def longest(x: Tensor) -> Tensor:
    return x.abs().max()  # read: return Tensor(max(abs(v) for v in x.tolist()))


timer, history = Timer(), list[Tensor]()
mean, scale = moments(batches(TOTAL))
weights = [Tensor([1.0, 0.0, -1.0]), Tensor([0.5, 0.5, 0.5])]
with Log() as log, timer.measure("whiten"):
    clean = [vmap(whitened, in_axes=(0, None, None))(b, mean, scale) for b in batches(TOTAL)]  # none: clean = [vmap(whitened)(b, mean, scale) for b in batches(TOTAL)]
    log.add(clean[0])
short = [vmap(lambda x: clipped(x, 1.0))(b) for b in clean]
scores = [vmap(lambda x: scored(x, weights))(b) for b in short]
running = list(accumulate(scores, blended))
pairs = list(starmap(lambda a, b: vmap(lambda x, s: x * s)(a, b), zip(short, running, strict=True)))  # axis: pairs = list(starmap(lambda a, b: vmap(lambda x, s: x * s, in_axes=(1, 0))(a, b), zip(short, running, strict=True)))
table = vmap(lambda w: vmap(lambda x: (w * x).sum())(clean[0]))(Tensor.stack(*weights))  # zip: table = vmap(lambda w, x: (w * x).sum())(Tensor.stack(*weights), clean[0])
sizes = {i: vmap(longest)(b) for i, b in enumerate(clean)}
flat = list(chain.from_iterable(islice(pairs, 2)))
ratio = vmap(lambda row, m: row / m, in_axes=(1, 0), out_axes=1)(table, sizes[0])  # axis: ratio = vmap(lambda row, m: row / m, out_axes=1)(table, sizes[0])
moved = ratio + running[-1]  # out: moved = vmap(lambda row, m: row / m, in_axes=(1, 0))(table, sizes[0]) + running[-1]
total = map_batched(lambda b: b.sum(), Tensor.stack(*short))
with brand("rows", BATCH) as rows:
    row = rows.vec(clean[1])
    inside = rows.unvec((row * weights[0]).sum())  # read: inside = Tensor([(row * weights[0]).sum().item()] * BATCH)
offset = vmap(lambda x, o: x + o, in_axes=(0, None))(inside, total[0])  # none: offset = vmap(lambda x, o: x + o)(inside, total)
signs = [vmap(lambda x: (x > 0).where(x, -x))(s) for s in scores]  # if: signs = [vmap(lambda x: x if x > 0 else -x)(s) for s in scores]
last = vmap(lambda x: x[-1])(clean[-1])  # axis: last = vmap(lambda x: x[WIDTH])(clean[-1])
best = max(range(BATCH), key=lambda i: float(signs[0][i].item()))  # read: best = vmap(lambda s: max(range(BATCH), key=lambda i: s.item()))(signs[0])
result = *pairs, table, *sizes.values(), ratio, moved, total, inside, offset, *signs, last, flat[best]
