"""Write the static view of `Vec` and of tinygrad, from tinygrad's own signatures.

    python stubs/generate.py [--check]

It reads the sources of the installed tinygrad and writes `branded/vec.pyi` (all methods of `Tensor`, typed by rows) and
the modules of `stubs/tinygrad-stubs` in which a `Tensor` is a `Vec[Never, Tensor]`, for mypy; for other checkers, where
both are one class, `branded/_plain.pyi`.  The same signatures without rows are `stubs/standalone/tinygrad-stubs`, the
package for users of tinygrad who do not use branded.  One rule gives all of the types with rows:

    each parameter that takes tensors gets a row of its own, and a result has the union of all the rows.

`--check` writes nothing, and fails if a file is out of date.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from mypy import stubgen
from tinygrad.helpers import ContextVar

from branded.hooks import reads

ROOT = Path(__file__).resolve().parent.parent
STUBS = ROOT / "stubs" / "tinygrad-stubs"
ALONE = ROOT / "stubs" / "standalone" / "tinygrad-stubs"

# ---- types that tinygrad leaves out ----

AXES, SHAPE, ANY = "int | Sequence[int] | None", "sint | Sequence[sint]", "Any"
TENSORS = "Self | ConstType"
UNTYPED = {
    "args": SHAPE,
    "dtype": "DTypeLike | None",
    "device": "str | tuple[str, ...] | None",
    "indices": "_Index | Self | tuple[_Index | Self, ...]",
    "kwargs": ANY,
    "mask": "Self",
    "max_": f"{TENSORS} | None",
    "min_": f"{TENSORS} | None",
    "order": SHAPE,
    "other": TENSORS,
    "repeats": SHAPE,
    "shape": SHAPE,
    "size": "sint",
    "sizes": "int",
    "start": "sint | float",
    "stop": "sint | float | None",
    "uops": "Self",
    "x": TENSORS,
}
"""The types of parameters, by name, that have none in tinygrad and whose default does not tell."""

PER_AXIS = "int | Sequence[int]"
WIDER = {
    "axis": AXES,
    "dilation": PER_AXIS,
    "eps": "float",
    "max_val": "float",
    "min_val": "float",
    "output_padding": PER_AXIS,
    "padding": PER_AXIS,
    "stride": PER_AXIS,
}
"""The same, where the type of the default would be too narrow."""

LOOSER = {"sequential"}
"""Methods with the parameter types of `UNTYPED_HERE`: mypy infers `list[object]` for a list of layers and functions."""

UNTYPED_HERE = {
    "sequential": {"ll": "Sequence[Any]"},
    "meshgrid": {"args": "Self"},
    "max_unpool2d": {"output_size": "tuple[int, ...] | None"},
    "flip": {"args": "int"},
    "__ilshift__": {"x": "Self | int"},
    "__irshift__": {"x": "Self | int"},
    "__imatmul__": {"x": "Self"},
    "argmax": {"axis": "int | None"},
    "argmin": {"axis": "int | None"},
}
"""The same, for one method."""

RESULTS = {"shape": "tuple[int, ...]", "size": "int | tuple[int, ...]", "numel": "int", "tolist": "Any"}
"""Results that tinygrad types as possibly symbolic, which users never handle."""

READS = {*reads.READS, "custom_kernel"}
"""Methods that need the empty row: at run time they reject batched values."""
TOGETHER = {"realize"}
"""Methods that act on other tensors too, whatever their brands."""

SAME_ROW = frozenset(["assign", "replace", "__setitem__", "shard_like", "decode_hevc_frame", "call"])
"""Methods that write into the receiver: the value must not have brands that the receiver lacks."""

SKIPPED = frozenset(["__init__", "__del__", "__repr__", "__hash__", "__bool__", "__len__", "__delitem__"])
NOT_REFLECTED = frozenset(["__rshift__", "__rmatmul__"])
"""Names with the prefix `__r` that take tensors: the first is not a reflected operator, the second takes no numbers."""

BUILTINS = {"int", "float", "bool"}
"""Methods of these names hide the builtins in the class."""

BARE = {"Callable": "Callable[..., Any]", "list": "list[Any]", "tuple": "tuple[Any, ...]", "Sequence": "Sequence[Any]"}
"""Generic types that tinygrad leaves bare."""


# ---- reading tinygrad ----


def source(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    return ast.parse(Path(spec.origin).read_text())


def class_of(module: ast.Module, name: str) -> ast.ClassDef:
    return next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == name)


def methods() -> dict[str, ast.FunctionDef]:
    """The methods of `Tensor`, by name, each as the first class of the MRO defines it."""
    import tinygrad

    found: dict[str, ast.FunctionDef] = {}
    for cls in tinygrad.Tensor.__mro__[:-1]:
        for node in class_of(source(cls.__module__), cls.__name__).body:
            if isinstance(node, ast.FunctionDef) and (node.name.startswith("__") or not node.name.startswith("_")):
                found.setdefault(node.name, node)
    return {name: node for name, node in found.items() if name not in SKIPPED}


# ---- one signature ----


def parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def annotation(arg: ast.arg, default: ast.expr | None, method: str) -> ast.expr:
    """Return the type of a parameter: its annotation, the type in this file, or the type of its default."""
    if isinstance(arg.annotation, ast.Constant):
        return parsed(str(arg.annotation.value))
    if arg.annotation is not None and method not in LOOSER:
        return arg.annotation
    if text := UNTYPED_HERE.get(method, {}).get(arg.arg):
        return parsed(text)
    if arg.arg in WIDER:
        none = " | None" if isinstance(default, ast.Constant) and default.value is None else ""
        return parsed(WIDER[arg.arg].removesuffix(" | None") + none)
    if isinstance(default, ast.Constant) and default.value is not None:
        return parsed(type(default.value).__name__)
    if isinstance(default, ast.UnaryOp):
        return parsed("int" if isinstance(ast.literal_eval(default), int) else "float")
    if arg.arg not in UNTYPED:
        raise SystemExit(f"{method}: parameter `{arg.arg}` has no type in tinygrad: give it one in UNTYPED")
    return parsed(UNTYPED[arg.arg])


class _Replace(ast.NodeTransformer):
    def __init__(self, tensor: str, hides: bool) -> None:
        self.tensor, self.hides = tensor, hides

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in ("Self", "Tensor"):
            return parsed(self.tensor)
        if node.id in BARE:
            return parsed(BARE[node.id])
        return parsed(f"builtins.{node.id}") if self.hides and node.id in BUILTINS else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return parsed("NDArray[Any]") if ast.unparse(node) == "numpy.ndarray" else node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return self.visit(parsed(node.value)) if isinstance(node.value, str) and "." in node.value else node


def typed(node: ast.expr, tensor: str, hides: bool = True) -> str:
    """The text of a type, with `tensor` in the place of tensors."""
    return ast.unparse(_Replace(tensor, hides).visit(parsed(ast.unparse(node))))


def takes_tensors(node: ast.expr) -> bool:
    """Does a parameter of this type take tensors (and not functions of them)?"""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Callable":
        return False
    if isinstance(node, ast.Name):
        return node.id in ("Self", "Tensor")
    return any(takes_tensors(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))


@dataclass
class Parameter:
    name: str  # with its stars
    type: ast.expr
    default: str
    kind: str  # "positional", "star", "named", "kwargs"


def parameters(f: ast.FunctionDef, bound_to: str = "self") -> list[Parameter]:
    """The parameters after `self` or `cls`; all of them, of a function that is bound to nothing."""
    a = f.args
    bound = [*a.posonlyargs, *a.args]
    out: list[Parameter] = []

    def add(arg: ast.arg, default: ast.expr | None, kind: str, stars: str = "") -> None:
        text = "" if default is None else ast.unparse(default)
        if default is not None and not isinstance(default, ast.Constant | ast.UnaryOp):
            text = "..."
        out.append(Parameter(stars + arg.arg, annotation(arg, default, f.name), text, kind))

    missing: list[ast.expr | None] = [None] * (len(bound) - len(a.defaults))
    for arg, default in zip(bound, missing + list(a.defaults), strict=True):
        if arg is not bound[0] or is_static(f) or not bound_to:
            add(arg, default, "positional")
    if a.vararg:
        add(a.vararg, None, "star", "*")
    for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
        add(arg, default, "named")
    if a.kwarg:
        add(a.kwarg, None, "kwargs", "**")
    return out


def decorators(f: ast.FunctionDef) -> set[str]:
    return {ast.unparse(d) for d in f.decorator_list} & {"staticmethod", "classmethod", "property"}


def is_reflected(f: ast.FunctionDef) -> bool:
    return f.name.startswith("__r") and f.name not in NOT_REFLECTED


def is_static(f: ast.FunctionDef) -> bool:
    return "staticmethod" in decorators(f)


def returned(f: ast.FunctionDef) -> ast.expr:
    if f.name in RESULTS:
        return parsed(RESULTS[f.name])
    if f.returns is None:
        return parsed("None" if f.name == "manual_seed" else "Self")
    return parsed(str(f.returns.value)) if isinstance(f.returns, ast.Constant) and f.returns.value else f.returns


def signature(f: ast.FunctionDef, first: str, tensors: list[str], result: str, hides: bool = True) -> str:
    """`def f(first, …) -> …: ...`, where each parameter that takes tensors takes its own of `tensors`."""
    parts, own, starred = [first] if first else [], iter(tensors), False
    for p in parameters(f):
        if p.kind == "named" and not starred:
            parts.append("*")
        starred = starred or p.kind in ("star", "named")
        text = typed(p.type, next(own) if takes_tensors(p.type) else "Self", hides)
        parts.append(f"{p.name}: {text}" + (f" = {p.default}" if p.default else ""))
    return f"def {f.name}({', '.join(parts)}) -> {typed(returned(f), result, hides)}: ..."


# ---- the two classes ----


def rows(f: ast.FunctionDef) -> list[str]:
    """The row variables of a method: one for each parameter that takes tensors."""
    return [f"_S{i}" for i in range(1, 1 + sum(takes_tensors(p.type) for p in parameters(f)))]


def in_vec(f: ast.FunctionDef) -> Iterator[str]:
    """A method as `Vec` has it."""
    kinds, own = decorators(f), rows(f)
    yield from (f"@{k}" for k in sorted(kinds))
    row = " | ".join(["S_co", *own])
    if "property" in kinds:
        yield signature(f, "self", [], "Self")
    elif kinds:  # it makes a tensor, or works on operands alone
        result = f"Vec[{' | '.join(own)}, Tensor]" if own else "Tensor"
        yield signature(f, "" if is_static(f) else "cls", [f"Vec[{s}, Tensor]" for s in own], result)
    elif f.name in READS:
        yield signature(f, "self: Vec[Never, _T]", ["Vec[Never, _T]"] * len(own), "_T")
    elif f.name in TOGETHER:
        yield signature(f, "self", ["Vec[Brand, _T]"] * len(own), "Self")
    elif f.name in SAME_ROW or not own:
        yield from by_flag(signature(f, "self", ["Self"] * len(own), "Self"), "Self")
    elif is_reflected(f):  # a Vec on the left has its own method
        yield signature(f, "self", ["Never"] * len(own), "Self").replace("Never | ", "")
    else:
        yield signature(f, "self", [f"Vec[{s}, _T]" for s in own], f"Vec[{row}, _T]") + hint(f)


def by_flag(text: str, result: str) -> Iterator[str]:
    """The signature `text`, as two overloads where `return_indices` decides whether there are two results."""
    if (flag := "return_indices: builtins.bool = False") in text:
        both = f"-> {result} | tuple[{result}, {result}]:"
        plain = text.replace(flag, flag.replace("builtins.bool", "Literal[False]"))
        yield from ("@overload", plain.replace(both, f"-> {result}:"))
        yield "@overload"
        text = text.replace(flag, "*, return_indices: Literal[True]").replace(both, f"-> tuple[{result}, {result}]:")
    yield text


def alone(f: ast.FunctionDef) -> Iterator[str]:
    """A method as `Tensor` has it without branded."""
    kinds = decorators(f)
    yield from (f"@{k}" for k in sorted(kinds))
    first = "" if is_static(f) else "cls" if "classmethod" in kinds else "self"
    result = "Self" if f.name in SAME_ROW or (first == "self" and not rows(f)) else "Tensor"
    yield from by_flag(signature(f, first, ["Tensor"] * len(rows(f)), result) + hint(f), result)


IN_PLACE = re.compile(r"__i(add|sub|mul|truediv|floordiv|pow|and|or|xor|lshift|rshift|matmul)__")
JOINED = {"stack", "cat"}
"""Methods also called on the class, `Tensor.stack(a, b)`, where pyright types the first argument as `Tensor`."""


def in_plain(f: ast.FunctionDef) -> Iterator[str]:
    """A method as checkers without the plugin find it: as in `Vec`, of any `T`."""
    if f.name in JOINED:
        yield f"{f.name}: _Joined"
        return
    lines, own = list(in_vec(f)), rows(f)
    if not decorators(f) and f.name not in {*READS, *SAME_ROW, *TOGETHER}:
        lines = [unbound(line) for line in lines]
        if len(own) > 1:  # pyright: `Never | Never` is Unknown
            lines = ["@overload", signature(f, "self: Tensor", ["Tensor"] * len(own), "Tensor"), "@overload", *lines]
    for line in lines:
        for old, new in ((", _T]", "]"), (", Tensor]", "]"), ("_T", "Tensor"), ("Vec[Never]", "Tensor")):
            line = line.replace(old, new)
        yield line


def unbound(line: str) -> str:
    """The method of a class that any Vec may be given to: `Tensor.sin(x)`, where `Tensor` is a `Vec[Never]`."""
    if "S_co" in line:
        return line.replace("(self", "(self: Vec[_Q]", 1).replace("S_co", "_Q")
    return re.sub(r"\bSelf\b", "_Any", line.replace("(self", "(self: _Any", 1)) if "Self" in line else line


def in_example(f: ast.FunctionDef) -> Iterator[str]:
    """A method as a parameter of a lambda has it, where that says more than `Vec` does."""
    own, result = rows(f), returned(f)
    if f.name in READS:
        yield f"{f.name}: ReadInVmap"
    elif (
        decorators(f)
        or f.name in {*SAME_ROW, *TOGETHER}
        or IN_PLACE.match(f.name)
        or not (own or takes_tensors(result))
    ):
        return
    elif not own or is_reflected(f) or f.name in JOINED:
        for line in in_vec(f):
            yield re.sub(r"\bSelf\b", "Example", line).replace("_T", "Tensor")
    else:
        yield from ("@overload" + hint(f), signature(f, "self", ["Tensor"] * len(own), "Example"))
        yield from ("@overload", signature(f, "self", [f"Vec[{s}]" for s in own], f"Vec[{' | '.join(own)}]"))


def hint(f: ast.FunctionDef) -> str:
    """Every object has these; only here do they give no bool."""
    return "  # type: ignore[override]" if f.name in ("__eq__", "__ne__") else ""


def in_tensor(f: ast.FunctionDef) -> Iterator[str]:
    """A method as `Tensor` has it, where that says more than `Vec` does: of plain tensors it gives plain ones."""
    kinds, own = decorators(f), rows(f)
    if not own or "property" in kinds or f.name in {*SAME_ROW, *TOGETHER} or is_reflected(f):
        return
    if f.name in READS:
        yield signature(f, "self", ["Vec[Never, Tensor]"] * len(own), "Tensor")
        return
    kind = [f"@{k}" for k in sorted(kinds)]
    first = "" if is_static(f) else "cls" if kinds else "self"
    row = " | ".join([*([] if kinds else ["_Q"]), *own])
    yield from ("@overload" + hint(f), *kind)
    yield signature(f, first, ["Tensor"] * len(own), "Tensor")
    yield from ("@overload", *kind)
    first = first if kinds else "self: Vec[_Q, Tensor]"
    yield signature(f, first, [f"Vec[{s}, Tensor]" for s in own], f"Vec[{row}, Tensor]")


def indented(lines: Iterator[str]) -> str:
    return "\n".join("    " + line for line in lines)


HEAD = '''"""{what}

Written by stubs/generate.py from tinygrad's own signatures: change that, not this.
"""
'''
IMPORTS = """
import builtins
import pathlib
from collections.abc import Callable, Iterator, Sequence
from types import EllipsisType
from typing import Any, Generic, Literal, Never, NoReturn, Self, TypeAlias, overload
from numpy.typing import NDArray
from typing_extensions import TypeVar
"""
TINYGRAD = """
from tinygrad import Tensor
from tinygrad.device import Buffer
from tinygrad.dtype import ConstType, DType, DTypeLike, PyConst
from tinygrad.mixin.op import ReductionStr
from tinygrad.uop.ops import ConstLike, Ops, UOp, Variable, sint
"""
ROWS = '_Q = TypeVar("_Q", bound=Brand)\n' + "".join(
    f'_S{i} = TypeVar("_S{i}", bound=Brand, default=Never)\n' for i in range(1, 6)
)
INDEX = (
    "_Bound: TypeAlias = SupportsIndex | UOp | None\n"
    "_Index: TypeAlias = (\n"
    "    builtins.int | slice[_Bound, _Bound, _Bound] | EllipsisType | UOp | list[Any] | None\n"
    ")\n"
)
"""The types of an index; the bounds of a slice are the same for all examples."""
ALIASES = {"_Ints": "builtins.int | Sequence[builtins.int]"} | {
    f"_{n}": f"builtins.{n}" for n in ("int", "bool", "float")
}
"""Short names of types that many signatures use: methods of `Vec` hide the names of the builtins."""
OPERATORS = (
    "def __pos__(self) -> Self: ...",
    "def __abs__(self) -> Self: ...",
    "def __divmod__(self, x: Vec[_S1, _T] | ConstType) -> tuple[Vec[S_co | _S1, _T], Vec[S_co | _S1, _T]]: ...",
    "def __rdivmod__(self, x: ConstType) -> tuple[Self, Self]: ...",
)
"""Python's special methods that `branded/hooks/reads.py` adds to tinygrad."""
AXES = """
_Names = TypeVarTuple("_Names")

if MYPY:  # what the plugin makes of `branded.Axes[Users, Features]`, which is a Tensor to other checkers
    class Axes(Vec[Never, Axes[*_Names]], Generic[*_Names]):
        grad: Tensor | None
        def __iter__(self) -> Iterator[Tensor]: ...
        def __len__(self) -> builtins.int: ...
        def __delitem__(self, indices: Any) -> NoReturn: ...
"""


def with_aliases(lines: list[str]) -> str:
    """The text of a stub whose signatures use the aliases, which stand in front of the types of an index."""
    text = "\n".join(lines)
    for name, t in ALIASES.items():
        text = text.replace(t, name)
    return text.replace(
        "_Bound: ", "".join(f"{name}: TypeAlias = {t}\n" for name, t in ALIASES.items()) + "_Bound: ", 1
    )


def vec() -> str:
    """branded/vec.pyi"""
    body = [indented(in_vec(f)) for f in methods().values()]
    return with_aliases(
        [
            HEAD.format(what="`Vec`, as type checkers see it: every method of `Tensor`, typed by rows."),
            IMPORTS + "from typing import Protocol, SupportsIndex\n" + TINYGRAD,
            IMPORTS + "from typing_extensions import TypeVarTuple\n" + TINYGRAD,
            "from branded.core.brand import Brand\n",
            ROWS,
            'S_co = TypeVar("S_co", bound=Brand, covariant=True, default=Never)\n_T = TypeVar("_T", default=Tensor)',
            INDEX.replace("list[Any]", "list[Any] | _Array"),
            "class _Array(Protocol): # numpy's, also where a checker skips numpy; tinygrad's Tensor takes none\n"
            "    def __array__(self) -> Any: ...\n",
            "MYPY = False  # mypy takes it for true\n",
            "class AnyRow: ...  # to mypy what is in a pattern `Tensor()`: any Vec\n",
            "Whole: TypeAlias = _T  # what a `Vec[Never, T]` is\n",
            "class Vec(Generic[S_co, _T]):",
            '    """A `T` for every example of the brands in the row `S`; a `Tensor` is a `Vec[Never, Tensor]`."""',
            "    uop: UOp\n    is_param: builtins.bool",
            "    def __iter__(self) -> Iterator[Vec[S_co]]: ...",
            "    def __hash__(self) -> builtins.int: ...",
            *(f"    {line}" for line in OPERATORS),
            "    if not MYPY:  # with these, mypy's truthy-bool would find an `if` on a Vec right",
            "        def __bool__(self) -> None: ...",
            "        def __len__(self) -> builtins.int: ...",
            *body,
            AXES,
            LAMBDA,
            OTHERS.replace("MYPY = False  # mypy takes it for true\n", ""),
            OF_OTHERS,
            "",
        ]
    )


OTHERS = """
MYPY = False  # mypy takes it for true
assert not MYPY  # and reads no further: to others a `Tensor` is a `Vec[Never]`, and a `Vec[Never]` a `Tensor`
"""


JOINING = """
class _Join:
    @overload
    def __call__(self, *args: Tensor, dim: builtins.int = 0) -> Tensor: ...
    @overload
    def __call__(self, x: Vec[_S1], /, *args: Vec[_S2], dim: builtins.int = 0) -> Vec[_S1 | _S2]: ...

class _JoinTo(Generic[S_co]):
    def __call__(self, *args: Vec[_S1], dim: builtins.int = 0) -> Vec[S_co | _S1]: ...

class _Joined:
    @overload
    def __get__(self, x: None, cls: Any) -> _Join: ...
    @overload
    def __get__(self, x: Vec[_S1], cls: Any) -> _JoinTo[_S1]: ...
"""
LAMBDA = """
_L = TypeVar("_L")

class Tree: ...
AllMapped: TypeAlias = builtins.int
class Scalar: ...
class Lambda(Generic[_L]):  # to mypy no function is one: its plugin types lambdas
    def __call__(self, *args: Any, **kwargs: Any) -> _L: ...
"""
EXAMPLE = """
_Any = TypeVar("_Any", bound=Vec[Brand, Any])

class ReadInVmap:
    \"\"\"A read of a value in vmap, which is an error: it cannot be called.\"\"\"

class Example(Vec):
    \"\"\"What an operation on the parameters of a mapped lambda gives: a Tensor that is not read.\"\"\"
{}

class ExampleArgument(Example, Any):
    \"\"\"A parameter of a mapped lambda: a Tensor that is not read, or a tree with items and attributes.\"\"\"
    data: Any
    @overload
    def __getitem__(self, i: builtins.int | str) -> Any: ...
    @overload
    def __getitem__(self, i: Any) -> Example: ...
    def __iter__(self) -> Iterator[Any]: ...

class Tree:
    \"\"\"What a lambda gives of whose parameter an item or an attribute is taken: anything.\"\"\"

_A = ExampleArgument
_R = TypeVar("_R")
Scalar: TypeAlias = Example | builtins.float
Lambda: TypeAlias = (
    Callable[[_A], _R] | Callable[[_A, _A], _R] | Callable[[_A, _A, _A], _R] | Callable[[_A, _A, _A, _A], _R]
)
\"\"\"A lambda; a function of tensors that gives a Tensor or a Vec is none.\"\"\"
AllMapped: TypeAlias = builtins.int | tuple[builtins.int, ...] | list[builtins.int]
\"\"\"The `in_axes` of parameters that are all mapped, so that each is a Tensor or a tree.\"\"\"
"""
OF_OTHERS = """
from branded import _plain

_R = TypeVar("_R", bound=Brand, default=Never)
_U = TypeVar("_U", default=Any)

Vec: TypeAlias = _plain.Vec[_R, _U]
Whole: TypeAlias = _plain.Vec[Never, _U]
Tree: TypeAlias = _plain.Tree
AllMapped: TypeAlias = _plain.AllMapped
Scalar: TypeAlias = _plain.Scalar
Lambda: TypeAlias = _plain.Lambda[_L]
"""


def constructor() -> ast.FunctionDef:
    own = class_of(source("tinygrad.tensor"), "Tensor")
    return next(n for n in own.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")


def plain() -> str:
    """branded/_plain.pyi: `Vec` and `Tensor` as one class, for checkers without the plugin."""
    return with_aliases(
        [
            HEAD.format(what="`Vec` and `Tensor`, as type checkers see them that have no plugin: one class."),
            IMPORTS
            + "import pathlib\nfrom typing import SupportsIndex\n"
            + TINYGRAD.replace("import Tensor", "import UOp"),
            "from branded.core.brand import Brand\n",
            OTHERS,
            ROWS,
            'S_co = TypeVar("S_co", bound=Brand, covariant=True, default=Never)\n_T = TypeVar("_T", default=Any)',
            INDEX,
            JOINING,
            "class Vec(Generic[S_co, _T]):",
            '    """A `T` for every example of the brands in the row `S`; a `Tensor` is a `Vec[Never]`."""',
            "    uop: UOp\n    is_param: builtins.bool",
            "    " + signature(constructor(), "self", [], "None"),
            "    def __iter__(self) -> Iterator[Self]: ...",
            "    def __hash__(self) -> builtins.int: ...",
            *(f"    {line.replace(', _T]', ']')}" for line in OPERATORS),
            "    def __bool__(self) -> None: ...  # pyright and ty find a truth value by this",
            "    __bool__ = None  # and pyrefly by this",
            "    def __len__(self) -> builtins.int: ...",
            "    def __delitem__(self, indices: Any) -> NoReturn: ...",
            "    @property",
            "    def grad(self: Tensor) -> Tensor | None: ...",
            "    @grad.setter",
            "    def grad(self: Tensor, grad: Tensor | None) -> None: ...",
            *(indented(in_plain(f)) for f in methods().values()),
            "",
            "Tensor = Vec",
            EXAMPLE.format("\n".join(text for f in methods().values() if (text := indented(in_example(f))))),
            "",
        ]
    )


def tensor() -> str:
    """stubs/tinygrad-stubs/tensor.pyi: the class, and the other names of the module."""
    module = source("tinygrad.tensor")
    own = class_of(module, "Tensor")
    body = [text for f in methods().values() if (text := indented(in_tensor(f)))]
    return "\n".join(
        [
            HEAD.format(what="tinygrad.tensor, where a `Tensor` is a `Vec` with the empty row."),
            IMPORTS,
            "import weakref\nfrom dataclasses import dataclass\nfrom typing import ParamSpec, TypeAlias, TypeGuard\n"
            "from tinygrad.mixin.op import ReductionStr\nfrom branded.core.brand import Brand\n"
            "from branded.vec import Vec, _Index\n",
            *dict.fromkeys(imports(module)),
            ROWS,
            *(text for n in module.body if n is not own and (text := declaration(n))),
            "class Tensor(Vec[Never, Tensor]):",
            "    grad: Tensor | None",
            "    " + signature(constructor(), "self", [], "None"),
            "    def __iter__(self) -> Iterator[Tensor]: ...",
            "    def __len__(self) -> builtins.int: ...",
            "    def __delitem__(self, indices: Any) -> NoReturn: ...",
            "    @overload",
            "    def __divmod__(self, x: Tensor | ConstType) -> tuple[Tensor, Tensor]: ...",
            "    @overload",
            "    def __divmod__(self: Vec[_Q, Tensor], x: Vec[_S1, Tensor] | ConstType) "
            "-> tuple[Vec[_Q | _S1, Tensor], Vec[_Q | _S1, Tensor]]: ...",
            *body,
            OTHERS,
            "from branded import _plain\n\nTensor: TypeAlias = _plain.Vec",
            "",
        ]
    )


def tensor_alone() -> str:
    """stubs/standalone/tinygrad-stubs/tensor.pyi: the same without rows."""
    module = source("tinygrad.tensor")
    own = class_of(module, "Tensor")
    return "\n".join(
        [
            HEAD.format(what="tinygrad.tensor, with the types that its signatures leave out."),
            IMPORTS,
            "import weakref\nfrom dataclasses import dataclass\nfrom tinygrad.mixin.op import ReductionStr\n"
            "from typing import ParamSpec, SupportsIndex, TypeGuard\n",
            *dict.fromkeys(imports(module)),
            INDEX,
            *(text for n in module.body if n is not own and (text := declaration(n))),
            "class Tensor:",
            "    uop: UOp\n    is_param: builtins.bool\n    grad: Tensor | None",
            "    " + signature(constructor(), "self", [], "None"),
            "    def __iter__(self) -> Iterator[Tensor]: ...",
            "    def __hash__(self) -> builtins.int: ...",
            "    def __bool__(self) -> None: ...  # raises an error; pyright and ty report a truth value by this",
            "    def __len__(self) -> builtins.int: ...",
            "    def __delitem__(self, indices: Any) -> NoReturn: ...",
            *(indented(alone(f)) for f in methods().values()),
            "",
        ]
    )


DONE = {
    **dict.fromkeys(("mnist", "cifar"), "tuple[Tensor, Tensor, Tensor, Tensor]"),
    **dict.fromkeys(("SGD", "Muon"), "LARS"),
    **dict.fromkeys(("Adam", "AdamW"), "LAMB"),
    **dict.fromkeys(("__eq__", "__ge__", "__gt__", "__lt__"), "bool"),
    **dict.fromkeys(("safe_save", "stderr_log", "set_description", "update"), "None"),
    "__hash__": "int",
    "ansilen": "int",
    "ansistrip": "str",
    "colored": "str",
    "dedup": "list[T]",
    "flatten": "list[T]",
    "pluralize": "str",
}
"""Results, by the name of the function, that tinygrad does not type: those that programs use."""


class _Filled(ast.NodeTransformer):
    """Give a type to each parameter, result and name that stubgen leaves open: its type in tinygrad, or Any."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        a, removed = node.args, [ast.unparse(d) for d in node.decorator_list]
        if "accept_filename" in removed:
            a.args[0].annotation = parsed("Tensor | str | pathlib.Path")
        node.decorator_list = [
            d for d in node.decorator_list if ast.unparse(d) not in ("functools.cache", "accept_filename")
        ]
        for arg in filter(None, (*a.args, *a.kwonlyargs, a.vararg, a.kwarg)):
            if arg.arg not in ("self", "cls"):
                arg.annotation = self.visit(arg.annotation or parsed("Any"))
        known = "Self" if node.name == "__enter__" else DONE.get(node.name, "Any")
        node.returns = self.visit(node.returns or parsed(known))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        value = getattr(self.module, ast.unparse(node.target), None)
        if ast.unparse(node.annotation) != "Incomplete":
            node.annotation = self.visit(node.annotation)
        elif isinstance(value, ContextVar) and type(value).__name__ != "_DEV":
            node.annotation = parsed(f"ContextVar[{type(value.value).__name__}]")
        else:
            known = isinstance(value, bool | int | float | str | ContextVar)
            node.annotation = parsed(type(value).__name__ if known else "Any")
        node.value = node.value and ast.Constant(...)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        bare = BARE | {
            "Incomplete": "Any",
            **{name: f"{name}[Any]" for name in ("ContextVar", "Array", "_SimpleCData")},
        }
        bare |= {name: f"{name}[Any, Any]" for name in ("dict", "defaultdict")}
        return parsed(bare[node.id]) if node.id in bare else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        return node


@cache
def by_stubgen() -> dict[str, str]:
    """Return the output of mypy's stubgen for the modules `REST`."""
    with TemporaryDirectory() as folder:
        modules = [word for name in REST for word in ("-m", name)]
        stubgen.generate_stubs(stubgen.parse_options(["--quiet", "--include-private", "-o", folder, *modules]))
        return {name: Path(folder, *name.split(".")).with_suffix(".pyi").read_text() for name in REST}


REST = ("tinygrad.helpers", "tinygrad.nn.datasets", "tinygrad.nn.optim", "tinygrad.nn.state")
"""Other modules that programs import, apart from those of `Tensor` and its layers."""


def module_alone(name: str) -> str:
    """A module of stubs/standalone/tinygrad-stubs, as mypy's stubgen writes it, with no type left open."""
    module = _Filled(importlib.import_module(name)).visit(ast.parse(by_stubgen()[name]))
    head = HEAD.format(what=f"{name}, with a type for all that it defines.")
    return f"{head}from typing import Any, Self\n{ast.unparse(module)}\n"


def imports(module: ast.Module) -> Iterator[str]:
    """Return a module's imports from tinygrad as explicit re-exports, since users import them from here too."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tinygrad"):
            for name in node.names:
                yield f"from {node.module} import {name.name} as {name.asname or name.name}"


def declaration(node: ast.stmt) -> str:
    """A statement of a module as a stub has it."""
    match node:
        case ast.FunctionDef(name=name, args=args):
            for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))):
                if a.arg != "self":
                    a.annotation = parsed(typed(a.annotation or parsed("Any"), "Tensor", hides=False))
            result = typed(node.returns, "Tensor", hides=False) if node.returns else "Any"
            result = "None" if name == "__init__" else result
            return f"def {name}({ast.unparse(args)}) -> {result}: ..."
        case ast.ClassDef():
            kept: list[str] = [text for n in node.body if (text := declaration(n))]
            head = ast.unparse(ast.ClassDef(node.name, node.bases, node.keywords, [ast.Pass()], node.decorator_list))
            return head.removesuffix("pass").rstrip() + "\n" + indented(iter(kept or ["..."]))
        case ast.AnnAssign():
            default = " = ..." if node.value is not None else ""
            return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}{default}"
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if isinstance(value, ast.Call) and ast.unparse(value.func) in ("TypeVar", "ParamSpec"):
                return ast.unparse(node)
            called = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id
            return f"{name}: {called if called else 'Any'}"
    return ""


ATTRIBUTES = {"weight": "Tensor", "bias": "Tensor | None"}


def nn() -> str:
    """stubs/tinygrad-stubs/nn/__init__.pyi: layers keep the row of what they are given."""
    heads = (
        HEAD.format(what="tinygrad.nn, where layers keep the row of what they are given."),
        IMPORTS + "from branded.core.brand import Brand\nfrom branded.vec import Vec\n",
        *dict.fromkeys(imports(source("tinygrad.nn"))),
        ROWS.split("_S3")[0],
        "MYPY = False  # mypy takes it for true",
    )
    return "\n".join([*heads, *layers(of_rows), ""])


def nn_alone() -> str:
    """stubs/standalone/tinygrad-stubs/nn/__init__.pyi: the same without rows."""
    head = HEAD.format(what="tinygrad.nn, with the types that its signatures leave out.") + IMPORTS
    return "\n".join([head, *dict.fromkeys(imports(source("tinygrad.nn"))), *layers(of_tensors), ""])


def layers(call: Callable[[ast.FunctionDef], Iterator[str]]) -> Iterator[str]:
    """The classes and functions of `tinygrad.nn`, where `call` gives the methods that take tensors."""
    module = source("tinygrad.nn")
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield f"class {node.name}{'(' + ', '.join(map(ast.unparse, node.bases)) + ')' if node.bases else ''}:"
            yield indented(layer(node, call))
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield plain_signature(node)
        elif isinstance(node, ast.Assign):  # BatchNorm2d = BatchNorm3d = BatchNorm
            yield from (f"{ast.unparse(target)} = {ast.unparse(node.value)}" for target in node.targets)


def plain_signature(f: ast.FunctionDef, first: str = "") -> str:
    parts = [first] if first else []
    for p in parameters(f, first):
        parts.append(f"{p.name}: {ast.unparse(p.type)}" + (f" = {p.default}" if p.default else ""))
    result = "None" if f.name == "__init__" else ast.unparse(f.returns) if f.returns else "Any"
    return f"def {f.name}({', '.join(parts)}) -> {result}: ..."


def layer(cls: ast.ClassDef, call: Callable[[ast.FunctionDef], Iterator[str]]) -> Iterator[str]:
    """A layer: its attributes, its constructor, and its public methods as `call` types them."""
    init = next((n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if init is not None:
        types = {p.name: ast.unparse(p.type) for p in parameters(init)}
        seen: dict[str, str] = {}
        for target, own in assigned(init):
            seen.setdefault(target, own or ATTRIBUTES.get(target) or types.get(target, "Any"))
        yield from (f"{name}: {text}" for name, text in seen.items())
        yield plain_signature(init, "self")
    for f in cls.body:
        if isinstance(f, ast.FunctionDef) and (f.name == "__call__" or not f.name.startswith("_")) and rows(f):
            yield from call(f)


def of_tensors(f: ast.FunctionDef) -> Iterator[str]:
    """A method of a layer, without rows."""
    yield signature(f, "self", ["Tensor"] * len(rows(f)), "Tensor", hides=False)


def of_rows(f: ast.FunctionDef) -> Iterator[str]:
    """A method of a layer, typed by rows."""
    tensors, result = [f"Vec[{s}]" for s in rows(f)], f"Vec[{' | '.join(rows(f))}]"
    with_rows = signature(f, "self", tensors, result, hides=False)
    yield "if MYPY:"  # to the others a `Vec[Never]` is a `Tensor`, and ty loses the row in calls of overloads
    yield "    @overload"
    yield from (f"    {line}" for line in of_tensors(f))
    yield "    @overload"
    yield "    " + with_rows
    yield "else:"
    yield "    " + with_rows


def assigned(init: ast.FunctionDef) -> Iterator[tuple[str, str | None]]:
    """The attributes that a constructor sets, with their annotations."""
    for node in ast.walk(init):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            yield node.target.attr, ast.unparse(node.annotation)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                each = target.elts if isinstance(target, ast.Tuple) else [target]
                yield from ((t.attr, None) for t in each if isinstance(t, ast.Attribute))


def package() -> str:
    """stubs/tinygrad-stubs/__init__.pyi"""
    module = source("tinygrad")
    head = HEAD.format(what="tinygrad, with all the names that it exports.")
    return "\n".join([head, *dict.fromkeys(imports(module)), "Variable = UOp.variable", ""])


def cards() -> str:
    """stubs/tinygrad-stubs/runtime/autogen/mlx5.pyi: 10,000 lines of C, a fifth of the time of a cold mypy."""
    head = HEAD.format(what="A driver of network cards, of which nothing is said.")
    return "\n".join([head, "from typing import Any", "def __getattr__(name: str) -> Any: ...", ""])


FILES = {
    ROOT / "branded" / "vec.pyi": vec,
    ROOT / "branded" / "_plain.pyi": plain,
    STUBS / "__init__.pyi": package,
    STUBS / "tensor.pyi": tensor,
    STUBS / "nn" / "__init__.pyi": nn,
    STUBS / "runtime" / "autogen" / "mlx5.pyi": cards,
    ALONE / "__init__.pyi": package,
    ALONE / "tensor.pyi": tensor_alone,
    ALONE / "nn" / "__init__.pyi": nn_alone,
    ALONE / "runtime" / "autogen" / "mlx5.pyi": cards,
    **{ALONE.joinpath(*name.split(".")[1:]).with_suffix(".pyi"): partial(module_alone, name) for name in REST},
}


def formatted(text: str, path: Path) -> str:
    """`text` as ruff formats it, without the imports that it does not use."""
    for command in (
        ["check", "--fix-only", "--select", "F401,I,UP035,UP037,UP043", "--quiet", "--ignore-noqa"],
        ["format"],
    ):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return text


def main(argv: list[str]) -> int:
    stale = []
    for path, write in FILES.items():
        text = formatted(write(), path)
        if not path.exists() or path.read_text() != text:
            stale.append(path.relative_to(ROOT))
            if "--check" not in argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    for path in stale:
        print(path, "is stale: run python stubs/generate.py" if "--check" in argv else "written")
    return 1 if stale and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
