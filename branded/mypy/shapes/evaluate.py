"""Evaluation of expressions to abstract values (`Fact`)."""

from __future__ import annotations

import operator
from collections.abc import Callable

from mypy.nodes import (
    ARG_NAMED,
    ARG_STAR,
    ARG_STAR2,
    AssignmentExpr,
    AssignmentStmt,
    CallExpr,
    CastExpr,
    ComparisonExpr,
    ConditionalExpr,
    Context,
    Decorator,
    DictExpr,
    DictionaryComprehension,
    EllipsisExpr,
    Expression,
    FloatExpr,
    FuncDef,
    GeneratorExpr,
    IndexExpr,
    IntExpr,
    LambdaExpr,
    ListComprehension,
    ListExpr,
    MemberExpr,
    MypyFile,
    NameExpr,
    OpExpr,
    RefExpr,
    SliceExpr,
    StarExpr,
    StrExpr,
    SuperExpr,
    SymbolNode,
    TempNode,
    TupleExpr,
    TypeInfo,
    UnaryExpr,
    Var,
    YieldExpr,
    YieldFromExpr,
)
from mypy.types import CallableType, Instance, LiteralType, TupleType, Type, get_proper_type

from branded.mypy.analysis.source.walk import parts, walk
from branded.mypy.axes.types import axes_of, has_axes, is_named, is_size, is_variable
from branded.mypy.rows.algebra import TENSOR, VEC
from branded.mypy.shapes import libraries, tensors
from branded.mypy.shapes.brands import check_truth
from branded.mypy.shapes.libraries import LONGEST
from branded.mypy.shapes.other_files import function_of, is_user_name, name_of_user, path_of
from branded.mypy.shapes.rules import modules
from branded.mypy.shapes.state import STEPS, FileState, OutOfSteps
from branded.mypy.shapes.values import (
    NONE,
    NUMBER,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    Fact,
    Function,
    LibraryName,
    Mutable,
    Shaped,
    Size,
    Stream,
    Tuple,
    Variables,
    Wrapped,
    add_brands,
    as_number,
    brands_of,
    forget,
    is_int,
    is_number,
    items_of,
    join,
    list_of,
)

_ARITHMETIC: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_COMPARED: dict[str, Callable[..., bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Evaluator(FileState):
    """Evaluates the expressions of a file, and records the mistakes that it finds."""

    # ---- expressions ----

    def evaluate(self, e: Expression | None) -> Fact:
        self.steps += 1
        if self.steps > STEPS:
            raise OutOfSteps
        value = self._evaluate(e)
        return NUMBER if value is UNKNOWN and self._is_float(e) else value

    def _is_float(self, e: Expression | None) -> bool:
        """Return whether mypy knows that an expression of this file is a float."""
        if not isinstance(e, NameExpr | MemberExpr | CallExpr | IndexExpr) or path_of(e) is not None:
            return False
        t = self.api.lookup_type_or_none(e)
        p = get_proper_type(t) if t is not None else None
        return isinstance(p, Instance) and p.type.fullname == "builtins.float"

    def _evaluate(self, e: Expression | None) -> Fact:
        match e:
            case IntExpr() | FloatExpr() | StrExpr():
                return Const(e.value)
            case EllipsisExpr():
                return Const(...)
            case NameExpr():
                return self._name(e)
            case MemberExpr():
                return self._member(e)
            case CallExpr():
                return self._call(e)
            case OpExpr():
                return self._operator(e)
            case UnaryExpr():
                return self._unary(e)
            case IndexExpr():
                return self._index(e)
            case TupleExpr() | ListExpr():
                items = self.items(e.items)
                return UNKNOWN if items is None else Tuple(tuple(items)) if isinstance(e, TupleExpr) else list_of(items)
            case DictExpr():
                return self._dict(e)
            case LambdaExpr():
                return Function(e, self.frame)
            case SuperExpr():
                return self._super(e)
            case ConditionalExpr():
                return self._conditional(e)
            case ComparisonExpr():
                return self._comparison(e)
            case AssignmentExpr():
                value = self.evaluate(e.value)
                self.assign(e.target, value)
                return value
            case CastExpr():
                return self.evaluate(e.expr)
            case ListComprehension():
                return self._comprehension(e.generator)
            case GeneratorExpr():
                return self._comprehension(e)
            case DictionaryComprehension():
                return self._dict_comprehension(e)
            case YieldExpr() | YieldFromExpr():
                return self._yield(e)
            case SliceExpr() | None:
                return UNKNOWN
        for part in parts(e):
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, Expression):
                    self.evaluate(inner)
        return UNKNOWN

    def items(self, entries: list[Expression]) -> list[Fact] | None:
        values: list[Fact] | None = []
        for entry in entries:
            if isinstance(entry, StarExpr):
                more = items_of(self.evaluate(entry.expr))
                values = None if more is None or values is None else [*values, *more]
            else:
                value = self.evaluate(entry)
                values = [*values, value] if values is not None else None
        return values

    def _name(self, e: NameExpr) -> Fact:
        if e.name in ("True", "False", "None") and e.fullname == f"builtins.{e.name}":
            return Const({"True": True, "False": False, "None": None}[e.name])
        if e.fullname == "builtins.Ellipsis":
            return Const(...)
        node = e.node
        if node is None:
            return UNKNOWN
        if (value := self.frame.lookup(node)) is not None:
            return value
        return self._global(node, e.fullname)

    def _global(self, node: SymbolNode | None, fullname: str) -> Fact:
        if isinstance(node, MypyFile):
            return LibraryName(node.fullname)
        is_own = node is not None and self.is_own(node.fullname)
        if isinstance(node, TypeInfo) and not is_own:
            return Class(node) if is_user_name(node.fullname, self.api) else LibraryName(node.fullname)
        if isinstance(node, FuncDef) and (f := function_of(node, self.api)) is not None:
            return f
        if isinstance(node, Var) and (t := get_proper_type(node.type)) is not None:
            literal = t.last_known_value if isinstance(t, Instance) else t
            if isinstance(literal, LiteralType) and node.is_final:
                return Const(literal.value)
        if fullname == "__name__" or (isinstance(node, Var) and node.name == "__name__"):
            return Const("__main__")
        is_library = fullname.startswith(libraries.KNOWN)
        return LibraryName(fullname) if is_library else UNKNOWN

    def _member(self, e: MemberExpr) -> Fact:
        base = self.evaluate(e.expr)
        if isinstance(base, LibraryName) and base.owner is None:
            if f"{base.name}.{e.name}" in ("math.pi", "math.e", "math.tau", "math.inf"):
                return NUMBER
            if (node := name_of_user(base.name, e.name, self.api)) is not None:
                return self._global(node, node.fullname)
            known = e.fullname if isinstance(e.node, FuncDef | Decorator | TypeInfo | MypyFile) else ""
            return LibraryName(known if known.startswith("branded.") else f"{base.name}.{e.name}")
        return self.attribute(base, e.name, e)

    def attribute(self, base: Fact, name: str, at: Context) -> Fact:
        match base:
            case Shaped():
                return tensors.attribute(self, base, name, at)
            case Mutable(kind=kind) if kind == "object" or kind in modules.LAYERS:
                if base.items is not None and name in base.items:
                    return base.items[name]
                return self._from_class(base, name, at)
            case Mutable() | Const() | Tuple():
                return LibraryName(name, base)
            case Class():
                node = base.info.get(name)
                if node is not None and isinstance(node.node, FuncDef):
                    f = self._body(node.node)
                    bound = (base,) if node.node.is_class else ()
                    return Function(f.node, f.frame, bound) if f is not None else UNKNOWN
                if node is not None and isinstance(node.node, Decorator):
                    return self._from_decorator(node.node, base, at)
                if node is not None and isinstance(node.node, Var):
                    return Const((base.info.fullname, name)) if base.info.is_enum else self._default(node.node)
            case Function(node=FuncDef(name=own)) if name == "__name__":
                return Const(own)
            case LibraryName(owner=None):
                return LibraryName(f"{base.name}.{name}")
            case LibraryName() if base.owner is not None:
                return UNKNOWN
        return UNKNOWN

    def _super(self, e: SuperExpr) -> Fact:
        """Return `super().name`: the method of the next class that defines it, for this object."""
        frame: Variables | None = self.frame
        own: Fact | None = None
        while own is None and frame is not None:
            own = next((v for node, v in frame.names.items() if isinstance(node, Var) and node.is_self), None)
            frame = frame.outer
        if not isinstance(own, Mutable) or own.info is None or e.info not in own.info.mro:
            return UNKNOWN
        classes = own.info.mro
        found = next((c.names[e.name].node for c in classes[classes.index(e.info) + 1 :] if e.name in c.names), None)
        f = self._body(found) if isinstance(found, FuncDef) else None
        return Function(f.node, f.frame, (own,)) if f is not None else UNKNOWN

    def _from_class(self, base: Mutable, name: str, at: Context) -> Fact:
        if base.info is None:
            return LibraryName(name, base)
        if base.info.is_named_tuple and name == "_replace":  # mypy's own definition has no body
            return LibraryName("_replace", base)
        found = base.info.get(name)
        node = found.node if found is not None else None
        if isinstance(node, FuncDef) and (f := self._body(node)) is not None:
            return Function(f.node, f.frame, () if node.is_static else (base,))
        if isinstance(node, Decorator) and self._is_here(node.func):
            return self._from_decorator(node, base, at)
        is_in_class = isinstance(node, Var) and node.is_initialized_in_class and base.items is not None
        return self._default(node) if is_in_class else UNKNOWN

    def _from_decorator(self, node: Decorator, base: Fact, at: Context) -> Fact:
        """Return a property, a static method or a class method; other decorators of methods are not followed."""
        if node.decorators or not self._is_here(node.func):
            return UNKNOWN
        if node.func.is_property:
            return self.call_function(Function(node.func, self.module, (base,)), Arguments(), at)
        if node.func.is_static:
            return Function(node.func, self.module)
        owner = Class(base.info) if isinstance(base, Mutable) and base.info is not None else base
        return Function(node.func, self.module, (owner,)) if node.func.is_class else UNKNOWN

    def _is_here(self, f: FuncDef) -> bool:
        return self.is_own(f.fullname) and hasattr(f, "arguments")

    def _body(self, node: FuncDef) -> Function | None:
        """Return a function or method with its body, of this file or another one."""
        return Function(node, self.module) if self._is_here(node) else function_of(node, self.api)

    def _dict(self, e: DictExpr) -> Fact:
        items: dict[object, Fact] | None = {}
        for k, v in e.items:
            key, value = self.evaluate(k) if k is not None else None, self.evaluate(v)
            if key is None and isinstance(value, Mutable) and value.items is not None:
                items = items | value.items if items is not None else None
            elif isinstance(key, Const):
                items = {**items, key.value: value} if items is not None else None
            else:
                items = None
        return Mutable("dict", items)

    def _conditional(self, e: ConditionalExpr) -> Fact:
        cond = self.truth(e.cond)
        if cond is not None:
            return self.evaluate(e.if_expr if cond else e.else_expr)
        with self.maybe():
            return join(self.evaluate(e.if_expr), self.evaluate(e.else_expr))

    def truth(self, e: Expression) -> bool | None:
        """Return whether a condition holds; None if it is unknown."""
        value = self.evaluate(e)
        check_truth(self, value, e)
        return truth_of(value)

    def _comparison(self, e: ComparisonExpr) -> Fact:
        values = [self.evaluate(o) for o in e.operands]
        if len(values) != 2:
            return UNKNOWN
        left, right = values
        if any(isinstance(v, Shaped) for v in values):
            return tensors.binary(self, e, e.operators[0], left, right, e.operands[0], e.operands[1])
        sizes = {i.axis for v in values for i in (v, *(items_of(v) or ())) if isinstance(i, Size)}
        self.compared |= sizes
        self.unshared += bool(sizes)
        return compare(e.operators[0], left, right)

    def _operator(self, e: OpExpr) -> Fact:
        left = self.evaluate(e.left)
        if e.op in ("and", "or"):
            check_truth(self, left, e.left)
            known = truth_of(left)
            if known is not None:
                return self.evaluate(e.right) if known == (e.op == "and") else left
            with self.maybe():
                return join(left, self.evaluate(e.right))
        return self.binary(e.op, left, self.evaluate(e.right), e, e.left, e.right)

    def binary(self, op: str, left: Fact, right: Fact, at: Context, a: Expression, b: Expression) -> Fact:
        if isinstance(left, Shaped) or isinstance(right, Shaped):
            return tensors.binary(self, at, op, left, right, a, b)
        if op == "|" and (merged := _merge(left, right)) is not None:
            return merged
        if isinstance(left, Const) and isinstance(right, Const) and op in _ARITHMETIC:
            return _compute(op, left.value, right.value)
        one, n = (right, as_number(left)) if as_number(left) is not None else (left, as_number(right))
        items = items_of(one)
        if op == "*" and items is not None and n is not None and len(items) * n <= LONGEST:
            return list_of(items * n) if isinstance(one, Mutable) else Tuple(tuple(items * n))
        if op == "+" and type(left) is type(right) and (xs := items_of(left)) is not None:
            ys = items_of(right)
            if ys is not None:
                return list_of(xs + ys) if isinstance(left, Mutable) else Tuple((*xs, *ys))
        if is_int(left) and is_int(right) and op in ("+", "-", "*", "//", "%"):
            return Size()
        return NUMBER if is_number(left) and is_number(right) else UNKNOWN

    def _unary(self, e: UnaryExpr) -> Fact:
        value = self.evaluate(e.expr)
        if e.op == "not":
            check_truth(self, value, e.expr)
        if isinstance(value, Shaped):
            return value if e.op in "-~+" else UNKNOWN
        if e.op == "not":
            known = truth_of(value)
            return UNKNOWN if known is None else Const(not known)
        if e.op == "-" and isinstance(value, Const) and isinstance(value.value, int | float):
            return Const(-value.value)
        return Size() if isinstance(value, Size) else NUMBER if value == NUMBER and e.op in "-+" else UNKNOWN

    def _index(self, e: IndexExpr) -> Fact:
        base = self.evaluate(e.base)
        if isinstance(base, Shaped):
            self._evaluate_inside(e.index)
            index = self.evaluate(e.index)
            result = tensors.method(self, e, base, "__getitem__", {"indices": [(e.index, index)]})
            return add_brands(result, base.brands | brands_of(index))
        index = self.evaluate(e.index)
        items = items_of(base)
        if items is not None and (i := as_number(index)) is not None:
            return items[i] if -len(items) <= i < len(items) else UNKNOWN
        if items is not None and isinstance(e.index, SliceExpr):
            bounds = [self.evaluate(b) if b else NONE for b in (e.index.begin_index, e.index.end_index, e.index.stride)]
            first, last, stride = (as_number(b) for b in bounds)
            if all(b == NONE or as_number(b) is not None for b in bounds):
                chosen = items[first:last:stride]
                return list_of(chosen) if isinstance(base, Mutable) else Tuple(tuple(chosen))
        if items and not isinstance(e.index, SliceExpr):
            one = items[0]
            for item in items[1:]:
                one = join(one, item)
            return one
        if isinstance(base, Stream) and not isinstance(e.index, SliceExpr):
            return base.each
        if isinstance(base, Mutable) and base.kind == "dict" and base.items is not None and isinstance(index, Const):
            return base.items.get(index.value, UNKNOWN)
        return UNKNOWN

    def _yield(self, e: YieldExpr | YieldFromExpr) -> Fact:
        value = self.evaluate(e.expr)
        if self.yields:
            yielded = self.yields[-1]
            items = self.iterate(value) if isinstance(e, YieldFromExpr) else [value]
            yielded.is_exact &= isinstance(items, list) and self.uncertain == yielded.uncertain
            yielded.values += items if isinstance(items, list) else [UNKNOWN if items is None else items]
        return UNKNOWN

    def _evaluate_inside(self, e: Expression) -> None:
        for part in walk(e):
            if isinstance(part, SliceExpr):
                for bound in (part.begin_index, part.end_index, part.stride):
                    self.evaluate(bound)

    def _comprehension(self, e: GeneratorExpr) -> Fact:
        if len(e.sequences) != 1:
            return UNKNOWN
        items = self.iterate(self.evaluate(e.sequences[0]))
        if not isinstance(items, list) or len(items) > LONGEST or e.condlists[0]:
            is_list = isinstance(items, list)
            with self.maybe(is_list):
                self.assign(e.indices[0], UNKNOWN if isinstance(items, list) or items is None else items)
                for condition in e.condlists[0]:
                    self.truth(condition)
            with self.maybe(is_list or bool(e.condlists[0])):
                return Stream(self.evaluate(e.left_expr))
        values = []
        for item in items:
            self.assign(e.indices[0], item)
            values.append(self.evaluate(e.left_expr))
        return list_of(values)

    def _dict_comprehension(self, e: DictionaryComprehension) -> Fact:
        items = self.iterate(self.evaluate(e.sequences[0])) if len(e.sequences) == 1 else None
        known: dict[object, Fact] | None = {}
        is_short = isinstance(items, list) and len(items) <= LONGEST and not e.condlists[0]
        for item in items if isinstance(items, list) and is_short else [UNKNOWN]:
            with self.maybe(not is_short):
                for index in e.indices:
                    self.assign(index, item)
                key, value = self.evaluate(e.key), self.evaluate(e.value)
            known = {**known, key.value: value} if known is not None and isinstance(key, Const) else None
        return Mutable("dict", known if is_short else None)

    def iterate(self, value: Fact) -> list[Fact] | Fact | None:
        """Return the items of an iterable; one value for all if their number is unknown; None if nothing is known."""
        items = items_of(value)
        if items is not None:
            return items
        if isinstance(value, Shaped) and value.axes:
            return Shaped(value.axes[1:], value.brands)
        if isinstance(value, Mutable) and value.kind == "dict" and value.items is not None:
            return [Const(k) for k in value.items]
        if isinstance(value, Mutable) and value.kind == "range":
            return Size()
        if isinstance(value, Stream):
            return value.each
        return None

    # ---- calls ----

    def _call(self, e: CallExpr) -> Fact:
        if isinstance(e.callee, TempNode):  # injected by the plugin
            t = e.callee.type
            is_display = isinstance(t, CallableType) and t.name == "<display>"
            return self.evaluate(e.args[0]) if is_display else UNKNOWN
        if isinstance(e.analyzed, CastExpr):
            return self.evaluate(e.analyzed.expr)
        f = self.evaluate(e.callee)
        if isinstance(f, LibraryName) and f.name == "typing.cast":
            return self.evaluate(e.args[1])
        return self.call(f, self.arguments(e), e)

    def arguments(self, e: CallExpr) -> Arguments:
        given = Arguments()
        for arg, kind, name in zip(e.args, e.arg_kinds, e.arg_names, strict=True):
            value = self.evaluate(arg)
            if kind == ARG_STAR:
                items = items_of(value)
                given.positional += [value.each] if isinstance(value, Stream) else items or []
                given.exact &= items is not None
            elif kind == ARG_STAR2:
                items_by_name = value.items if isinstance(value, Mutable) else None
                given.keywords |= {str(k): v for k, v in (items_by_name or {}).items()}
                given.exact &= items_by_name is not None
            elif kind == ARG_NAMED and name is not None:
                given.keywords[name] = value
            else:
                given.positional.append(value)
        return given

    def call(self, f: Fact, given: Arguments, at: Context) -> Fact:
        match f:
            case Function():
                return self.call_function(f, given, at)
            case Wrapped():
                return f.call(given)
            case Class():
                return self._construct(f.info, given, at)
            case Mutable(kind="object") if f.info is not None:
                method = self._from_class(f, "__call__", at)
                if isinstance(method, Function):
                    return self.call_function(method, given, at)
            case Mutable(kind=kind) if kind in modules.LAYERS and len(given.positional) == 1:
                return modules.call_layer(self, f, given.positional[0], at)
            case LibraryName():
                return libraries.call(self, f, given, at)
        for value in given.all():
            forget(value)
        return UNKNOWN

    def _construct(self, info: TypeInfo, given: Arguments, at: Context) -> Fact:
        if not given.exact:
            return UNKNOWN
        if info.typeddict_type is not None:
            return Mutable("dict", None if given.positional else dict(given.keywords.items()))
        if (names := field_names(info)) is not None:
            values: dict[str, Fact] = dict(zip(names, given.positional, strict=False)) | given.keywords
            fields: dict[object, Fact] = {n: self._field(info, n, values.get(n)) for n in names}
            made = Mutable("object", fields, info)
            after = info.names.get("__post_init__")
            if after is not None and isinstance(after.node, FuncDef):
                f = self._body(after.node)
                if f is None:
                    return UNKNOWN
                self.call_function(Function(f.node, f.frame, (made,)), Arguments(), at)
            return made
        known = "abc.ABC", "builtins.object", "typing.", "typing_extensions."
        names = [c.fullname for c in info.mro if not c.fullname.startswith(known)]
        if any(not self.is_own(n) and not is_user_name(n, self.api) for n in names):
            return UNKNOWN
        made, init = Mutable("object", {}, info), info.get_method("__init__")
        if isinstance(init, FuncDef) and init.info.fullname != "builtins.object":
            f = self._body(init)
            if f is None:
                return UNKNOWN
            self.call_function(Function(f.node, f.frame, (made,)), given, at)
        return made

    def _field(self, info: TypeInfo, name: str, value: Fact | None) -> Fact:
        """Return the value of a field that was given, or its default."""
        symbol = info.get(name)
        node = symbol.node if symbol is not None else None
        if value is None:
            value = self._default(node)
        declared = node.type if isinstance(node, Var) else None
        return self.declared(declared, value) if declared is not None else value

    def declared(self, declared: Type, value: Fact) -> Fact:
        """Return a value with the axes that its annotation names, also for the fields of an unknown object."""
        known = declared_value(declared, value)
        if self.declared_only:
            return known
        named, given = (v.axes or () if isinstance(v, Shaped) else () for v in (known, value))
        if isinstance(known, Shaped) and named and len(named) == len(given):
            axes = (libraries.with_length(self, a, b) for a, b in zip(named, given, strict=True))
            return Shaped(tuple(axes), known.brands)
        if known is not UNKNOWN:
            return known
        p = get_proper_type(declared)
        info = p.partial_fallback.type if isinstance(p, TupleType) else p.type if isinstance(p, Instance) else None
        names = field_names(info) if info is not None and not info.defn.type_vars else None
        nodes = {n: symbol.node for n in names or () if info is not None and (symbol := info.get(n)) is not None}
        types = {n: node.type for n, node in nodes.items() if isinstance(node, Var) and node.type is not None}
        if not any(map(has_axes, types.values())):
            return known
        return Mutable("object", {n: self.declared(t, UNKNOWN) for n, t in types.items()}, info, is_declared=True)

    def _default(self, node: SymbolNode | None) -> Fact:
        owner = node.info if isinstance(node, Var) and node.info else None
        if owner is None or not self.is_own(owner.fullname):
            return UNKNOWN
        for s in owner.defn.defs.body:
            if isinstance(s, AssignmentStmt) and any(isinstance(t, NameExpr) and t.node is node for t in s.lvalues):
                with self.maybe():
                    return self._default_value(s.rvalue)
        return UNKNOWN

    def _default_value(self, e: Expression) -> Fact:
        """Return the value of `1.0`, `field(default=1.0)` or `field(default_factory=make)`."""
        if isinstance(e, CallExpr) and isinstance(e.callee, RefExpr) and e.callee.fullname == "dataclasses.field":
            named = dict(zip(e.arg_names, e.args, strict=True))
            if (factory := named.get("default_factory")) is not None:
                return self.call(self.evaluate(factory), Arguments(), e)
            return self.evaluate(named["default"]) if "default" in named else UNKNOWN
        value = UNKNOWN if isinstance(e, TempNode) else self.evaluate(e)
        return UNKNOWN if isinstance(value, Mutable) else value


def declared_value(declared: Type, value: Fact) -> Fact:
    """Return a value with the axes that its annotation names."""
    p = get_proper_type(declared)
    axes = axes_of(declared)
    if axes is None:
        is_tensor = isinstance(p, Instance) and p.type.fullname in (TENSOR, VEC)
        is_size = isinstance(p, Instance) and p.type.fullname == "builtins.int"
        is_float = isinstance(p, Instance) and p.type.fullname == "builtins.float"
        if value is not UNKNOWN:
            return value
        return Shaped() if is_tensor else Size() if is_size else NUMBER if is_float else UNKNOWN
    if isinstance(value, Shaped) and value.axes is not None:
        if len(value.axes) != len(axes):  # mypy reports it
            return Shaped(tuple(axes), value.brands)
        known = tuple(a if is_named(a) and not is_variable(a) else b for a, b in zip(axes, value.axes, strict=True))
        return Shaped(known, value.brands)
    return Shaped(tuple(axes), brands_of(value)) if value is UNKNOWN or isinstance(value, Shaped) else value


def field_names(info: TypeInfo) -> list[str] | None:
    """Return the fields of a dataclass or a named tuple; None for other classes."""
    if "dataclass" in info.metadata:
        attributes = info.metadata["dataclass"].get("attributes", [])
        return [a["name"] for a in attributes if a.get("is_in_init", True)]
    if info.is_named_tuple and "namedtuple" in info.metadata:
        return list(info.metadata["namedtuple"].get("fields", []))
    return None


def truth_of(value: Fact) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    items = items_of(value)
    return bool(items) if items is not None else None


def compare(op: str, left: Fact, right: Fact) -> Fact:
    """Compare two values; UNKNOWN where the result is not certain."""
    xs, ys = items_of(left), items_of(right)
    if (
        op in ("==", "!=")
        and isinstance(left, Tuple)
        and isinstance(right, Tuple)
        and xs is not None
        and ys is not None
    ):
        each = [compare("==", x, y) for x, y in zip(xs, ys, strict=False)]
        if len(xs) != len(ys) or any(c == Const(False) for c in each):
            return Const(op == "!=")
        return Const(op == "==") if all(c == Const(True) for c in each) else UNKNOWN
    if op in ("is", "is not") and (left is NONE or right is NONE or NONE in (left, right)):
        other = right if left == NONE else left
        if other == NONE:
            return Const(op == "is")
        return Const(op == "is not") if other is not UNKNOWN else UNKNOWN
    if isinstance(left, Const) and isinstance(right, Const) and op in _COMPARED:
        try:
            return Const(_COMPARED[op](left.value, right.value))
        except TypeError:
            return UNKNOWN
    if isinstance(left, Size) and isinstance(right, Size) and is_size(left.axis) and left.axis == right.axis:
        return Const(True) if op in ("==", "<=", ">=") else Const(False) if op in ("!=", "<", ">") else UNKNOWN
    return UNKNOWN


def _merge(left: Fact, right: Fact) -> Fact | None:
    """Return the union of two dicts; None for other values."""
    if not isinstance(left, Mutable) or not isinstance(right, Mutable) or {left.kind, right.kind} != {"dict"}:
        return None
    return Mutable("dict", left.items | right.items if left.items is not None and right.items is not None else None)


def _compute(op: str, a: object, b: object) -> Fact:
    if any(isinstance(v, int | float) and abs(v) > 1e9 for v in (a, b)) or (isinstance(a, str) and op != "+"):
        return UNKNOWN
    try:
        return Const(_ARITHMETIC[op](a, b))
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
