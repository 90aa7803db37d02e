"""Malformed calls of make_expr and jit."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from tinygrad import Tensor

from branded import errors, jit, make_expr, psum, vmap
from branded.tools.profile import profile
from tests.malformed import refused, right
from tests.malformed.values import (
    BIG_ENDIAN,
    HUGE,
    LONG,
    NASTY,
    NP,
    OBJECTS,
    Hostile,
    N,
    Odd,
    V,
    W,
    bottom,
    cyclic_list,
    deep,
    escaped,
    one,
    total,
    two,
)


def same_again(f):
    e = make_expr(f)(V)
    return e.from_text(str(e)) == e


def expr():
    return make_expr(lambda x: x.sin())(V)


def nasty_name(x):
    return x * 2


nasty_name.__name__ = NASTY


ROWS = (
    refused("jit: a number", lambda: jit(3), errors.CallError, "jit: the int 3 is not a function"),
    refused(
        "jit: a nasty string",
        lambda: jit(NASTY),
        errors.CallError,
        "jit: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a function",
    ),
    refused("jit: None", lambda: jit(None), errors.CallError, "jit: None is not a function"),
    refused("jit: a tensor", lambda: jit(V), errors.CallError, "jit: f32[3] is not a function"),
    refused(
        "jit: static_argnums a string",
        lambda: jit(one, static_argnums="0")(V),
        errors.OptionError,
        "jit: static_argnums='0' is not a list of positions",
    ),
    refused(
        "jit: static_argnums of strings",
        lambda: jit(one, static_argnums=("x",))(V),
        errors.OptionError,
        "jit: static_argnums=('x',) is not a list of positions",
    ),
    refused(
        "jit: static_argnums a float",
        lambda: jit(one, static_argnums=0.0)(V),
        errors.OptionError,
        "jit: static_argnums=0.0 is not a list of positions",
    ),
    refused(
        "jit: static_argnums a bool",
        lambda: jit(one, static_argnums=True)(V),
        errors.OptionError,
        "jit: static_argnums=True is not a list of positions",
    ),
    right("jit: static_argnums None", lambda: jit(lambda x: x * 2, static_argnums=None)(V).tolist(), [2.0, 4.0, 6.0]),
    refused(
        "jit: static_argnames of ints",
        lambda: jit(one, static_argnames=(0,))(V),
        errors.OptionError,
        "jit: static_argnames=(0,) is not a list of names",
    ),
    refused(
        "jit: static_argnames a tensor",
        lambda: jit(one, static_argnames=V)(V),
        errors.OptionError,
        "jit: static_argnames=f32[3] is not a list of names",
    ),
    refused(
        "jit: static_argnames a nasty string",
        lambda: jit(one, static_argnames=NASTY)(V),
        errors.OptionError,
        "jit: static_argnames='two\\nlines \\'single\\' \"double\" <b>b... is not a parameter of the function",
    ),
    refused(
        "jit: static_argnums out of range",
        lambda: jit(one, static_argnums=5)(V),
        errors.OptionError,
        "jit: static_argnums=5 for a function of 1 argument",
    ),
    refused(
        "jit: static_argnums 10^30",
        lambda: jit(one, static_argnums=HUGE)(V),
        errors.OptionError,
        "jit: static_argnums=1000000000000000000000000000000 for a function of 1 argument",
    ),
    right(
        "jit: static_argnums a numpy int",
        lambda: jit(lambda x, n: x * n, static_argnums=np.int64(1))(V, 2).tolist(),
        [2.0, 4.0, 6.0],
    ),
    right(
        "jit: a static string",
        lambda: jit(lambda x, how: x * len(how), static_argnums=1)(V, "ab").tolist(),
        [2.0, 4.0, 6.0],
    ),
    right(
        "jit: a string that is not said to be static",
        lambda: jit(lambda x, how: x * len(how))(V, "ab").tolist(),
        [2.0, 4.0, 6.0],
    ),
    right(
        "jit: a nasty static string",
        lambda: jit(lambda x, how: x * len(how), static_argnums=1)(V, NASTY)[0].item(),
        61.0,
    ),
    refused(
        "jit: a static list, which is not hashable",
        lambda: jit(lambda x, n: x, static_argnums=1)(V, [1]),
        errors.OptionError,
        "jit: a list is static, but not hashable",
    ),
    right("jit: a static tensor", lambda: jit(lambda x, n: x * n, static_argnums=1)(V, V).tolist(), [1.0, 4.0, 9.0]),
    refused(
        "jit: an object that is not hashable",
        lambda: jit(lambda x, o: x)(V, Hostile()),
        errors.OptionError,
        "jit: a Hostile is static, but not hashable",
    ),
    refused(
        "jit: an array of objects",
        lambda: jit(one)(OBJECTS),
        errors.OptionError,
        "jit: numpy object[3] is static, but not hashable",
    ),
    refused(
        "jit: an array of long doubles",
        lambda: jit(one)(LONG),
        errors.OptionError,
        "jit: numpy float128[3] is static, but not hashable",
    ),
    refused("jit: tune a word", lambda: jit(one, tune="slow"), errors.OptionError, "jit: tune='slow' is not a choice"),
    refused("jit: tune a bool", lambda: jit(one, tune=True), errors.OptionError, "jit: tune=True is not a choice"),
    refused("jit: tune a number", lambda: jit(one, tune=2), errors.OptionError, "jit: tune=2 is not a choice"),
    refused("jit: tune empty", lambda: jit(tune=""), errors.OptionError, "jit: tune='' is not a choice"),
    refused(
        "jit: tune a list", lambda: jit(one, tune=["fast"]), errors.OptionError, "jit: tune=['fast'] is not a choice"
    ),
    refused(
        "jit: tune a nasty string",
        lambda: jit(one, tune=NASTY),
        errors.OptionError,
        "jit: tune='two\\nlines \\'single\\' \"double\" <b>b... is not a choice",
    ),
    refused(
        "profile: tune a word",
        lambda: profile(one, V, tune="slow"),
        errors.OptionError,
        "profile: tune='slow' is not a choice",
    ),
    right("jit: tune of an empty tensor", lambda: jit(one, tune="fast")(V[:0]).tolist(), []),
    right("jit: an array", lambda: jit(lambda x: x * 2)(NP).tolist(), [2.0, 4.0, 6.0]),
    right("jit: an array of the other byte order", lambda: jit(lambda x: x * 2)(BIG_ENDIAN).tolist(), [2.0, 4.0, 6.0]),
    refused(
        "jit: a tree that contains itself",
        lambda: jit(one)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    right("jit: 10,000 lists", lambda: bottom(jit(one)(deep(V))).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "jit: too many arguments",
        lambda: jit(one)(V, V),
        errors.CallError,
        "jit: one() takes 1 positional argument but 2 were given",
    ),
    refused(
        "jit: too few arguments",
        lambda: jit(two)(V),
        errors.CallError,
        "jit: two() missing 1 required positional argument: 'y'",
    ),
    refused(
        "jit: a keyword that it does not have",
        lambda: jit(one)(V, y=V),
        errors.CallError,
        "jit: one() got an unexpected keyword argument 'y'",
    ),
    refused(
        "jit: a string as the result",
        lambda: jit(lambda x: "text")(V),
        errors.ProgramTypeError,
        "jit: the result is the str 'text'",
    ),
    refused(
        "jit: a nasty string in the result",
        lambda: jit(lambda x: {NASTY: NASTY})(V),
        errors.ProgramTypeError,
        "jit: the result['two\\nlines \\'single\\' \"double\" <b>bold</b> &amp; nul\\x00 {brace} %s'] is the str 'two\\nlines \\'single\\' \"double\" <b>b...",
    ),
    right("jit: None as the result", lambda: jit(lambda x: None)(V), None),
    refused(
        "jit: an object as the result",
        lambda: jit(lambda x: Odd())(V),
        errors.ProgramTypeError,
        "jit: the result is an Odd",
    ),
    refused(
        "jit: a read in the body",
        lambda: jit(lambda x: x * x.sum().item())(V),
        errors.ReadError,
        "item: in the body of jit there is no value to read: it is traced once, for all calls",
    ),
    refused(
        "jit: an if in the body",
        lambda: jit(lambda x: x if x.sum() > 0 else -x)(V),
        errors.ReadError,
        "bool: in the body of jit there is no value to read: it is traced once, for all calls",
    ),
    refused(
        "jit: a draw in the body",
        lambda: jit(lambda x: x + Tensor.rand(3))(V),
        errors.RandomnessError,
        "randomness: a random sample in the body of jit, which is traced once, is the same in each call",
    ),
    refused(
        "jit: a value of a closed brand",
        lambda: jit(one)(escaped()),
        errors.EscapeError,
        "jit: this value belongs to `x`, which is closed",
    ),
    refused(
        "jit: a value of a closed brand in the body",
        lambda: jit(lambda x: x + escaped())(V),
        errors.EscapeError,
        "jit: the result: this value belongs to `x`, which is closed",
    ),
    refused("jit: a class", lambda: jit(Odd)(), errors.ProgramTypeError, "jit: the result is an Odd"),
    refused("make_expr: a number", lambda: make_expr(3), errors.CallError, "make_expr: the int 3 is not a function"),
    refused(
        "make_expr: a nasty string",
        lambda: make_expr(NASTY),
        errors.CallError,
        "make_expr: the str 'two\\nlines \\'single\\' \"double\" <b>b... is not a function",
    ),
    refused("make_expr: None", lambda: make_expr(None), errors.CallError, "make_expr: None is not a function"),
    refused("make_expr: a tensor", lambda: make_expr(V), errors.CallError, "make_expr: f32[3] is not a function"),
    refused(
        "make_expr: static_argnums a string",
        lambda: make_expr(one, static_argnums="0")(V),
        errors.OptionError,
        "make_expr: static_argnums='0' is not a list of positions",
    ),
    refused(
        "make_expr: static_argnums of strings",
        lambda: make_expr(one, static_argnums=["x"])(V),
        errors.OptionError,
        "make_expr: static_argnums=['x'] is not a list of positions",
    ),
    refused(
        "make_expr: too many arguments",
        lambda: make_expr(one)(V, V),
        errors.CallError,
        "make_expr: one() takes 1 positional argument but 2 were given",
    ),
    refused(
        "make_expr: too few arguments",
        lambda: make_expr(two)(V),
        errors.CallError,
        "make_expr: two() missing 1 required positional argument: 'y'",
    ),
    right(
        "make_expr: a string as an argument",
        lambda: str(make_expr(lambda x, s: x * len(s))(V, "ab")(V, "ab").tolist()),
        "[2.0, 4.0, 6.0]",
    ),
    refused(
        "make_expr: another string when it is called",
        lambda: make_expr(lambda x, s: x * len(s))(V, "ab")(V, "abc"),
        errors.ProgramTypeError,
        "program: argument 2 is part of the program",
    ),
    refused(
        "make_expr: an array of long doubles",
        lambda: make_expr(one)(LONG),
        errors.ProgramTypeError,
        "make_expr: the result is numpy float128[3]",
    ),
    refused(
        "make_expr: a tree that contains itself",
        lambda: make_expr(one)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    right("make_expr: 10,000 lists", lambda: bottom(make_expr(one)(deep(V))(deep(V))).tolist(), [1.0, 2.0, 3.0]),
    refused(
        "make_expr: a string as the result",
        lambda: make_expr(lambda x: "text")(V),
        errors.ProgramTypeError,
        "make_expr: the result is the str 'text'",
    ),
    refused(
        "make_expr: a read in the body",
        lambda: make_expr(lambda x: x * x.item())(V),
        errors.ReadError,
        "item: in the body of make_expr there is no value to read: it is traced once, for all calls",
    ),
    refused(
        "make_expr: a value of a closed brand",
        lambda: make_expr(one)(escaped()),
        errors.EscapeError,
        "make_expr: this value belongs to `x`, which is closed",
    ),
    refused(
        "make_expr: called with another tree",
        lambda: make_expr(total)(V)((V,)),
        errors.ProgramTypeError,
        "program: the arguments have another structure than its parameters",
    ),
    refused(
        "make_expr: called with another shape",
        lambda: make_expr(total)(V)(W),
        errors.ProgramTypeError,
        "program: argument 1 has another type",
    ),
    refused(
        "make_expr: called with another dtype",
        lambda: make_expr(total)(V)(N),
        errors.ProgramTypeError,
        "program: argument 1 has another type",
    ),
    refused(
        "make_expr: called with a string",
        lambda: make_expr(total)(V)("text"),
        errors.ProgramTypeError,
        "program: argument 1 has another type",
    ),
    refused(
        "make_expr: called with nothing",
        lambda: make_expr(total)(V)(),
        errors.ProgramTypeError,
        "program: the arguments have another structure than its parameters",
    ),
    refused(
        "make_expr: called with a tree that contains itself",
        lambda: make_expr(total)(V)(cyclic_list()),
        errors.TreeError,
        "tree: a list contains itself",
    ),
    refused(
        "make_expr: a level that does not exist",
        lambda: make_expr(total)(V).at("graph"),
        errors.OptionError,
        "at: 'graph' is not a level",
    ),
    refused(
        "make_expr: a level that is a number",
        lambda: make_expr(total)(V).at(1),
        errors.OptionError,
        "at: 1 is not a level",
    ),
    refused(
        "make_expr: a nasty level",
        lambda: make_expr(total)(V).at(NASTY),
        errors.OptionError,
        "at: 'two\\nlines \\'single\\' \"double\" <b>b... is not a level",
    ),
    refused(
        "make_expr: a level that is a list",
        lambda: make_expr(total)(V).at(["operations"]),
        errors.OptionError,
        "at: ['operations'] is not a level",
    ),
    refused(
        "make_expr: below the last level",
        lambda: make_expr(total)(V).at("batched").below(),
        errors.OptionError,
        "below: there is no level below 'batched'",
    ),
    refused(
        "make_expr: links below the last level",
        lambda: make_expr(total)(V).at("batched").links(),
        errors.OptionError,
        "links: there is no level below 'batched'",
    ),
    right("make_expr: compared with a number", lambda: make_expr(total)(V) == 3, False),
    right(
        "make_expr: a nasty brand, read again",
        lambda: same_again(lambda x: vmap(lambda y: y * 2, axis_name=NASTY)(x)),
        True,
    ),
    right(
        "make_expr: a brand whose name has a space, read again",
        lambda: same_again(lambda x: vmap(lambda y: y * 2, axis_name="my users")(x)),
        True,
    ),
    right(
        "make_expr: a brand whose name is a word of the language, read again",
        lambda: same_again(lambda x: vmap(lambda y: y * 2, axis_name="lambda")(x)),
        True,
    ),
    right(
        "make_expr: a brand with an umlaut, read again",
        lambda: same_again(lambda x: vmap(lambda y: y * 2, axis_name="größe")(x)),
        True,
    ),
    right(
        "make_expr: a brand called Vec, read again",
        lambda: same_again(lambda x: vmap(lambda y: y * 2, axis_name="Vec")(x)),
        True,
    ),
    right(
        "make_expr: a psum over a nasty brand, read again",
        lambda: same_again(lambda x: vmap(lambda y: psum(y, NASTY), axis_name=NASTY)(x)),
        True,
    ),
    right(
        "make_expr: a nasty brand as HTML",
        lambda: "<b>" in make_expr(lambda x: vmap(lambda y: y * 2, axis_name=NASTY)(x))(V)._repr_html_(),
        False,
    ),
    right(
        "make_expr: a nasty function name as HTML",
        lambda: "<b>bold" in make_expr(lambda x: jit(nasty_name)(x))(V)._repr_html_(),
        False,
    ),
    refused(
        "from_text: a number", lambda: expr().from_text(3), errors.ProgramTypeError, "read: the int 3 is not a text"
    ),
    refused("from_text: None", lambda: expr().from_text(None), errors.ProgramTypeError, "read: None is not a text"),
    refused(
        "from_text: nothing",
        lambda: expr().from_text(""),
        errors.ProgramError,
        "read: syntax error: 'the end' at line 1, column 1",
    ),
    refused(
        "from_text: a nasty string",
        lambda: expr().from_text(NASTY),
        errors.ProgramError,
        "read: syntax error: '&amp; nul\\x00 {brace} %s' at line 2, column 36",
    ),
    refused(
        "from_text: half of a program",
        lambda: expr().from_text(str(expr())[:40]),
        errors.ProgramError,
        "read: syntax error: 'the end' at line 2, column 15",
    ),
    refused(
        "from_text: a program and more",
        lambda: expr().from_text(str(expr()) + " }"),
        errors.ProgramError,
        "read: syntax error: '}' at line 3, column 13",
    ),
    refused(
        "from_text: Python",
        lambda: expr().from_text("__import__('os').system('true')"),
        errors.ProgramError,
        "read: syntax error: \"__import__('os').system('true'\" at line 1, column 1",
    ),
    refused(
        "from_text: a program of other arguments",
        lambda: expr().from_text("{ lambda ; a:f32[2] . let in (a,) }"),
        errors.ProgramError,
        "from_text: the invars differ from this program's",
    ),
    refused(
        "from_text: an operation that does not exist",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = frobnicate a in (b,) }")(V),
        errors.ProgramError,
        "program: there is no operation 'frobnicate'",
    ),
    refused(
        "from_text: an operation that is a method of objects",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = __class__ a in (b,) }")(V),
        errors.ProgramError,
        "program: there is no operation '__class__'",
    ),
    refused(
        "from_text: an operation that reads",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = numpy a in (b,) }")(V),
        errors.ProgramError,
        "program: there is no operation 'numpy'",
    ),
    refused(
        "from_text: an operation with too many operands",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = add a a a in (b,) }")(V),
        errors.ProgramError,
        "program: add does not take these parameters or operands: 1 operand too many",
    ),
    refused(
        "from_text: an operation with a parameter that it does not have",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[] = sum[where=3] a in (b,) }")(V),
        errors.ProgramError,
        "program: sum does not take these parameters or operands: ReduceMixin.sum() got an unexpected keyword argument 'where'",
    ),
    refused(
        "from_text: a parameter out of range",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[] = sum[axis=7] a in (b,) }")(V),
        errors.ProgramError,
        "program: sum does not take these parameters or operands: dim=7 out of range [-1, 0]",
    ),
    refused(
        "from_text: a result of another type",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:i32[7] = sum a in (b,) }")(V),
        errors.ProgramError,
        "program: sum returns another type than the text declares",
    ),
    refused(
        "from_text: two results of one",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] c:f32[3] = sin a in (b,) }")(V),
        errors.ProgramError,
        "program: sin does not take these parameters or operands: zip() argument 2 is shorter than argument 1",
    ),
    refused(
        "from_text: a dtype that does not exist",
        lambda: expr().from_text("{ lambda ; a:q32[3] . let in (a,) }"),
        errors.ProgramError,
        "from_text: the invars differ from this program's",
    ),
    refused(
        "from_text: a variable that is not bound",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = sin z in (b,) }"),
        errors.ProgramError,
        "read: syntax error: 'in (b,) }' at line 1, column 44",
    ),
    refused(
        "from_text: no results",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let in () }")(V),
        errors.ProgramError,
        "from_text: 0 results, and this program has 1",
    ),
    refused(
        "from_text: results of another tree",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let in (a, a) }")(V),
        errors.ProgramError,
        "from_text: 2 results, and this program has 1",
    ),
    refused(
        "from_text: a size of 10^30",
        lambda: expr().from_text("{ lambda ; a:f32[1000000000000000000000000000000] . let in (a,) }"),
        errors.ProgramError,
        "from_text: the invars differ from this program's",
    ),
    refused(
        "from_text: a number of 5,000 digits",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = add a " + "1" * 5000 + " in (b,) }"),
        errors.ProgramError,
        "read: syntax error: '111111111111111111111111111111' at line 1, column 44",
    ),
    refused(
        "from_text: 10,000 open brackets",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = sum[axis=" + "(" * 10000),
        errors.ProgramError,
        "read: programs or brackets are nested too deeply",
    ),
    refused(
        "from_text: 10,000 programs in each other",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = jit[f=" * 10000),
        errors.ProgramError,
        "read: programs or brackets are nested too deeply",
    ),
    refused(
        "from_text: a NUL",
        lambda: expr().from_text(str(expr()).replace("sin", "s\0n")),
        errors.ProgramError,
        "read: syntax error: '\\x00n a' at line 2, column 17",
    ),
    refused(
        "from_text: a quote that is not closed",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = jit[name='x] a in (b,) }"),
        errors.ProgramError,
        'read: syntax error: "\'x] a in (b,) }" at line 1, column 47',
    ),
    refused(
        "from_text: an escape that is none",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = jit[name='\\N{no}'] a in (b,) }"),
        errors.ProgramError,
        "read: syntax error: \"'\\\\N{no}'] a in (b,) }\" at line 1, column 47",
    ),
    refused(
        "from_text: enter of a brand of another size",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:Vec[i:2, f32[]] = enter[brand=i:2, axis=0] a in (a,) }")(
            V
        ),
        errors.ProgramError,
        "program: enter does not take these parameters or operands: axis 0 has 3 entries, and the brand is i:2",
    ),
    right(
        "from_text: leave of a brand that is not open",
        lambda: (
            expr().from_text("{ lambda ; a:f32[3] . let b:f32[3, 3] = leave[brand=i:3, axis=0] a in (b,) }")(V).shape
        ),
        (3, 3),
    ),
    refused(
        "from_text: an axis that is a string",
        lambda: expr().from_text(
            "{ lambda ; a:f32[3] . let b:Vec[i:3, f32[]] = enter[brand=i:3, axis='x'] a in (a,) }"
        )(V),
        errors.ProgramError,
        "program: enter does not take these parameters or operands: tuple indices must be integers or slices, not str",
    ),
    refused(
        "from_text: a switch without branches",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = switch[branches=()] 0 a in (b,) }")(V),
        errors.ProgramError,
        "program: there is no operation 'switch'",
    ),
    refused(
        "from_text: a scan without a body",
        lambda: expr().from_text("{ lambda ; a:f32[3] . let b:f32[3] = scan[length=3, carries=0] a in (b,) }")(V),
        errors.ProgramError,
        "program: there is no operation 'scan'",
    ),
)
