"""Evaluation of expressions to abstract values (`Fact`)."""

from __future__ import annotations

from mypy.nodes import (
    ARG_NAMED,
    ARG_STAR,
    ARG_STAR2,
    AssignmentExpr,
    AwaitExpr,
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
    SetExpr,
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
from mypy.operators import unary_op_methods
from mypy.types import Instance, LiteralType, get_proper_type

from branded.mypy.analysis.source.walk import parts, walk
from branded.mypy.shapes import libraries, tensors
from branded.mypy.shapes.brands import check_truth
from branded.mypy.shapes.objects import Objects
from branded.mypy.shapes.other_files import function_of, is_user_name, name_of_user, path_of
from branded.mypy.shapes.rules import dtypes, modules
from branded.mypy.shapes.rules.comprehensions import comprehension, dict_comprehension
from branded.mypy.shapes.rules.operators import compare, compute, slice_of, truth_of
from branded.mypy.shapes.rules.special_methods import HASH, first_special
from branded.mypy.shapes.state import STEPS, OutOfSteps
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
    Wrapped,
    add_brands,
    brands_of,
    forget,
    items_of,
    join,
    list_of,
)


class Evaluator(Objects):
    """Evaluates the expressions of a file, and records the mistakes that it finds."""

    def evaluate(self, e: Expression | None) -> Fact:
        self.steps += 1
        if self.steps > STEPS:
            raise OutOfSteps
        value = self._evaluate(e)
        if value is UNKNOWN and self._is_float(e):
            self.unshared += 1
            return NUMBER
        return value

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
            case SetExpr():
                for item in self.items(e.items) or ():
                    first_special(self, item, HASH, e)
                return UNKNOWN
            case LambdaExpr():
                return Function(e, self.frame)
            case SuperExpr():
                return self.super_method(e)
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
                return comprehension(self, e.generator)
            case GeneratorExpr():
                return comprehension(self, e)
            case DictionaryComprehension():
                return dict_comprehension(self, e)
            case AwaitExpr():  # a coroutine is followed where it is called
                return self.evaluate(e.expr)
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
            more = items_of(self.evaluate(entry.expr)) if isinstance(entry, StarExpr) else [self.evaluate(entry)]
            values = None if more is None or values is None else [*values, *more]
        return values

    def _name(self, e: NameExpr) -> Fact:
        if e.name in ("True", "False", "None") and e.fullname == f"builtins.{e.name}":
            return Const({"True": True, "False": False, "None": None}[e.name])
        if e.fullname == "builtins.Ellipsis":
            return Const(...)
        if e.node is None:
            return UNKNOWN
        value = self.frame.lookup(e.node)
        if value is None:
            return self._global(e.node, e.fullname)
        if e.node in self.module.names and not (isinstance(value, Function) and value.node is e.node):
            self.unshared += 1  # importers do not know the values of this file's variables
        return value

    def _global(self, node: SymbolNode, fullname: str) -> Fact:
        if isinstance(node, MypyFile):
            return LibraryName(node.fullname)
        is_own = self.is_own(node.fullname)
        if isinstance(node, TypeInfo) and not is_own:
            return Class(node) if is_user_name(node.fullname, self.api) else LibraryName(node.fullname)
        if isinstance(node, FuncDef) and (f := function_of(node, self.api)) is not None:
            return f
        if isinstance(node, Decorator) and not is_own and is_user_name(node.fullname, self.api):
            return self.decorated(node, node)
        if isinstance(node, Var) and (t := get_proper_type(node.type)) is not None:
            literal = t.last_known_value if isinstance(t, Instance) else t
            if isinstance(literal, LiteralType) and node.is_final:
                return Const(literal.value)
            if not is_own and (value := self.variable_of_other(node)) is not UNKNOWN:
                return value
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
            written = f"{base.name}.{e.name}"
            if not known.startswith("branded.") or known == written:
                return LibraryName(written)
            self.unshared += 1  # importers do not know the name that mypy has resolved
            return LibraryName(known)
        return self.attribute(base, e.name, e)

    def _dict(self, e: DictExpr) -> Fact:
        items: dict[object, Fact] | None = {}
        for k, v in e.items:
            key, value = self.evaluate(k) if k is not None else None, self.evaluate(v)
            first_special(self, key or UNKNOWN, HASH, e)
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
        return truth_of(check_truth(self, value, e))

    def _comparison(self, e: ComparisonExpr) -> Fact:
        values = [self.evaluate(o) for o in e.operands]
        if len(values) != 2:
            return UNKNOWN
        left, right = values
        if (result := self.by_special_method(e.operators[0], left, right, e)) is not None:
            return result
        self.check_fields(e.operators[0], left, right, e)
        if any(isinstance(v, Shaped) for v in values) and e.operators[0] not in ("is", "is not"):
            return tensors.binary(self, e, e.operators[0], left, right, e.operands[0], e.operands[1])
        sizes = {i.axis for v in values for i in (v, *(items_of(v) or ())) if isinstance(i, Size)}
        self.compared |= sizes
        self.unshared += bool(sizes)
        return compare(e.operators[0], left, right)

    def _operator(self, e: OpExpr) -> Fact:
        left = self.evaluate(e.left)
        if e.op in ("and", "or"):
            known = truth_of(check_truth(self, left, e.left))
            if known is not None:
                return self.evaluate(e.right) if known == (e.op == "and") else left
            with self.maybe():
                return join(left, self.evaluate(e.right))
        return self.binary(e.op, left, self.evaluate(e.right), e, e.left, e.right)

    def binary(self, op: str, left: Fact, right: Fact, at: Context, a: Expression, b: Expression) -> Fact:
        if (result := self.by_special_method(op, left, right, at)) is not None:
            return result
        if isinstance(left, Shaped) or isinstance(right, Shaped):
            return tensors.binary(self, at, op, left, right, a, b)
        return compute(op, left, right)

    def _unary(self, e: UnaryExpr) -> Fact:
        value = self.evaluate(e.expr)
        if (result := self.special(value, unary_op_methods.get(e.op, ""), [], e)) is not None:
            return result
        asked = check_truth(self, value, e.expr) if e.op == "not" else value
        if isinstance(value, Shaped):
            dtypes.check(self, "invert" if e.op == "~" else "neg", e, value)
            return value if e.op in "-~+" else UNKNOWN
        if e.op == "not":
            known = truth_of(asked)
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
            entries = index.items if isinstance(index, Tuple) else (index,)
            dtypes.check(self, "index", e, base, *(i for i in entries if isinstance(i, Shaped)))
            return add_brands(dtypes.with_dtype(result, base.dtype), base.brands | brands_of(index))
        if isinstance(e.index, SliceExpr):
            bounds = (e.index.begin_index, e.index.end_index, e.index.stride)
            return slice_of(base, [self.evaluate(b) if b else NONE for b in bounds])
        index = self.evaluate(e.index)
        if (item := self.special(base, "__getitem__", [index], e)) is not None:
            return item
        return self.item(base, index, e)

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

    def iterate(self, value: Fact) -> list[Fact] | Fact | None:
        """Return the items of an iterable; one value for all if their number is unknown; None if nothing is known."""
        items = items_of(value)
        if items is not None:
            return items
        if isinstance(value, Mutable) and (iterator := self.special(value, "__iter__", [], self.caller)) is not None:
            item = first_special(self, iterator, ("__next__",), self.caller)
            return self.iterate(iterator) if item is None and iterator is not value else item
        if isinstance(value, Shaped) and value.axes:
            return value.with_axes(value.axes[1:])
        if isinstance(value, Mutable) and value.kind == "dict" and value.items is not None:
            return [Const(k) for k in value.items]
        if isinstance(value, Mutable) and value.kind == "range":
            return Size()
        if isinstance(value, Stream):
            return value.each
        return None

    def _call(self, e: CallExpr) -> Fact:
        self.unshared += isinstance(e.callee, TempNode) or e.analyzed is not None  # by mypy, for this file alone
        if isinstance(e.callee, TempNode):  # injected by the plugin
            name = getattr(e.callee.type, "name", None)
            if name == "<fields>":
                return Mutable("dict", dict(self.arguments(e).keywords.items()))
            return self.evaluate(e.args[0]) if name in ("<display>", "<function>") else UNKNOWN
        if isinstance(e.analyzed, CastExpr):
            return self.evaluate(e.analyzed.expr)
        f = self.evaluate(e.callee)
        if isinstance(f, LibraryName) and f.name == "typing.cast" and len(e.args) == 2:
            return self.evaluate(e.args[1])
        given, outer = self.arguments(e), self.caller
        self.caller = e if path_of(e) is None else outer
        value = self.call(f, given, e)
        self.caller = outer
        return value

    def arguments(self, e: CallExpr) -> Arguments:
        given = Arguments()
        for arg, kind, name in zip(e.args, e.arg_kinds, e.arg_names, strict=True):
            given.given.append(value := self.evaluate(arg))
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
                return self.construct(f.info, given, at)
            case Mutable(kind="object") if f.info is not None:
                method = self.from_class(f, "__call__", at)
                if isinstance(method, Function):
                    return self.call_function(method, given, at)
            case Mutable(kind=kind) if kind in modules.LAYERS and len(given.positional) == 1:
                return modules.call_layer(self, f, given.positional[0], at)
            case LibraryName():
                return libraries.call(self, f, given, at)
        for value in given.all():
            forget(value)
        return UNKNOWN
