"""Results of chunks on disk: an interrupted run continues where it stopped, but only the same run.

A directory has `run.json`, which identifies the run, and one safetensors file for each chunk.  A file is written under
another name and then renamed, so an existing file is complete.  A run is identified by its function (the graph with all
constants), the values that the graph reads, and the chunks.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tinygrad import Device, Tensor, dtypes
from tinygrad.device import Buffer
from tinygrad.dtype import DType, strong_dtype
from tinygrad.uop.ops import Ops, UOp

from branded.control_flow.loop_primitive import Loop
from branded.dispatch import close
from branded.errors import SavedError
from branded.graph.primitive import Primitive
from branded.graph.uops import tensor
from branded.tinygrad_compat.private_api import CallInfo

_NAMES = {
    dtypes.bool: "BOOL", dtypes.int8: "I8", dtypes.uint8: "U8", dtypes.int16: "I16", dtypes.uint16: "U16",
    dtypes.int32: "I32", dtypes.uint32: "U32", dtypes.int64: "I64", dtypes.uint64: "U64", dtypes.float16: "F16",
    dtypes.bfloat16: "BF16", dtypes.float32: "F32", dtypes.float64: "F64",
}  # fmt: skip
"""The safetensors name of each dtype."""
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}


class RunIdentity(NamedTuple):
    """The identity of a run."""

    program: str
    """A digest of the function's graph."""
    values: str
    """A digest of the values that the graph reads."""
    size: int
    chunk: int


class Saved:
    """The results of a run in a directory.

    Raises:
        SavedError: The directory has the results of another run, or cannot be written to.
    """

    def __init__(
        self, directory: Path, first: tuple[Any, list[Any], list[int]], axes: Sequence[Any], size: int, chunk: int
    ) -> None:
        """`first` is the first chunk, as graphs."""
        self.directory, self.first = directory, first
        _, ys, pieces = first
        self.like = [(savable(ys[i]), axes[i] % len(ys[i].shape)) for i in pieces]
        self.run = run = run_of([t for t, _ in self.like], size, chunk)
        self.mark = _digest(run)
        head = directory / "run.json"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            there = json.loads(head.read_text()) if head.exists() else None
            if not isinstance(there, dict | None):
                raise ValueError("run.json was not written by save=")
            if there is None:
                _write(head, [json.dumps(run._asdict(), indent=1).encode()])
        except (OSError, ValueError) as error:
            raise SavedError(f"save: {directory} cannot be used: {error}", fix="use a separate directory") from None
        if there is not None and there != run._asdict():
            raise self._of_another(there)

    def _of_another(self, there: dict[str, Any]) -> SavedError:
        mine = self.run._asdict()
        which = next(
            (name for name in ("size", "chunk", "program", "values") if there.get(name) != mine[name]), "values"
        )
        api_name = {
            "size": f"of {there.get('size')} examples, not of {self.run.size}",
            "chunk": f"in chunks of {there.get('chunk')}, not of {self.run.chunk}",
            "program": "of another function",
            "values": "of other arguments, or of other values that the function closes over",
        }[which]
        fix = "use another directory, or delete this one"
        if which == "values":
            fix += ", and seed random samples with Tensor.manual_seed or keys"
        done = sum(1 for _ in self.directory.glob("chunk-*.safetensors"))
        return SavedError(f"save: {self.directory} contains results {api_name}", ("saved", f"{done} chunks"), fix=fix)

    def _path(self, i: int) -> Path:
        return self.directory / f"chunk-{i:06d}.safetensors"

    def get(self, i: int, count: int) -> list[Tensor] | None:
        """Return the results of a chunk of `count` examples, or None if they are missing or incomplete."""
        try:
            data = memoryview(self._path(i).read_bytes())
            (n,) = struct.unpack("<Q", data[:8])
            head = json.loads(bytes(data[8 : 8 + n]))
            if head["__metadata__"]["run"] != self.mark:
                return None
            rows = [head[str(k)] for k in range(len(self.like))]
            parts = [data[8 + n + row["data_offsets"][0] : 8 + n + row["data_offsets"][1]] for row in rows]
            shapes = [(*t.shape[:axis], count, *t.shape[axis + 1 :]) for t, axis in self.like]
            each = zip(rows, parts, self.like, shapes, strict=True)
            return [_load_tensor(row, part, t, shape) for row, part, (t, _), shape in each]
        except (OSError, ValueError, KeyError, IndexError, TypeError, struct.error):
            return None

    def put(self, i: int, results: Sequence[Tensor]) -> None:
        """Save the results of a chunk."""
        head: dict[str, Any] = {"__metadata__": {"run": self.mark}}
        parts, offset = [], 0
        for k, t in enumerate(results):
            parts.append(_bytes(t))
            head[str(k)] = {
                "dtype": _NAMES[strong_dtype(t.dtype)],
                "shape": t.shape,
                "data_offsets": [offset, offset := offset + len(parts[-1])],
            }
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        try:
            _write(self._path(i), [struct.pack("<Q", len(text)), text, *parts])
        except OSError as error:
            raise SavedError(
                f"save: a chunk cannot be written: {error}", fix="free some space for the directory"
            ) from None


def savable(t: Tensor) -> Tensor:
    """Return the result; raise `SavedError` if a file cannot store it."""
    if strong_dtype(t.dtype) not in _NAMES or isinstance(t.device, tuple):
        raise SavedError(
            f"save: a result of dtype {t.dtype.name} cannot be saved", fix="cast the result to another dtype"
        )
    return t


def _load_tensor(row: dict[str, Any], data: memoryview, like: Tensor, shape: tuple[int, ...]) -> Tensor:
    dtype, n = strong_dtype(like.dtype), math.prod(shape)
    if (_DTYPES[row["dtype"]], tuple(row["shape"])) != (dtype, shape) or len(data) != n * dtype.itemsize:
        raise ValueError
    if not n:
        return Tensor.empty(shape, dtype=dtype, device=like.device)
    buffer = Buffer(str(like.device or Device.DEFAULT), n, dtype, initial_value=bytes(data))
    return tensor(UOp.from_buffer(buffer).reshape(shape))


def _bytes(t: Tensor) -> bytes:
    """Return the bytes of a realized tensor."""
    if not t.numel():
        return b""
    buffer = (t.clone().realize() if t.uop.is_virtual else t).uop.buffer
    assert isinstance(buffer, Buffer)
    return bytes(buffer.ensure_allocated().as_memoryview())


def _write(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file atomically: it exists completely or not at all."""
    other = path.with_name(f".{path.name}.{os.getpid()}")
    with other.open("wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    other.replace(path)


def run_of(results: Sequence[Tensor], size: int, chunk: int) -> RunIdentity:
    """Return the identity of the run whose first chunk has these results, as graphs."""
    graph = [x.uop for x in close([t.uop for t in results])]
    text = _Text()
    program = _digest([text.of(u) for u in graph])
    values = hashlib.blake2b(digest_size=16)
    for b in text.buffers:
        if isinstance(buffer := b.buffer if b.is_realized else None, Buffer):
            values.update(buffer.ensure_allocated().as_memoryview(allow_zero_copy=True))
    return RunIdentity(program, values.hexdigest(), size, chunk)


def _digest(x: object) -> str:
    return hashlib.blake2b(repr(x).encode(), digest_size=16).hexdigest()


class _Text:
    """Digests of graphs that are the same in every process: buffers and ranges are numbered in order of appearance."""

    def __init__(self) -> None:
        self.known: dict[UOp, str] = {}
        self.buffers: dict[UOp, int] = {}
        self.numbers: dict[Any, int] = {}

    def of(self, root: UOp) -> str:
        for u in root.toposort():
            if u not in self.known:
                self.known[u] = _digest((u.op.name, u.dtype.name, self._arg(u), [self.known[s] for s in u.src]))
        return self.known[root]

    def _arg(self, u: UOp) -> Any:
        if u.op is Ops.BUFFER:
            number = self.buffers.setdefault(u, len(self.buffers))
            return number, u.device, int(u.max_numel())
        if u.op is Ops.RANGE:
            return self.numbers.setdefault(u.arg, len(self.numbers))
        return self._plain(u.arg, 8)

    def _plain(self, x: Any, depth: int) -> Any:
        if isinstance(x, DType):
            return x.name
        if x is None or isinstance(x, bool | int | float | complex | bytes) or type(x) is str:
            return x
        if isinstance(x, UOp):
            return self.of(x)
        if isinstance(x, Tensor):
            return self.of(x.uop)
        if isinstance(x, CallInfo):  # its name may contain a number that differs between processes
            return self._plain(x.aux, depth - 1) if isinstance(x.aux, Primitive) else (str(x.name), x.precompile)
        if isinstance(x, Loop):
            options = {k: v for k, v in vars(x).items() if isinstance(v, bool | int)}
            return x.api_name, sorted(options.items()), self.of(x.step)
        if isinstance(x, tuple | list):
            return [self._plain(y, depth) for y in x]
        if isinstance(x, set | frozenset):
            return sorted(repr(self._plain(y, depth)) for y in x)
        if isinstance(x, dict):
            return [(self._plain(k, depth), self._plain(v, depth)) for k, v in x.items()]
        return self._object(x, depth)

    def _object(self, x: Any, depth: int) -> Any:
        """Describe a function by its code and captured values, any other object by its attributes."""
        name = f"{type(x).__module__}.{type(x).__qualname__}"
        if depth <= 0 or isinstance(x, type):
            return getattr(x, "__qualname__", name)
        if (code := getattr(x, "__code__", None)) is not None:
            cells = [c.cell_contents for c in x.__closure__ or () if c != type(c)()]
            consts = [repr(c) if not hasattr(c, "co_code") else c.co_code for c in code.co_consts]
            return name, code.co_code, code.co_names, consts, self._plain((cells, x.__defaults__), depth - 1)
        if hasattr(x, "func") and hasattr(x, "args"):  # functools.partial
            return name, self._plain((x.func, x.args, x.keywords), depth - 1)
        attributes = getattr(x, "__dict__", None)
        if attributes is None:
            return name, getattr(x, "name", "")
        return name, [
            (k, self._plain(v, depth - 1)) for k, v in sorted(attributes.items()) if k not in ("number", "known")
        ]
