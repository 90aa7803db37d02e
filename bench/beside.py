"""Plain tinygrad beside us: the same programs without `branded` and after `import branded`, in processes of their own.

    python -m bench.beside

Each program must give the same bits.  Its time is that of the processor, of all threads of the process, since what else
runs on the machine makes the clock on the wall useless.  The rounds of the two processes take turns, each goes first as
often as the other, and the medians are compared; then two other processes do the same, since the same program takes
longer in one process than in the next.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from branded.tinygrad_compat import zig_clang

PROGRAMS = r"""
import copy, hashlib, json, pickle, sys, tempfile, time
if sys.argv[1] == "branded":
    import branded
import numpy as np
from tinygrad import Context, Tensor, TinyJit, Variable, dtypes, nn
from tinygrad.nn.state import get_state_dict, safe_load, safe_save

rng = np.random.default_rng(0)
def data(*shape): return Tensor(rng.standard_normal(shape).astype("float32")).realize()
def weights(model):
    for t in get_state_dict(model).values():
        if t.dtype == dtypes.float: t.assign(data(*t.shape) * 0.1).realize()
    return model

class MLP:
    def __init__(self): self.a, self.b = nn.Linear(64, 32), nn.Linear(32, 10)
    def __call__(self, x): return self.b(self.a(x).relu())
class Conv:
    def __init__(self): self.c, self.d, self.n = nn.Conv2d(1, 4, 3), nn.Linear(4 * 6 * 6, 10), nn.BatchNorm(4)
    def __call__(self, x): return self.d(self.n(self.c(x)).relu().flatten(1))
class Block:
    def __init__(self):
        self.q, self.o, self.f, self.n = nn.Linear(32, 96), nn.Linear(32, 32), nn.Linear(32, 32), nn.LayerNorm(32)
    def __call__(self, x):
        q, k, v = self.q(self.n(x)).reshape(2, 8, 3, 4, 8).permute(2, 0, 3, 1, 4)
        x = x + self.o(q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(2, 8, 32))
        return x + self.f(x).gelu()

def trained(make, x, loss, compiled):
    def step(x):
        with Context(TRAINING=1):
            opt.zero_grad()
            l = loss(model(x)).backward()
            opt.step()
            return l.realize()
    def run():
        nonlocal model, opt, step
        if model is None:
            model = weights(make())
            opt = nn.optim.Adam(nn.state.get_parameters(model), lr=1e-2)
            step = TinyJit(step) if compiled else step
        return [step(x).numpy() for _ in range(3)]
    model = opt = None
    return run

y = Tensor(rng.integers(0, 10, 16)).realize()
a, b, img, seq, digits = data(48, 48), data(48, 48), data(16, 1, 8, 8), data(2, 8, 32), data(16, 64)
cross = lambda out: out.sparse_categorical_crossentropy(y)
double = TinyJit(lambda x: (x @ b + 1).realize())
def symbolic():
    v = Variable("v", 1, 48)
    return [(a[:v.bind(n)] * 2).sum().numpy() for n in (3, 7, 40)]
def saved():
    with tempfile.NamedTemporaryFile() as f:
        safe_save({"a": a}, f.name)
        return safe_load(f.name)["a"].to("CPU").numpy()
programs = {
    "elementwise": lambda: ((a * 2 + b).exp().sin() / (b * b + 1)).numpy(),
    "reductions": lambda: [a.sum(0).numpy(), a.max().numpy(), a.softmax().numpy(), a.std(1).numpy()],
    "matmul": lambda: (a @ b).numpy(),
    "movement": lambda: a.reshape(4, 12, 48).permute(2, 0, 1).pad(((0, 1), None, None)).flip(0)[1::2].numpy(),
    "indexing and writes": lambda: (lambda t: [t.__setitem__(slice(2, 4), b[0:2]), t[y].numpy()][1])(a.clone()),
    "gradient": lambda: (lambda w: (w @ b).sin().sum().gradient(w)[0].numpy())(a.clone()),
    "graph alone, not run": lambda: len((((a * 2 + b).reshape(4, 12, 48).sum(0) @ b).softmax() + a).uop.toposort()),
    "symbolic shapes": symbolic,
    "TinyJit": lambda: [double(a).numpy() for _ in range(20)],
    "MLP step": trained(MLP, digits, cross, False),
    "MLP step, TinyJit": trained(MLP, digits, cross, True),
    "conv and BatchNorm step, TinyJit": trained(Conv, img, cross, True),
    "transformer step, TinyJit": trained(Block, seq, lambda out: (out * out).mean(), True),
    "pickle and copy": lambda: [pickle.loads(pickle.dumps(a)).numpy(), copy.copy(a).numpy(), copy.deepcopy(a).numpy()],
    "safetensors": saved,
    "shards": lambda: (a.shard(("CPU:0", "CPU:1"), 0) * 2 + 1).sum(1).numpy(),
    "DEV=PYTHON": lambda: (a[:4, :4].to("PYTHON") * 3).sum(0).numpy(),
    "random": lambda: [Tensor.manual_seed(3), Tensor.rand(5).numpy(), Tensor.randn(4).numpy()][1:],
}
if len(sys.argv) > 2:
    programs = {k: programs[k] for k in sys.argv[2:]}

def bits(x):
    if isinstance(x, (list, tuple)): return "".join(map(bits, x))
    return hashlib.sha256(np.asarray(x).tobytes()).hexdigest()[:16]

print(json.dumps({name: bits(program()) for name, program in programs.items()}), flush=True)
for line in sys.stdin:  # one round of one program for each line
    name = line.strip()
    start = time.process_time()
    programs[name]()
    print(time.process_time() - start, flush=True)
"""


class Process:
    """One of the two, with tinygrad's kernels, so that sums have the same bits."""

    def __init__(self, which: str, only: tuple[str, ...], compiler: dict[str, str]) -> None:
        words, env = [sys.executable, "-c", PROGRAMS, which, *only], {**os.environ, "BRANDED_CPU": "0", **compiler}
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.results: dict[str, str] = json.loads(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def time(self, name: str) -> float:
        assert self.process.stdin is not None
        print(name, file=self.process.stdin, flush=True)
        return float(self._line())

    def end(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def compiler(folder: Path) -> dict[str, str]:
    """The variable CC for processes without `branded`: the compiler that it chooses, as one program in `folder`."""
    command = zig_clang.command()
    if len(command) == 1:
        return {"CC": command[0]}
    script = folder / "zig-clang"
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    script.chmod(0o755)
    return {"CC": str(script)}


FIRST = 3
"""So many rounds are not counted: their kernels are not compiled yet."""


def compare(rounds: int, only: tuple[str, ...] = ()) -> dict[str, tuple[bool, float]]:
    """For each program: are the results the same, and the time with `branded` over the time without it."""
    with tempfile.TemporaryDirectory() as folder:
        return _compared(rounds, only, compiler(Path(folder)))


def _compared(rounds: int, only: tuple[str, ...], compiler: dict[str, str]) -> dict[str, tuple[bool, float]]:
    sides = plain, ours = Process("plain", only, compiler), Process("branded", only, compiler)
    try:
        found = {}
        for name, bits in plain.results.items():
            times: dict[Process, list[float]] = {side: [] for side in sides}
            for i in range(rounds):
                for side in sides[:: -1 if i % 2 else 1]:
                    times[side].append(side.time(name))
            medians = [statistics.median(times[side][FIRST:] or [1.0]) for side in sides]
            found[name] = (bits == ours.results[name], medians[1] / medians[0])
        return found
    finally:
        plain.end()
        ours.end()


def repeated(pairs: int, rounds: int, only: tuple[str, ...] = ()) -> dict[str, tuple[bool, float]]:
    """The same for several pairs of processes: the median of what they found."""
    runs = [compare(rounds, only) for _ in range(pairs)]
    return {
        name: (all(run[name][0] for run in runs), statistics.median(run[name][1] for run in runs)) for name in runs[0]
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.beside", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=3, help="of processes")
    args = parser.parse_args()
    found = repeated(args.pairs, args.rounds)
    print("| program of plain tinygrad | results | time after `import branded` |\n|---|---|---|")
    for name, (same, ratio) in found.items():
        print(f"| {name} | {'the same' if same else 'DIFFERENT'} | {ratio:.3f} |")
    print(f"| geometric mean | | {statistics.geometric_mean(r for _, r in found.values()):.3f} |")
    return int(not all(same for same, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
