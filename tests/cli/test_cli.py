"""The command line: each command's output, and one line for each misuse."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import branded
from branded import cli
from branded.learn import demo
from branded.mypy.check import check as _loaded  # noqa: F401  before the forks
from branded.tools import user_files
from tests.support.warm import CHECK, apart, warm

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a program to a file in a fresh folder."""

    def write(source: str, name: str = "app.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return path

    return write


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def check_one_line(capsys: pytest.CaptureFixture[str], *parts: str) -> None:
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1 and err.startswith("branded")
    for part in parts:
        assert part in err


# ---- options and help ----


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"branded {branded.__version__}\n"


def test_help_has_a_line_for_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for name, command in cli.COMMANDS.items():
        assert [name, *command.help.split()] in lines


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_each_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert str(cli.COMMANDS[name].function.__doc__) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ([], "COMMAND"),
        (["nonsense"], "nonsense"),
        (["run"], "branded run: the following arguments are required: FILE.py[:function] ("),
        (["demo", "--colour"], "--colour"),
    ],
    ids=["no command", "unknown command", "no file", "unknown option"],
)
def test_misuse_is_one_line(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    check_one_line(capsys, part, "--help")


def test_python_dash_m_branded() -> None:
    done = python("-m", "branded", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"branded {branded.__version__}\n", "")


# ---- run: a file ----


def test_run_file_as_main_program(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("VALUE = 7\n", "beside.py")
    path = write(
        "import sys, beside\n"
        "if __name__ == '__main__': print(__file__, sys.argv, beside.VALUE)\n"
        "print(sys.modules['__main__'].__file__ == __file__)\n"
    )
    before = sys.argv, sys.path, sys.modules["__main__"]
    assert cli.main(["run", str(path), "one", "--two"]) == 0
    assert capsys.readouterr().out == f"{path} {[str(path), 'one', '--two']} 7\nTrue\n"
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before
    del sys.modules["beside"]


def test_run_in_a_process(write: Write) -> None:
    path = write(
        "from branded import vmap\n"
        "from tinygrad import Tensor\n"
        "print(vmap(lambda a, b: a + b)(Tensor([1, 2, 3]), Tensor([4, 6, 8])).tolist())\n"
    )
    done = python("-m", "branded", "run", str(path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[5, 8, 11]\n", "")


def test_exit_status_of_file_is_kept(write: Write) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", str(write("import sys; sys.exit(3)"))])
    assert stop.value.code == 3


# ---- run: a function ----


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ("vmap(lambda a: vmap(lambda b: a + b)(Tensor([4, 6, 8])))(Tensor([1, 2]))", "[[5, 7, 9], [6, 8, 10]]"),
        ("{'loss': Tensor(0.5), 'w': (Tensor([1.0]), None)}", "{'loss': 0.5, 'w': ([1.0], None)}"),
        ("'text'", "text"),
    ],
    ids=["tensor", "tree", "str"],
)
def test_run_function_prints_its_result(
    body: str, printed: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(f"from branded import vmap\nfrom tinygrad import Tensor\ndef main(x=None):\n  return {body}\n")
    assert cli.main(["run", f"{path}:main"]) == 0
    assert capsys.readouterr().out == printed + "\n"


def test_function_without_result_prints_nothing(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("def main(): pass\nif __name__ == '__main__': print('not this')\n")
    assert cli.main(["run", f"{path}:main"]) == 0
    assert capsys.readouterr().out == ""


def test_file_may_define_dataclasses(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom tinygrad import Tensor\n"
        "@dataclass\nclass Point:\n  x: Tensor\ndef main(): return Point(Tensor([1, 2]))\n"
    )
    assert cli.main(["run", f"{path}:main"]) == 0
    assert capsys.readouterr().out == "Point(x=[1, 2])\n"


@pytest.mark.parametrize("folder", ["with:colon", "looks.py:like", "c:"])
@pytest.mark.parametrize("suffix", ["", ":main"])
def test_only_a_colon_after_py_splits(
    folder: str, suffix: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("def main(): print('main')\nif __name__ == '__main__': main()\n", f"{folder}/app.py")
    assert cli.main(["run", f"{path}{suffix}"]) == 0
    assert capsys.readouterr().out == "main\n"


# ---- run: misuse ----

SOURCE = "SIZE = 3\ndef add(a, b, *rest, scale=1, **more): pass\nclass Made:\n  def __init__(self, x): pass\n"


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("missing.py", ["there is no file", "missing.py"]),
        ("missing.py:main", ["there is no file", "missing.py"]),
        (".", ["is not a file"]),
        ("app.py:main", ["there is no function `main`", "app.py"]),
        ("app.py:", ["'' is not the name of a function"]),
        ("app.py:a b", ["'a b' is not the name of a function"]),
        ("app.py:SIZE", ["`SIZE`", "is not a function", "3"]),
        ("app.py:add", ["`add`", "needs arguments: a, b"]),
        ("app.py:Made", ["`Made`", "needs arguments: x"]),
    ],
)
def test_misuse_of_run_is_one_line(
    target: str, parts: list[str], write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(SOURCE)
    assert cli.main(["run", f"{tmp_path}/{target}"]) == 2
    check_one_line(capsys, *parts)


# ---- run: errors ----

MISMATCH = """\
from branded import vmap
from tinygrad import Tensor

def main():
    return inner(lambda a, b: a + b)

def inner(f):
    return vmap(f)(Tensor([1, 2, 3]), Tensor([4, 6]))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("suffix", ["", ":main"])
def test_branded_error_prints_its_location(suffix: str, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(MISMATCH)
    assert cli.main(["run", f"{path}{suffix}"]) == 1
    out, err = capsys.readouterr()
    first, second, *facts = err.splitlines()
    assert out == ""
    assert first == f"{path}:8"
    assert second == "vmap: mapped sizes differ: argument 1 has 3 examples, argument 2 has 2"
    assert facts and all(line.startswith("  ") for line in facts)


def test_location_is_inside_mapped_function(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        "from branded import vmap\nfrom tinygrad import Tensor, TinyJit\n\n"
        "def body(x):\n  y = x + 1\n  return y.item()\n\nTinyJit(vmap(body))(Tensor([1, 2]).realize())\n"
    )
    assert cli.main(["run", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:6\n")


def test_escaped_result_is_located_at_function(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        "from branded import vmap\nfrom tinygrad import Tensor\nkept = []\n"
        "vmap(lambda x: kept.append(x) or x)(Tensor([1, 2]))\ndef main(): return kept[0]\n"
    )
    assert cli.main(["run", f"{path}:main"]) == 1
    assert capsys.readouterr().err.startswith(f"{path}:5\n")


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n  return 1 / x\nf(0)\n",
        "try:\n  {}['a']\nexcept KeyError as error:\n  raise ValueError('b') from error\n",
        "import json\njson.loads('[')\n",
        "x = = 1\n",
        "raise KeyboardInterrupt\n",
    ],
    ids=["frames", "cause", "library", "syntax", "interrupt"],
)
def test_other_errors_print_like_python(source: str, write: Write) -> None:
    path = write(source)
    plain, ours = python(str(path)), python("-m", "branded", "run", str(path))
    assert ours.stderr == plain.stderr
    assert ours.stdout == ""
    assert ours.returncode == (130 if "Interrupt" in source else plain.returncode)


# ---- demo ----


def test_traceback_ends_at_user_line(
    write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames inside branded and tinygrad are hidden from the user."""
    path = write(
        "from branded import vmap\nfrom tinygrad import Tensor\n\ndef body(x):\n    return x.nothing()\n\n"
        "def shared():\n    return Tensor([1, 2]).reshape(3)\n\ndef main():\n    return vmap(body)(Tensor([1, 2]))\n"
    )
    for name, line in (("main", 5), ("shared", 8)):
        assert cli.main(["run", f"{path}:{name}"]) == 1
        frames = [f for f in capsys.readouterr().err.splitlines() if f.startswith("  File ")]
        assert all(f.startswith(f'  File "{path}"') for f in frames) and f", line {line}, in" in frames[-1]
    monkeypatch.setattr(user_files, "DEBUG", types.SimpleNamespace(value=1))
    assert cli.main(["run", f"{path}:shared"]) == 1
    assert "tinygrad" in capsys.readouterr().err


def test_demo_writes_to_given_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Path] = []
    monkeypatch.setattr(demo, "run", told.append)
    assert cli.main(["demo", "--out", str(tmp_path / "a" / "b")]) == 0
    assert told == [tmp_path / "a" / "b"]


def test_demo_has_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Path] = []
    monkeypatch.setattr(demo, "run", told.append)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo"]) == 0
    assert told == [Path("demo-pictures")]


def test_demo_on_cluster_takes_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from branded.learn.demo import cluster

    told: list[str] = []
    monkeypatch.setattr(cluster, "run", told.append)
    assert cli.main(["demo", "--cluster"]) == cli.main(["demo", "--cluster", "--memory", "1GB"]) == 0
    assert told == ["256MB", "1GB"]


def test_demo_reports_unwritable_folder_early(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    if not demo.can_draw():
        pytest.skip("matplotlib is not installed")
    path = write("")
    assert cli.main(["demo", "--out", str(path)]) == 2
    check_one_line(capsys, "cannot create the folder", str(path))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["demo", "--memory", "1GB"], "branded demo: --memory has no effect without --cluster"),
        (
            ["demo", "--cluster", "--out", "a"],
            "branded demo: --out has no effect with --cluster, which draws no pictures",
        ),
        (
            ["explorer", "--no-edit", "--pyodide", "a", "b"],
            "branded explorer: --pyodide has no effect with --no-edit, which runs no programs in the browser",
        ),
    ],
)
def test_ignored_options_are_an_error(
    words: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 2
    assert capsys.readouterr().err == told + "\n"
    assert list(tmp_path.iterdir()) == []


# ---- check ----

WRONG = """\
from typing import TypeVar

from tinygrad import Tensor
from branded import Brand, Vec, vmap

S = TypeVar("S", bound=Brand)
S1 = TypeVar("S1", bound=Brand)
n: int = "three"


def zipped(a: Vec[S], b: Vec[S1]) -> Vec[S]:
    return a + b


def single(a: Tensor) -> Tensor:
    return a.relu()


x = Tensor([1.0])
reveal_type(vmap(lambda a: vmap(lambda b: reveal_type(a + b))(x))(x))
vmap(single)(x)
if vmap(zipped)(x, x).sum() if n else vmap(lambda a: a.item())(x):
    pass
"""
SAID = """\
app.py:12: Incompatible return value type (got "Vec[S | S1, Tensor]", expected "Vec[S, Tensor]")  [return-value]
  the value varies over "S1" too, which the declared type does not say
  try:   declare Vec[S | S1, Tensor]
app.py:21: vmap: argument 1 is mapped, but single wants "Tensor" for one example
  given: "Tensor", which is "Vec[a, Tensor]" for one example
  try:   annotate the parameter as Vec[S, Tensor], or use in_axes=None if all examples share it
app.py:22: item: a value that varies over "a" has no single value to read  [brand-read]
  value: "Vec[a, Tensor]"
  a: opened by vmap at app.py:22
  try:   leave out .item(), or return it from the mapped function and read the result

app.py:8: error: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]
app.py:20: note: Revealed type is "Tensor"
app.py:20: note: Revealed type is "Vec[a | b, Tensor]"

3 brand errors, 1 other error (checked 1 file)
"""


@apart
def _checked(folder: Path, *paths: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), redirect_stdout(out), redirect_stderr(err):
        return cli.main(["check", *paths]), out.getvalue(), err.getvalue()


def check(folder: Path, *paths: str) -> subprocess.CompletedProcess[str]:
    """Return the output of `python -m branded check`, run in a fork so that mypy is imported once."""
    if not (folder / ".mypy_cache").exists():
        warm(folder / ".mypy_cache")
    return subprocess.CompletedProcess(paths, *_checked(folder, *paths))


def test_check_prints_brand_errors_first(write: Write) -> None:
    folder = write(WRONG).parent
    warm(folder / ".mypy_cache")
    done = subprocess.run([*CHECK, "app.py"], capture_output=True, text=True, check=False, cwd=folder)
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 1)
    again = check(folder, ".")  # now with a warm cache and a folder
    assert (again.stdout, again.returncode) == (SAID, 1)


def test_check_of_correct_file(write: Write) -> None:
    path = write(
        "from tinygrad import Tensor\nfrom branded import vmap\nz: Tensor = vmap(lambda a: a + 1)(Tensor([1]))\n"
    )
    done = check(path.parent, "app.py")
    assert (done.stdout, done.stderr, done.returncode) == ("no errors (checked 1 file)\n", "", 0)


def test_site_index_repeats_readme_session() -> None:
    root = Path(cli.__file__).parents[2]
    page, readme = ((root / name).read_text() for name in ("docs/index.md", "README.md"))
    session = re.compile(r"^```console\n\$ cat app\.py\n.*?^```", re.MULTILINE | re.DOTALL)
    assert session.findall(page) == session.findall(readme) != []


def test_check_lists_untyped_functions(write: Write) -> None:
    source = (
        "from branded import vmap\n\ndef f(x):\n    return x.numpy()\n\ndef g(x: int, *, y=3) -> int:\n    return x\n"
    )
    path = write(source + "class A:\n    def h(self, x):\n        return x\n")
    done = check(path.parent, "app.py")
    assert done.stdout == (
        "not checked, for an argument without a type: f (app.py:3), h (app.py:9)\n"
        "  try:   annotate x: Tensor, or x: Vec[S, Tensor]\n\nno errors (checked 1 file)\n"
    )
    assert done.returncode == 0


def test_check_uses_mypy_configuration(write: Write) -> None:
    path = write("def f(x):\n    return x\n")
    assert check(path.parent, "app.py").returncode == 0
    for plugins in ("", "plugins = branded.mypy\n"):
        write(f"[mypy]\n{plugins}disallow_untyped_defs = True\n", "mypy.ini")
        done = check(path.parent, "app.py")
        assert done.stdout.startswith("app.py:1: error: Function is missing a type annotation  [no-untyped-def]\n")
        assert done.stdout.endswith("\n\n1 other error (checked 1 file)\n")
        assert done.returncode == 1


def test_check_takes_mypy_options(write: Write) -> None:
    path = write("def f(x):\n    return x\n")
    assert check(path.parent, "--", "--strict", "app.py").returncode == 1
    done = check(path.parent, "--", "--nonsense", "app.py")
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr.count("\n") == 1 and "--nonsense" in done.stderr


def test_check_of_syntax_error(write: Write) -> None:
    path = write("def f(:\n")
    done = check(path.parent, "app.py")
    assert done.stdout.startswith("app.py:1: error: ")
    assert "[syntax]" in done.stdout
    assert done.returncode == 2


def test_check_of_undecodable_file(write: Write) -> None:
    path = write("x = 1\n")
    path.write_bytes(b"x = '\xff\xfe'\n")
    done = check(path.parent, "app.py")
    assert "app.py" in done.stdout and "no errors" not in done.stdout
    assert done.returncode == 2


def test_check_of_if_on_batched_value(write: Write) -> None:
    path = write("from branded import vmap\nfrom tinygrad import Tensor\nvmap(lambda a: 1 if a else 0)(Tensor([1]))\n")
    assert check(path.parent, "app.py").stdout.splitlines()[0] == (
        'app.py:3: bool: a value that varies over "a" has no single truth value  [truthy-bool]'
    )


def test_check_without_paths(write: Write) -> None:
    path = write("n: int = 'three'\n")
    done = check(path.parent)
    assert (done.stdout, done.returncode) == ("", 2)
    assert done.stderr == "branded check: no PATH is given, and mypy's configuration names no files\n"
    write("[mypy]\nfiles = app.py\n", "mypy.ini")
    done = check(path.parent)
    assert done.stdout.startswith("app.py:1: error: Incompatible types") and done.returncode == 1


def test_check_of_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "nowhere.py"]) == 2
    check_one_line(capsys, "there is no file or folder nowhere.py")


def test_check_without_mypy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "branded.mypy.check", None)
    monkeypatch.delattr(branded, "check", raising=False)
    assert cli.main(["check", str(Path(__file__))]) == 2
    check_one_line(capsys, "pip install 'branded[mypy]'")


# ---- info and cache ----


def test_info_prints_one_block_to_paste(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRANDED_LOG", "traces")
    monkeypatch.setenv("SECRET_TOKEN", "xyz")
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    facts = {line.partition(" ")[0]: line for line in out.splitlines()}
    assert facts["branded"] == f"branded      {branded.__version__}"
    assert "0.14" in facts["tinygrad"] and "numpy " in facts["packages"] and "clang" in facts["compiler"]
    assert "CPU" in facts["device"] and "installed" in facts["fixes"]
    assert "BRANDED_LOG=traces" in facts["variables"] and "xyz" not in out


def test_info_without_compiler_still_prints(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "branded", "info"],
        env={"PATH": "", "CC": str(tmp_path / "no-compiler"), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^compiler +.*no-compiler", done.stdout, re.M)


PROGRAM = "from tinygrad import Tensor; import branded; branded.vmap(lambda x: (x * 3).sum())(Tensor([[1.0]])).tolist()"


def test_cache_shows_and_deletes_its_entries(tmp_path: Path) -> None:
    env = {**os.environ, "CACHEDB": str(tmp_path / "cache.db")}

    def call(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=True)
        return done.stdout

    assert "not created yet" in call("-m", "branded", "cache")
    call("-c", PROGRAM)
    shown = call("-m", "branded", "cache")
    assert "branded_programs" in shown and "compiled kernels" in shown
    assert "deleted branded_programs" in call("-m", "branded", "cache", "--clear")
    left = call("-m", "branded", "cache")
    assert "branded_programs" not in left and "compiled kernels" in left
    call("-m", "branded", "cache", "--clear", "all")
    assert "compiled kernels" not in call("-m", "branded", "cache")
    assert "nothing to delete" in call("-m", "branded", "cache", "--clear", "all")
    call("-c", PROGRAM)


def test_broken_cache_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(b"no database" * 100)
    done = subprocess.run(
        [sys.executable, "-m", "branded", "cache"],
        env={**os.environ, "CACHEDB": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stderr.startswith("branded cache: cannot read the cache")
    assert done.stderr.count("\n") == 1


class _Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("command", ["explain", "profile", "run"])
def test_a_full_disk_is_one_line(command: str, write: Write) -> None:
    """The function of the user is not to blame, so no traceback leads to it."""
    path = write("from tinygrad import Tensor\n\ndef f(x=Tensor([1.0, 2.0])):\n    return x * 2\n")
    err = io.StringIO()
    with redirect_stdout(_Full()), redirect_stderr(err):
        assert cli.main([command, f"{path}:f"]) == cli.MISUSED
    assert err.getvalue() == f"branded {command}: No space left on device\n"
