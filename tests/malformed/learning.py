"""Malformed tree nodes, pictures, puzzles and explanations."""

# mypy: ignore-errors
from __future__ import annotations

from tinygrad import Tensor

from branded import enable, errors, jit, picture, puzzles, register_pytree_node, vmap
from branded.explain import explain
from tests.malformed import refused, right
from tests.malformed.values import (
    HUGE,
    LONG,
    NASTY,
    Hostile,
    Odd,
    V,
    cyclic_list,
    escaped,
    one,
    total,
)


class Line:
    def __init__(self, a, b):
        self.a, self.b = a, b


def line(flatten, unflatten=lambda aux, ab: Line(*ab)):
    class Own(Line):
        pass

    register_pytree_node(Own, flatten, unflatten)
    return Own(V, V)


def same_line():
    class Own(Line):
        pass

    for _ in range(2):
        register_pytree_node(Own, lambda l: ((l.a,), None), lambda aux, a: a)


ROWS = (
    refused("enable: another name", lambda: enable("gpu"), errors.OptionError, "enable: there is no feature 'gpu'"),
    refused("enable: no name", lambda: enable(), errors.OptionError, "enable: a feature is missing"),
    refused("enable: a list", lambda: enable(["cpu"]), errors.OptionError, "enable: there is no feature ['cpu']"),
    refused(
        "register_pytree_node: an object in place of a class",
        lambda: register_pytree_node(Odd(), one, one),
        errors.TreeError,
        "register_pytree_node: an Odd is not a class",
    ),
    refused(
        "register_pytree_node: a string in place of a class",
        lambda: register_pytree_node(NASTY, one, one),
        errors.TreeError,
        "register_pytree_node: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a class",
    ),
    refused(
        "register_pytree_node: flatten is no function",
        lambda: register_pytree_node(Line, 3, one),
        errors.TreeError,
        "register_pytree_node: flatten is not a function",
    ),
    refused(
        "register_pytree_node: unflatten is no function",
        lambda: register_pytree_node(Line, one, None),
        errors.TreeError,
        "register_pytree_node: unflatten is not a function",
    ),
    refused(
        "register_pytree_node: a class that is a node already",
        lambda: same_line(),
        errors.TreeError,
        "register_pytree_node: the class Own is registered already",
    ),
    refused(
        "register_pytree_node: a list, which is a node",
        lambda: register_pytree_node(list, one, one),
        errors.TreeError,
        "register_pytree_node: the class list is registered already",
    ),
    refused(
        "register_pytree_node: a tensor, which is a leaf",
        lambda: register_pytree_node(Tensor, one, one),
        errors.TreeError,
        "register_pytree_node: the class Tensor is registered already",
    ),
    refused(
        "register_pytree_node: flatten gives no pair",
        lambda: vmap(one)(line(lambda l: [l.a, l.b, 1])),
        errors.TreeError,
        "register_pytree_node: flatten of an Own returned list(f32[3], f32[3], the int 1), not a pair",
    ),
    refused(
        "register_pytree_node: flatten gives a number",
        lambda: vmap(one)(line(lambda l: 3)),
        errors.TreeError,
        "register_pytree_node: flatten of an Own returned the int 3, not a pair",
    ),
    refused(
        "register_pytree_node: flatten gives children that are a number",
        lambda: vmap(one)(line(lambda l: (3, None))),
        errors.TreeError,
        "register_pytree_node: flatten of an Own returned (the int 3, None), not a pair",
    ),
    refused(
        "register_pytree_node: flatten of the wrong arity",
        lambda: vmap(one)(line(lambda l, m: ((), None))),
        errors.TreeError,
        "register_pytree_node: flatten does not take 1 arguments",
    ),
    refused(
        "register_pytree_node: unflatten of the wrong arity",
        lambda: vmap(one)(line(lambda l: ((l.a,), None), lambda a: a)),
        errors.TreeError,
        "register_pytree_node: unflatten does not take 2 arguments",
    ),
    refused(
        "register_pytree_node: flatten gives the object itself",
        lambda: vmap(one)(line(lambda l: ((l,), None))),
        errors.TreeError,
        "tree: an Own contains itself",
    ),
    refused(
        "register_pytree_node: an aux that is not hashable",
        lambda: jit(lambda l: l.a)(line(lambda l: ((l.a, l.b), []))),
        errors.OptionError,
        "jit: the second result of flatten is static, but not hashable",
    ),
    refused(
        "picture: a string",
        lambda: picture.cells(NASTY),
        errors.AxisTypeError,
        "picture: the str 'two\\nlines \\'single\\' \"double\" <b>b... has no cells",
    ),
    refused("picture: None", lambda: picture.cells(None), errors.AxisTypeError, "picture: None has no cells"),
    refused("picture: a list", lambda: picture.cells([1, 2]), errors.AxisTypeError, "picture: a list has no cells"),
    refused(
        "picture: too many cells",
        lambda: picture.cells(Tensor.zeros(1000)),
        errors.PictureError,
        "picture: 1000 cells are too many for a picture",
    ),
    refused(
        "picture: an axis out of range",
        lambda: picture.cells(V, axis=1),
        errors.AxisRangeError,
        "picture: axis 1 is out of range for f32[3]",
    ),
    refused(
        "picture: an axis that is a string",
        lambda: picture.cells(V, axis="0"),
        errors.AxisTypeError,
        "picture: the str '0' is not an axis",
    ),
    refused(
        "picture: an array of long doubles",
        lambda: picture.cells(LONG),
        errors.AxisTypeError,
        "picture: numpy float128[3] has no cells",
    ),
    refused(
        "picture: a value of a closed brand",
        lambda: picture.cells(escaped()),
        errors.EscapeError,
        "picture: this value belongs to `x`, which is closed",
    ),
    right("picture: a nasty name is escaped", lambda: "<b>" in str(picture.cells(V, NASTY)), False),
    right("picture: a nasty brand is escaped", lambda: "<b>" in str(picture.cells(V, axis=0, brand=NASTY)), False),
    right("picture: no NUL is in what is drawn", lambda: chr(0) in str(picture.cells(V, NASTY)), False),
    refused(
        "picture: saved in a folder that is missing",
        lambda: picture.cells(V).save("/nowhere/at/all.svg"),
        errors.PictureError,
        "picture: cannot write '/nowhere/at/all.svg': No such file or directory",
    ),
    refused(
        "picture: saved as a folder",
        lambda: picture.cells(V).save("/"),
        errors.PictureError,
        "picture: cannot write '/': Is a directory",
    ),
    refused(
        "picture: saved under a name with a NUL",
        lambda: picture.cells(V).save("a\0b.svg"),
        errors.PictureError,
        "picture: cannot write 'a\\x00b.svg': embedded null byte",
    ),
    refused(
        "picture: saved under a number",
        lambda: picture.cells(V).save(3),
        errors.PictureError,
        "picture: cannot write 3: not a path",
    ),
    right("picture: no cells", lambda: "nothing" in picture.cells(Tensor.zeros(0)).description, True),
    refused(
        "puzzles: a number that is none",
        lambda: puzzles.check(99, one),
        errors.PuzzleError,
        "puzzles: there is no puzzle 99: they are 1 to 39",
    ),
    refused(
        "puzzles: a string for a number",
        lambda: puzzles.check("4", one),
        errors.PuzzleError,
        "puzzles: there is no puzzle '4': they are 1 to 39",
    ),
    refused(
        "puzzles: a bool for a number",
        lambda: puzzles.check(True, one),
        errors.PuzzleError,
        "puzzles: there is no puzzle True: they are 1 to 39",
    ),
    refused(
        "puzzles: 10^30",
        lambda: puzzles.check(HUGE, one),
        errors.PuzzleError,
        "puzzles: there is no puzzle 1000000000000000000000000000000: they are 1 to 39",
    ),
    refused(
        "puzzles: None for a number",
        lambda: puzzles.check(None, one),
        errors.PuzzleError,
        "puzzles: there is no puzzle None: they are 1 to 39",
    ),
    right("puzzles: an answer that is no function", lambda: puzzles.check(4, 3), None),
    right("puzzles: an answer that raises", lambda: puzzles.check(4, lambda X, Y: 1 / 0), None),
    right("puzzles: an answer of the wrong arity", lambda: puzzles.check(4, lambda: 0), None),
    right("puzzles: an answer without a repr", lambda: puzzles.check(1, Hostile()), None),
    right("puzzles: a nasty answer", lambda: puzzles.check(1, NASTY), None),
    refused("explain: a number", lambda: str(explain(3)), errors.ExplainError, "explain: the int 3 is not a function"),
    refused(
        "explain: a nasty string",
        lambda: str(explain(NASTY)),
        errors.ExplainError,
        "explain: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a function",
    ),
    refused("explain: a tensor", lambda: str(explain(V)), errors.ExplainError, "explain: f32[3] is not a function"),
    refused(
        "explain: no arguments, and none by default",
        lambda: str(explain(one)),
        errors.ExplainError,
        "explain: `one` has no example arguments",
    ),
    refused(
        "explain: too many arguments",
        lambda: str(explain(total, V, V)),
        errors.ExplainError,
        "explain: `total` does not take these arguments: too many positional arguments",
    ),
    refused(
        "explain: a keyword that it does not have",
        lambda: str(explain(total)(x=V, y=V)),
        errors.ExplainError,
        "explain: `total` does not take these arguments: got an unexpected keyword argument 'y'",
    ),
    refused(
        "explain: a read in the body",
        lambda: str(explain(lambda x: vmap(lambda y: y.item())(x), V)),
        errors.ReadError,
        "item: a value that varies over `y` has no single value to read",
    ),
    refused(
        "explain: a string as the result",
        lambda: str(explain(lambda x: "text", V)),
        errors.ProgramTypeError,
        "explain: the result is the str 'text'",
    ),
    refused(
        "explain: an argument that contains itself",
        lambda: str(explain(one, cyclic_list())),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    refused(
        "explain: a value of a closed brand",
        lambda: str(explain(one, escaped())),
        errors.EscapeError,
        "realize: this value belongs to `x`, which is closed",
    ),
    refused(
        "explain: warn that is a number",
        lambda: str(explain(total, V, warn=3)),
        errors.ExplainError,
        "explain: warn=3 is not a growth",
    ),
    refused(
        "explain: warn that is a string",
        lambda: explain(total, V, warn=NASTY),
        errors.ExplainError,
        "explain: warn='two\\nlines \\'single\\' \"double\" <b>b... is not a growth",
    ),
)
