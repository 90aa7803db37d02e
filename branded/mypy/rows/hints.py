"""Notes for mypy's own errors about rows: the brands that differ, and a fix.

mypy compares two types and prints both. These functions read its message, and name the brands that only one type has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from branded.mypy.axes import hints as axes_hints

VEC_TYPE = re.compile(r"\b(?:Vec|Axes)\[")
_TYPE = r'"(?P<{}>[^"]*)"'
_GOT, _WANTED = _TYPE.format("got"), _TYPE.format("wanted")
_DIFFER = re.compile(
    rf"(?:incompatible type|got|expression has type|actual type) {_GOT}[;,] "
    rf'(?:expected(?: type)?|(?:variable|target|TypedDict item "[^"]*") has type) {_WANTED}'
)
_DICT = re.compile(rf'^Dict entry \d+ has incompatible type "[^"]*": {_GOT}; expected "[^"]*": {_WANTED}')
_ARGUMENT = re.compile(r'^Argument (?P<position>"?\w+"?) (?:to "(?P<callee>\w+)"(?: of "(?P<owner>\w+)")? )?has')
_POSITION = re.compile(r'^(?:Argument|List item|Dict entry) "?\w+"? ')
_SAME_CLASS = re.compile(r'"(\w+)\[[^"]*\]"; expected "\1\[[^"]*\]"')
_ROW = re.compile(r"\bVec\[(?P<row>[^,\[\]]+)")
_ASKED = re.compile(r'"(?P<type>Vec\[(?P<row>[^,\[\]]+), [^"]+)" which does not implement __bool__')
_CHOSEN = re.compile(r'(?:Invalid index type|"__getitem__" of "(?:list|tuple)" matches argument type) "Vec\[')
_INVARIANT = re.compile(
    r'"(?P<name>(?!(?:Vec|dict|list)\b)\w+)\[(?P<got>[^"\[\]]+)\]"[,;] expected "(?P=name)\[(?P<wanted>[^"\[\]]+)\]"'
)
_TENSORS = re.compile(r"\b(?:Tensor|Vec|Axes)\b")
_NUMBERS = re.compile(r"\b(?:float|int|bool)\b")
_OWN_SELF = re.compile(
    r'^Invalid self argument "\w+" to attribute function "\w+" with type "'
    r"(?:Callable\[\[Self\b|Callable\[\[(\w+)(?:, .*)?\], \1\]|def .*\(_self: _NT\b)"
)
_NO_NAME = re.compile(
    r'^No overload variant of "(?P<collective>p(?:sum|mean|max|min)|all_gather)" matches argument type "'
)
_CONTAINERS = ("list", "set", "dict", "deque", "defaultdict", "OrderedDict")


class _TypePair(NamedTuple):
    """The two types of a message."""

    got: str
    wanted: str

    @property
    def extra(self) -> list[str]:
        """The brands of the value that the wanted type does not have."""
        return [b for b in _brands(self.got) if b not in _brands(self.wanted)]

    @property
    def has_other_structure(self) -> bool:
        """Whether one type is a tensor and the other a tuple: then the brands are not the reason of the error."""
        tensor, pair = re.compile(r"(?:Vec|Axes)\[|Tensor$"), (self.got, self.wanted)
        return any(map(tensor.match, pair)) and any(t.startswith("tuple[") for t in pair)

    @property
    def is_anonymous(self) -> bool:
        """Whether no annotation can name an extra brand, as for a lambda, whose brand is named after its parameter."""
        return any(b.islower() for b in self.extra)


class Argument(NamedTuple):
    """An argument that mypy rejects: the function, its position, its type and the wanted type."""

    callee: str
    position: str
    got: str
    wanted: str

    def is_swapped_with(self, other: Argument) -> bool:
        """Return whether each of two arguments of a call has the type that the other one needs."""
        is_other = self.callee == other.callee and self.position != other.position
        return is_other and self.fits(other) and other.fits(self)

    def fits(self, other: Argument) -> bool:
        return self.got == other.wanted or (self.got.startswith("Axes[") and other.wanted == "Tensor")


def argument_of(text: str) -> Argument | None:
    """Return the argument of a message about tensors; None for other messages."""
    argument, differ = _ARGUMENT.search(text), _DIFFER.search(text)
    if argument is None or differ is None or not _TENSORS.search(text):
        return None
    return Argument(argument["callee"] or "", argument["position"], differ["got"], differ["wanted"])


def without_position(text: str) -> str:
    """Return a message without the number of an item or argument, and without rows: two may have one reason."""
    return _SAME_CLASS.sub("rows", _POSITION.sub("", text))


def truth_of(text: str) -> tuple[str, str] | None:
    """Return our message and fact for mypy's message about the truth value of a Vec; None for other messages."""
    if (asked := _ASKED.search(text)) is None:
        return None
    names = _names(asked["row"].split(" | "), " and ")
    return f"bool: a value that varies over {names} has no single truth value", f'value: "{asked["type"]}"'


def is_own_self(text: str) -> bool:
    """Return whether mypy rejects the object of a method that accepts any object of its class.

    To mypy a NamedTuple of batched values is not the NamedTuple of tensors that bounds `Self`.
    """
    return _OWN_SELF.search(text) is not None


def notes_for(text: str) -> list[str]:
    """Return the notes under a message of mypy: the facts, then the fix.

    Example:
        >>> from branded.mypy.rows.hints import notes_for
        >>> text = 'Argument 1 to "norm" has incompatible type "Vec[a, Tensor]"; expected "Tensor"'
        >>> for line in notes_for(text): print(line)
        the value varies over "a", and this parameter is one value for all examples
        try:   annotate the parameter as Vec[S], or call lift(norm)(...)
    """
    if _CHOSEN.search(text):
        return [
            "an entry of a list or a dict is chosen once, for all examples",
            "try:   put the entries into a tensor and index it, or use switch for functions",
        ]
    if no_name := _NO_NAME.search(text):
        return [f"try:   {no_name['collective']}(x, axis_name), with the axis_name of the vmap"]
    if name := invariant_class(text):
        return [
            f"the type variable of {name} is invariant, so a {name} that varies over fewer brands does not fit",
            f"try:   declare class {name}(Generic[S_co]), with the covariant `S_co` of branded.typing",
        ]
    if (match := _DICT.search(text) or _DIFFER.search(text)) is None:
        return []
    pair = _TypePair(match["got"], match["wanted"])
    if axes := axes_hints.advice(text):
        return [line.removeprefix("  ") for line in axes]
    if pair.has_other_structure:
        return []
    if not pair.extra:
        return _empty_row(pair)
    if argument := _ARGUMENT.search(text):
        return list(_argument(pair, argument["callee"], argument["owner"]))
    if text.startswith(("List item", "Dict entry", "Incompatible types (expression")):
        return [
            f"the value varies over {_names(pair.extra)}, and its place is declared for values that do not",
            f"try:   use {'Vec[S]' if pair.is_anonymous else _with_rows(pair)} as the declared type",
        ]
    if "variable has type" in text:
        declared = f"declare x: {pair.got} = ... at the first assignment, or another name if x is a parameter"
        return [
            "a variable has the type of its first value, unless it is declared",
            f"try:   {'use another name for this value' if pair.is_anonymous else declared}",
        ]
    if "target has type" in text:
        return [
            f"the value varies over {_names(pair.extra)}, and the target does not",
            "try:   return it from the mapped function",
        ]
    return _result_hint(pair)


def invariant_class(text: str) -> str | None:
    """Return the class that varies over fewer brands than expected but is invariant; None for other messages."""
    if (match := _INVARIANT.search(text)) is None:
        return None
    got, wanted = (set(match[side].split(" | ")) - {"Never"} for side in ("got", "wanted"))
    return match["name"] if got < wanted else None


def _argument(pair: _TypePair, callee: str | None, owner: str | None) -> Iterator[str]:
    """Explain a batched argument for a parameter that varies over fewer brands."""
    names = _names(pair.extra)
    if not _TENSORS.search(pair.wanted):
        yield f"the value varies over {names}, and this argument is one value for all examples"
        if owner in ("Vec", "Tensor"):
            yield "try:   use a number, which all examples share"
        elif _NUMBERS.search(pair.wanted):
            yield f"try:   annotate the parameter as Vec[S] | {pair.wanted}"
        else:
            yield "try:   return it from the mapped function"
    elif owner in _CONTAINERS:
        yield f"the value varies over {names}, and the {owner} holds values that do not"
        yield "try:   return the value from the mapped function"
    elif callee == "unvec":
        yield f"unvec takes a value without brands, and this one varies over {names}"
        yield "try:   return it from the mapped function"
    elif known := [b for b in _brands(pair.wanted) if b[:1].isupper()]:
        yield f"the value varies over {names}, and the parameter over {_names(known, ' and ')} alone"
        yield f"try:   annotate the parameter as {_with_rows(pair)}, if it may vary over both"
    elif callee is not None and callee[:1].isupper():
        yield f"the value varies over {names}, and the fields of {callee} do not"
        yield f"try:   declare class {callee}(Generic[S_co]), with a field of type Vec[S_co]"
    else:
        yield f"the value varies over {names}, and this parameter is one value for all examples"
        lifted = callee if owner is None and callee is not None else "f"
        yield f"try:   annotate the parameter as Vec[S], or call lift({lifted})(...)"


def _result_hint(pair: _TypePair) -> list[str]:
    """Explain a result, of `return` or `yield`, that varies over more than its declared type."""
    too = " too" if set(_brands(pair.wanted)) else ""
    facts = f"the value varies over {_names(pair.extra)}{too}, which the declared type does not say"
    if pair.is_anonymous:  # the brand of a block
        return [
            facts,
            f"try:   {pair.extra[0]}.unvec(...) inside its block `with brand(...) as {pair.extra[0]}`",
        ]
    return [facts, f"try:   declare {_with_rows(pair)}"]


def _empty_row(pair: _TypePair) -> list[str]:
    """Explain a `Vec[Never]` where a Tensor is expected."""
    if not pair.got.startswith("Vec[Never, ") or pair.wanted != "Tensor":
        return []
    return [
        "the value varies over no brand, and its type is not Tensor",
        "try:   use unvec(...), or declare Tensor",
    ]


def _with_rows(pair: _TypePair) -> str:
    """Return the type that both the value and the wanted type are: their rows joined."""
    if not pair.got.startswith("Vec[") or pair.got.count("Vec[") != 1:
        return pair.got
    row = list(dict.fromkeys([*_brands(pair.wanted), *pair.extra]))
    return _ROW.sub(lambda _: f"Vec[{' | '.join(row)}", pair.got, count=1)


def _brands(t: str) -> list[str]:
    found = [b for match in _ROW.finditer(t) for b in match["row"].split(" | ")]
    return [b for b in dict.fromkeys(found) if b != "Never"]


def _names(brands: Sequence[str], joint: str = " and ") -> str:
    return joint.join(f'"{b}"' for b in brands)
