"""Run programs in one process, and print their outcomes, a line of JSON for each.

    python -m tests.plain.process CONDITION SEED NUMBER NUMBER ...

Conditions: `plain`; `imported`, after `import branded`; `used`, where vmap, grad and jit run in advance and between the
programs; `beside`, where another thread is in the body of a vmap or in a realize most of the time; `racing`, where that
thread compiles kernels too; `racing plain`, where it runs plain tinygrad and nothing is imported.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import pickle
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.plain.programs import Program, program

EVERY = 8
"""In `used`, vmap runs before each group of this number of programs."""
_ADDRESS = re.compile(r"0x[0-9a-f]+")


NAMES = """
import copy, inspect, pickle, tempfile
from pathlib import Path
import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, Variable, dtypes, function, nn
from tinygrad.nn.state import get_state_dict, load_state_dict, safe_load, safe_save
from tests.plain.process import data
"""
"""The names that programs use. This runs after `import branded`, which is the first import of a user's file."""


def data(dtype: str, *shape: int, seed: int = 0) -> Any:
    """Return a tensor in memory with random elements, and special ones among them."""
    import numpy as np
    from tinygrad import Tensor

    rng = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return Tensor(rng.random(shape) < 0.5, device="CPU").realize()
    if dtype.startswith(("int", "uint")):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        special = np.array([low, low + 1, 0, 1, 2, 3, 7, high], dtype)
        x = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), rng.integers(0, 100, shape, dtype))
        return Tensor(x, device="CPU").realize()
    floats = rng.standard_normal(shape)
    if len(shape) == 1 and shape[0] >= 17:
        floats[:7] = 0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30
    with np.errstate(over="ignore"):
        x = floats.astype("float32" if dtype == "bfloat16" else dtype)
    return Tensor(x, device="CPU").cast(dtype).realize()


def digest(x: Any) -> Any:
    """Return the dtype, the shape and a hash of the bytes for each part of a result."""
    import numpy as np
    from tinygrad import Tensor

    if isinstance(x, list | tuple):
        return [digest(part) for part in x]
    if isinstance(x, Tensor):
        return [str(x.dtype), *digest(x.numpy())]
    if isinstance(x, np.ndarray):
        return [str(x.dtype), str(x.shape), hashlib.sha256(x.tobytes()).hexdigest()[:16]]
    return _ADDRESS.sub("0x", repr(x))


def _lock() -> contextlib.AbstractContextManager[object]:
    """Return the lock under which branded replaces tables of tinygrad, such as the cache of programs."""
    module = sys.modules.get("branded.tinygrad_compat.tinygrad_lock")
    return contextlib.nullcontext() if module is None else module.LOCK


def sources() -> list[str]:
    """Return the sources of the kernels that this process compiled since `forget`."""
    from tinygrad import codegen
    from tinygrad.uop.ops import Ops

    with _lock():
        found = list(codegen.to_program_cache.values())
    return sorted({_text_of(str(u.arg)) for p in found for u in p.src if u.op is Ops.SOURCE})


def _text_of(source: str) -> str:
    """Return a source as text, without the names of pickled methods, which depend on all earlier programs.

    A kernel of the device PYTHON is a pickled list of operations.
    """
    try:
        return repr(pickle.loads(base64.b64decode(source, validate=True)))
    except ValueError:
        return source


def forget() -> None:
    """Forget the kernels in memory, so that each program compiles its own, independent of earlier programs."""
    from tinygrad import codegen

    with _lock():
        codegen.to_program_cache.clear()


def run(p: Program, shared: dict[str, Any], is_alone: bool) -> dict[str, Any]:
    """Run a program; return its result, error, warnings, output and kernels."""
    from tinygrad.helpers import GlobalCounters

    if is_alone:
        forget()
    done: dict[str, Any] = {"number": p.number}
    space, before = dict(shared), GlobalCounters.kernel_count
    output = io.StringIO()
    with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(output):
        warnings.simplefilter("always")
        try:
            exec(compile(p.text, f"<program {p.number}>", "exec"), space)
            done["result"] = digest(space["result"])
        except Exception as error:
            text = "\n".join((str(error), *getattr(error, "__notes__", ())))
            done["error"] = _ADDRESS.sub("0x", f"{type(error).__module__}.{type(error).__qualname__}: {text}")
    done["warnings"] = sorted({f"{w.category.__name__}: {w.message}" for w in warned})
    done["output"] = output.getvalue()
    done["sources"] = sources()
    if is_alone:
        done["kernels run"] = GlobalCounters.kernel_count - before
    return done


def use(turn: int = 0) -> None:
    """Run a vmap, a grad and a jit."""
    import numpy as np
    from tinygrad import Tensor

    from branded import grad, jit, vmap

    x = Tensor(np.arange(12 + turn % 5 * 3, dtype=np.float32).reshape(3, -1))
    vmap(lambda a: (a * 2 + turn).sin().sum())(x).numpy()
    vmap(grad(lambda a: (a * a).sum()))(x).numpy()
    if turn % 4 == 0:
        jit(vmap(lambda a: a @ a + a.sort()[0]))(x).numpy()


def use_slowly(turn: int = 0) -> None:
    """Stay in the body of a vmap, and in a realize, for some milliseconds; the second time nothing is compiled."""
    import numpy as np
    from tinygrad import Tensor

    from branded import pure_callback, vmap

    def slow(x: Any) -> Any:
        time.sleep(0.004)
        return x

    def body(a: Any) -> Any:
        time.sleep(0.004)
        return pure_callback(slow, a, a * 2, vmap_method="broadcast_all").sin().sum()

    vmap(body)(Tensor(np.ones((3, 4), dtype=np.float32))).numpy()


def use_plain(turn: int = 0) -> None:
    """Run plain tinygrad, with other kernels each time."""
    from tinygrad import Tensor

    (Tensor.ones(3, 4 + turn % 5).contiguous() * 2 + turn).sin().sum(1).numpy()


THREADS: Mapping[str, Callable[[int], None]] = {"beside": use_slowly, "racing": use, "racing plain": use_plain}
"""The function that the other thread runs, by condition."""


@contextlib.contextmanager
def another_thread(condition: str) -> Iterator[list[str]]:
    """Run programs in another thread all the time; afterwards the list has the exceptions raised there."""
    stop, raised = threading.Event(), list[str]()

    def work() -> None:
        turn = 0
        while not stop.is_set():
            try:
                THREADS[condition](turn)
            except Exception as error:
                raised.append(f"{type(error).__name__}: {error}")
            turn += 1
            time.sleep(0.002)

    thread = threading.Thread(target=work)
    if is_there := condition in THREADS:
        THREADS[condition](0)
        thread.start()
    try:
        yield raised
    finally:
        stop.set()
        if is_there:
            thread.join()


def main(condition: str, seed: int, numbers: list[int]) -> None:
    """Run the programs with these numbers under a condition."""
    if condition not in ("plain", "racing plain"):
        import branded  # noqa: F401
    shared: dict[str, Any] = {}
    exec(NAMES, shared)
    if condition in ("used", "beside"):
        use()
    with another_thread(condition) as raised:
        for i, number in enumerate(numbers):
            if condition == "used" and i % EVERY == 0:
                use(i // EVERY)
            print(json.dumps(run(program(number, seed), shared, condition not in THREADS)), flush=True)
    print(json.dumps({"thread": sorted(set(raised))}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(n) for n in sys.argv[3:]])
