"""Malformed command lines, in a folder of malformed files."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path

from tests.malformed import Command
from tests.malformed.values import NASTY

LONG = "a" * 5000
APP = """from tinygrad import Tensor
from branded import vmap

x = 3


def f():
    return vmap(lambda a: a * 2)(Tensor([1, 2])).tolist()


def g(y):
    return y


def bad():
    return vmap(lambda a: a.item())(Tensor([1, 2]))


def boom():
    raise ValueError("boom")


def cyclic():
    a = []
    a.append(a)
    return a
"""
FILES = {
    "app.py": APP.encode(),
    "syntax.py": b"def f(:\n",
    "nul.py": b"x = 1\0\n",
    "latin.py": "x = '\u00e4'".encode("latin-1"),
    "binary.py": bytes(range(256)),
    "notes.txt": b"hello",
    "empty.py": b"",
    "a:b.py": b"def f(): return 1\n",
    "missing_import.py": b"import nothing_like_this\n",
    "quote'\".py": b"def f(): return 5\n",
    "new\nline.py": b"def f(): return 6\n",
}


def folder(at: Path) -> None:
    """Create the files that the commands name."""
    for name, content in FILES.items():
        (at / name).write_bytes(content)
    (at / "folder").mkdir()
    (at / "folder.py").mkdir()
    (at / "loop").symlink_to("loop")


COMMANDS = (
    Command((), 2, "branded: the following arguments are required: COMMAND"),
    Command(("--version",), 0, ""),
    Command(("frobnicate",), 2, "branded: argument COMMAND: invalid choice: 'frobnicate'"),
    Command((NASTY,), 2, "branded: an argument contains a NUL character"),
    Command(("",), 2, "branded: argument COMMAND: invalid choice: ''"),
    Command(("--nope",), 2, "branded: the following arguments are required: COMMAND"),
    Command(("run",), 2, "branded run: the following arguments are required: FILE.py[:function]"),
    Command(("run", "app.py:f"), 0, ""),
    Command(("run", "missing.py"), 2, "branded run: there is no file missing.py"),
    Command(("run", "missing.py:f"), 2, "branded run: there is no file missing.py"),
    Command(("run", "folder"), 2, "branded run: folder is not a file"),
    Command(("run", "folder.py"), 2, "branded run: folder.py is not a file"),
    Command(("run", "folder.py:f"), 2, "branded run: folder.py is not a file"),
    Command(("run", "app.py:missing"), 2, "branded run: there is no function `missing` in app.py"),
    Command(("run", "app.py:x"), 2, "branded run: `x` in app.py is not a function, but the int 3"),
    Command(("run", "app.py:g"), 2, "branded run: `g` in app.py needs arguments: y"),
    Command(("run", "app.py:bad"), 1, "app.py:16"),
    Command(("run", "app.py:boom"), 1, "Traceback (most recent call last):"),
    Command(("run", "app.py:cyclic"), 1, "app.py:23"),
    Command(("run", "app.py:"), 2, "branded run: '' is not the name of a function (FILE.py:function)"),
    Command(("run", "app.py:f:g"), 2, "branded run: 'f:g' is not the name of a function (FILE.py:function)"),
    Command(("run", "app.py:f g"), 2, "branded run: 'f g' is not the name of a function (FILE.py:function)"),
    Command(("run", "app.py:" + NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("run", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("run", "a\x00b.py"), 2, "branded: an argument contains a NUL character"),
    Command(("run", "a\x00b.py:f"), 2, "branded: an argument contains a NUL character"),
    Command(("run", ""), 2, "branded run: '' is not a file"),
    Command(("run", "syntax.py"), 1, '  File "syntax.py", line 1'),
    Command(("run", "nul.py"), 2, "branded run: nul.py is not Python: source code string cannot contain null bytes"),
    Command(("run", "latin.py"), 1, '  File "latin.py", line 1'),
    Command(
        ("run", "binary.py"), 2, "branded run: binary.py is not Python: source code string cannot contain null bytes"
    ),
    Command(("run", "notes.txt"), 1, "Traceback (most recent call last):"),
    Command(("run", "empty.py"), 0, ""),
    Command(("run", "empty.py:f"), 2, "branded run: there is no function `f` in empty.py"),
    Command(("run", "a:b.py:f"), 0, ""),
    Command(("run", "missing_import.py"), 1, "Traceback (most recent call last):"),
    Command(("run", "quote'\".py:f"), 0, ""),
    Command(("run", "new\nline.py:f"), 0, ""),
    Command(("run", "loop"), 2, "branded run: there is no file loop"),
    Command(
        ("run", LONG + ".py"),
        2,
        "branded run: File name too long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ),
    Command(
        ("run", "app.py:" + LONG),
        2,
        "branded run: File name too long: app.py:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ),
    Command(("run", "--unknown", "app.py"), 2, "branded run: unrecognized arguments: --unknown"),
    Command(("run", "/dev/null"), 2, "branded run: /dev/null is not a file"),
    Command(("run", "/dev/null:f"), 2, "branded run: there is no file /dev/null:f"),
    Command(("run", "-"), 2, "branded run: there is no file -"),
    Command(("run", "~/app.py"), 2, "branded run: there is no file ~/app.py"),
    Command(("profile",), 2, "branded profile: the following arguments are required: FILE.py:function"),
    Command(("profile", "app.py:missing"), 2, "branded profile: there is no function `missing` in app.py"),
    Command(("explain",), 2, "branded explain: the following arguments are required: FILE.py:function"),
    Command(
        ("explain", "app.py"),
        2,
        "branded explain: which function of app.py? app.py:f, app.py:g, app.py:bad, app.py:boom, app.py:cyclic",
    ),
    Command(("explain", "missing.py:f"), 2, "branded explain: there is no file missing.py"),
    Command(("explain", "app.py:missing"), 2, "branded explain: there is no function `missing` in app.py"),
    Command(("explain", "app.py:x"), 1, "app.py:1"),
    Command(("explain", "app.py:g"), 1, "app.py:11"),
    Command(
        ("explain", "app.py:g", "--args", "("),
        2,
        "branded explain: --args '(' cannot be evaluated: SyntaxError: invalid syntax (<string>, line 1)",
    ),
    Command(
        ("explain", "app.py:g", "--args", "1/0"),
        2,
        "branded explain: --args '1/0' cannot be evaluated: ZeroDivisionError: division by zero",
    ),
    Command(
        ("explain", "app.py:g", "--args", "undefined"),
        2,
        "branded explain: --args 'undefined' cannot be evaluated: NameError: name 'undefined' is not defined",
    ),
    Command(("explain", "app.py:g", "--args", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(
        ("explain", "app.py:g", "--args", ""),
        2,
        "branded explain: --args '' cannot be evaluated: SyntaxError: invalid syntax (<string>, line 1)",
    ),
    Command(("explain", "app.py:g", "--args", "1, 2, 3"), 1, "app.py:11"),
    Command(("explain", "app.py:boom"), 1, "Traceback (most recent call last):"),
    Command(("explain", "app.py:bad"), 1, "app.py:16"),
    Command(("explain", "app.py:f", "--html", "nowhere/out.html"), 2, "branded explain: there is no folder nowhere"),
    Command(("explain", "app.py:f", "--html", "folder"), 2, "branded explain: folder is not the name of a file"),
    Command(("explain", "app.py:f", "--html", ""), 2, "branded explain: '' is not the name of a file"),
    Command(("explain", "app.py:f", "--html", "a\x00b"), 2, "branded: an argument contains a NUL character"),
    Command(("explain", "syntax.py:f"), 1, '  File "syntax.py", line 1'),
    Command(("explain", "folder:f"), 2, "branded explain: there is no file folder:f"),
    Command(("explain", "a\x00b.py:f"), 2, "branded: an argument contains a NUL character"),
    Command(("explain", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("explain", "app.py:f", "--html", "app.py/x.html"), 2, "branded explain: there is no folder app.py"),
    Command(("demo", "--out", "notes.txt"), 2, "branded demo: cannot create the folder notes.txt: File exists"),
    Command(("demo", "--out", "notes.txt/x"), 2, "branded demo: cannot create the folder notes.txt/x: Not a directory"),
    Command(("demo", "--out", "a\x00b"), 2, "branded: an argument contains a NUL character"),
    Command(("demo", "--out", ""), 2, "branded demo: '' is not the name of a folder"),
    Command(
        ("demo", "--out", LONG),
        2,
        "branded demo: cannot create the folder aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ),
    Command(("demo", "--cluster", "--memory", "much"), 2, "branded demo: 'much' is not a memory size such as 256MB"),
    Command(("demo", "extra"), 2, "branded demo: unrecognized arguments: extra"),
    Command(("demo", "--out"), 2, "branded demo: argument --out: expected one argument"),
    Command(
        ("demo", "--out", "/proc/x"), 2, "branded demo: cannot create the folder /proc/x: No such file or directory"
    ),
    Command(("why",), 0, ""),
    Command(("why", "size"), 0, ""),
    Command(("why", "SizeError"), 0, ""),
    Command(("why", ""), 2, "branded why: there is no code ''; `branded why` lists them"),
    Command(("why", "sise"), 2, "branded why: there is no code 'sise'; did you mean size?; `branded why` lists them"),
    Command(("why", "9" * 5000), 2, f"branded why: there is no code '{'9' * 40}'; `branded why` lists them"),
    Command(("doctor", "read"), 2, "branded doctor: unrecognized arguments: read"),
    Command(("info", "read"), 2, "branded info: unrecognized arguments: read"),
    Command(("cache", "read"), 2, "branded cache: unrecognized arguments: read"),
    Command(("cache", "--clear", "read"), 2, "branded cache: argument --clear: invalid choice: 'read'"),
    Command(("why", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("explorer",), 2, "branded explorer: the following arguments are required: OUT"),
    Command(
        ("explorer", "notes.txt", "--no-edit"), 2, "branded explorer: cannot create the folder notes.txt: File exists"
    ),
    Command(
        ("explorer", "notes.txt/x", "--no-edit"),
        2,
        "branded explorer: cannot create the folder notes.txt/x: Not a directory",
    ),
    Command(("explorer", "a\x00b", "--no-edit"), 2, "branded: an argument contains a NUL character"),
    Command(("explorer", "out", "--pyodide", "nowhere"), 1, "explorer: nowhere is not the npm package pyodide"),
    Command(("explorer", "out", "--pyodide", "notes.txt"), 1, "explorer: notes.txt is not the npm package pyodide"),
    Command(("explorer", "out", "--pyodide", "a\x00b"), 2, "branded: an argument contains a NUL character"),
    Command(("explorer", "out", "--pyodide", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("explorer", "", "--no-edit"), 2, "branded explorer: '' is not the name of a folder"),
    Command(("explorer", "out2", "more", "--no-edit"), 2, "branded explorer: unrecognized arguments: more"),
    Command(
        ("explorer", "/proc/x", "--no-edit"),
        2,
        "branded explorer: cannot create the folder /proc/x: No such file or directory",
    ),
    Command(
        ("puzzles", "frob"),
        2,
        "branded puzzles: unknown action `frob`: use one of start, check, hint, solution, or nothing for the list",
    ),
    Command(("puzzles", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("puzzles", "start", "a", "b"), 2, "branded puzzles: start does not take b"),
    Command(("puzzles", "start", "3"), 2, "branded puzzles: start does not take 3"),
    Command(
        ("puzzles", "start", "nowhere/p.py"), 2, "branded puzzles: cannot write nowhere/p.py: No such file or directory"
    ),
    Command(
        ("puzzles", "start", "notes.txt"),
        2,
        "branded puzzles: notes.txt already exists: `start FILE` writes another file, `check notes.txt` checks it",
    ),
    Command(
        ("puzzles", "start", "folder"),
        2,
        "branded puzzles: folder already exists: `start FILE` writes another file, `check folder` checks it",
    ),
    Command(("puzzles", "start", "a\x00b"), 2, "branded: an argument contains a NUL character"),
    Command(("puzzles", "start", ""), 2, "branded puzzles: '' is not the name of a file"),
    Command(
        ("puzzles", "start", LONG),
        2,
        "branded puzzles: cannot write aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ),
    Command(
        ("puzzles", "check"),
        2,
        "branded puzzles: puzzles.py does not exist: `start puzzles.py` writes a file to fill in",
    ),
    Command(
        ("puzzles", "check", "missing.py"),
        2,
        "branded puzzles: missing.py does not exist: `start puzzles.py` writes a file to fill in",
    ),
    Command(
        ("puzzles", "check", "folder"),
        2,
        "branded puzzles: folder is not a file: `start puzzles.py` writes a file to fill in",
    ),
    Command(("puzzles", "check", "notes.txt"), 1, "Traceback (most recent call last):"),
    Command(("puzzles", "check", "empty.py", "99"), 2, "branded puzzles: there is no puzzle 99: they are 1 to 39"),
    Command(("puzzles", "check", "empty.py", "4"), 1, ""),
    Command(("puzzles", "check", "empty.py", "1", "2"), 1, ""),
    Command(("puzzles", "check", "a\x00b"), 2, "branded: an argument contains a NUL character"),
    Command(("puzzles", "hint"), 2, "branded puzzles: hint needs the number of a puzzle, 1 to 39"),
    Command(("puzzles", "hint", "0"), 2, "branded puzzles: there is no puzzle 0: they are 1 to 39"),
    Command(("puzzles", "hint", "99"), 2, "branded puzzles: there is no puzzle 99: they are 1 to 39"),
    Command(("puzzles", "hint", "-1"), 2, "branded puzzles: -1 is not the number of a puzzle, 1 to 39"),
    Command(("puzzles", "hint", "x"), 2, "branded puzzles: x is not the number of a puzzle, 1 to 39"),
    Command(("puzzles", "hint", "1.5"), 2, "branded puzzles: 1.5 is not the number of a puzzle, 1 to 39"),
    Command(("puzzles", "hint", "²"), 2, "branded puzzles: ² is not the number of a puzzle, 1 to 39"),
    Command(("puzzles", "hint", "9" * 5000), 2, "branded puzzles: there is no puzzle 999999999...: they are 1 to 39"),
    Command(("puzzles", "hint", "1", "2"), 2, "branded puzzles: hint takes one number at a time"),
    Command(("puzzles", "hint", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("puzzles", "solution"), 2, "branded puzzles: solution needs the number of a puzzle, 1 to 39"),
    Command(("puzzles", "solution", "99"), 2, "branded puzzles: there is no puzzle 99: they are 1 to 39"),
    Command(("puzzles", "solution", "x"), 2, "branded puzzles: x is not the number of a puzzle, 1 to 39"),
    Command(("puzzles", "solution", "³"), 2, "branded puzzles: ³ is not the number of a puzzle, 1 to 39"),
    Command(("puzzles", "hint", "٣"), 0, ""),
    Command(
        ("puzzles", ""),
        2,
        "branded puzzles: unknown action ``: use one of start, check, hint, solution, or nothing for the list",
    ),
    Command(("check", "missing.py"), 2, "branded check: there is no file or folder missing.py"),
    Command(("check", ""), 2, "branded check: there is no file or folder ''"),
    Command(("check", "a\x00b"), 2, "branded: an argument contains a NUL character"),
    Command(("check", NASTY), 2, "branded: an argument contains a NUL character"),
    Command(("check", "--no-such-option"), 2, "branded check: unrecognized arguments: --no-such-option"),
    Command(("check", "loop"), 2, "branded check: there is no file or folder loop"),
    Command(("check", "folder"), 2, "branded check: There are no .py[i] files in directory 'folder'"),
    Command(
        ("check", LONG + ".py"),
        2,
        "branded check: File name too long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ),
    Command(
        ("explain", "app.py:f", "--warn-factor", "x"),
        2,
        "branded explain: argument --warn-factor: 'x' is not a number above 0",
    ),
    Command(
        ("explain", "app.py:f", "--warn-factor", "nan"),
        2,
        "branded explain: argument --warn-factor: 'nan' is not a number above 0",
    ),
    Command(
        ("explain", "app.py:f", "--warn-factor", "0"),
        2,
        "branded explain: argument --warn-factor: '0' is not a number above 0",
    ),
    Command(
        ("explain", "app.py:f", "--warn-bytes", "1.5"),
        2,
        "branded explain: argument --warn-bytes: invalid int value: '1.5'",
    ),
    Command(("run", "app.py:f", "extra"), 0, ""),
    Command(("check", "missing.py", "app.py"), 2, "branded check: there is no file or folder missing.py"),
)
