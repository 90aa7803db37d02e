"""Check the output of `branded check`: carets, JSON, SARIF, GitHub annotations, exit codes, options and notebooks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from mypy import main as mypy_main

from branded.mypy.check import WITHOUT_EFFECT
from branded.mypy.check import check as checked
from tests.cli.test_cli import check
from tests.support.warm import MYPY, STRICT, apart, warm

READ = (
    "from tinygrad import Tensor\nfrom branded import vmap\n\nvmap(lambda a: a.numpy())(Tensor([1, 2]))\nn: int = 'x'\n"
)
TEXT = """\
app.py:4:16: numpy: a value that varies over "a" has no single value to read  [brand-read]
    vmap(lambda a: a.numpy())(Tensor([1, 2]))
                   ^^^^^^^^^
  value: "Vec[a, Tensor]"
  a: opened by vmap at app.py:4
  try:   return it from the mapped function and read the result

app.py:5:10: error: Incompatible types in assignment (expression has type "str", variable has type "int")  [assignment]
    n: int = 'x'
             ^^^

1 brand error, 1 other error (checked 1 file)
"""
ROOT = Path(__file__).resolve().parents[2]
run_check = apart(checked)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(READ)
    return tmp_path


def notebook(path: Path, *cells: str) -> None:
    """Write a notebook that starts with a text cell."""
    code = [{"cell_type": "code", "source": c.splitlines(True), "outputs": [], "metadata": {}} for c in cells]
    text = {"cell_type": "markdown", "source": ["# Title"], "metadata": {}}
    path.write_text(json.dumps({"cells": [text, *code], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1))


# ---- formats ----


def test_columns_and_carets(app: Path) -> None:
    done = check(app, "--pretty", "app.py")
    assert (done.stdout, done.returncode) == (TEXT, 1)
    plain = check(app, "app.py").stdout  # the output is not a terminal
    assert plain == check(app, "--no-pretty", "app.py").stdout
    assert plain == re.sub(r"(app.py:\d+):\d+", r"\1", re.sub(r"^    .*\n", "", TEXT, flags=re.MULTILINE))


def test_pretty_in_the_mypy_config(app: Path) -> None:
    (app / "mypy.ini").write_text("[mypy]\npretty = True\n")
    assert check(app, "app.py").stdout == TEXT


def test_columns_in_the_mypy_config(app: Path) -> None:
    (app / "mypy.ini").write_text("[mypy]\nshow_column_numbers = True\n")
    assert check(app, "app.py").stdout == re.sub(r"^    .*\n", "", TEXT, flags=re.MULTILINE)


def test_json(app: Path) -> None:
    done = check(app, "--output", "json", "app.py")
    document = json.loads(done.stdout)
    assert {key: document[key] for key in document if key != "messages"} == {
        "version": 1,
        "files": 1,
        "not_checked": [],
        "failures": [],
    }
    read, other = document["messages"]
    assert read == {
        "file": "app.py",
        "cell": None,
        "line": 4,
        "column": 16,
        "end_line": 4,
        "end_column": 25,
        "severity": "error",
        "code": "brand-read",
        "about_brands": True,
        "message": 'numpy: a value that varies over "a" has no single value to read',
        "notes": [
            'value: "Vec[a, Tensor]"',
            "a: opened by vmap at app.py:4",
            "try:   return it from the mapped function and read the result",
        ],
    }
    assert READ.splitlines()[3][15:24] == "a.numpy()"
    assert (other["about_brands"], other["code"], done.returncode) == (False, "assignment", 1)


def test_sarif(app: Path) -> None:
    (app / "app.py").rename(app / "my app.py")
    done = check(app, "--output", "sarif", "my app.py")
    log = json.loads(done.stdout)
    assert (log["version"], len(log["runs"]), done.returncode) == ("2.1.0", 1, 1)
    run = log["runs"][0]
    described = run["tool"]["driver"]["rules"]
    fields = ("shortDescription", "fullDescription", "help")  # GitHub's code scanning requires them
    assert all(rule[field]["text"] for rule in described for field in fields)
    assert described[1]["help"]["text"] == "`python -m branded why read` explains this error."
    rules = [rule["id"] for rule in described]
    assert rules == ["assignment", "brand-read"] and run["tool"]["driver"]["name"] == "branded"
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    read = run["results"][0]
    assert (read["ruleId"], rules[read["ruleIndex"]], read["level"]) == ("brand-read", "brand-read", "error")
    assert read["message"]["text"].startswith("numpy: a value") and "\n  try:   return it" in read["message"]["text"]
    place = read["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20app.py"} and unquote("my%20app.py") == "my app.py"
    assert place["region"] == {"startLine": 4, "startColumn": 16, "endLine": 4, "endColumn": 25}


def test_github(app: Path) -> None:
    (app / "app.py").write_text(READ + "reveal_type(n)\n")
    first, other, note, counts = check(app, "--output=github", "app.py").stdout.splitlines()
    assert first == (
        "::error file=app.py,line=4,col=16,endLine=4,endColumn=25,title=brand-read::numpy: a value that varies over "
        '"a" has no single value to read%0A  value: "Vec[a, Tensor]"%0A  a: opened by vmap at app.py:4%0A'
        "  try:   return it from the mapped function and read the result"
    )
    assert other.startswith("::error file=app.py,line=5,") and note.startswith("::notice file=app.py,line=6,")
    assert counts == "1 brand error, 1 other error (checked 1 file)"


def test_github_escapes_characters(tmp_path: Path) -> None:
    (tmp_path / "a,b.py").write_text("x: int = '%d'\nreveal_type('50%')\n")
    said = check(tmp_path, "--output=github", "a,b.py").stdout
    assert "file=a%2Cb.py," in said and "Literal['50%25']" in said


def test_unchecked_functions_are_reported(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from branded import vmap\ndef f(x):\n    return x\n")
    assert json.loads(check(tmp_path, "--output=json", "app.py").stdout)["not_checked"] == ["f (app.py:2)"]
    assert check(tmp_path, "--output=github", "app.py").stdout.startswith(
        "::notice title=not checked::f (app.py:2) has"
    )
    log = json.loads(check(tmp_path, "--output=sarif", "app.py").stdout)
    assert "f (app.py:2)" in log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]


# ---- exit codes and options ----


@pytest.mark.parametrize("output", ["text", "json", "sarif", "github"])
def test_exit_codes(output: str, tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text("n: int = 1\n")
    (tmp_path / "wrong.py").write_text("n: int = ''\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "bytes.py").write_bytes(b"x = '\xff\xfe'\n")
    (tmp_path / "note.ipynb").write_text("{}")
    (tmp_path / "list.ipynb").write_text("[]")
    names = ("right.py", "wrong.py", "broken.py", "bytes.py", "note.ipynb", "list.ipynb")
    done = {name: check(tmp_path, "--output", output, name) for name in names}
    assert [done[name].returncode for name in names] == [0, 1, 2, 2, 2, 2]
    if output in ("json", "sarif"):
        documents = {name: json.loads(done[name].stdout) for name in names}
        failed = [name for name in names if output == "json" and documents[name]["failures"]]
        failed += [name for name in names if output == "sarif" and not _successful(documents[name])]
        assert failed == ["bytes.py", "note.ipynb", "list.ipynb"]
    assert "not a notebook" in done["note.ipynb"].stdout


def _successful(log: Any) -> bool:
    return bool(log["runs"][0]["invocations"][0]["executionSuccessful"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--strict", "app.py"), "branded check: unrecognized arguments: --strict; options of mypy follow --"),
        (("--output", "xml", "app.py"), "invalid choice: 'xml'"),
        (("--output", "json", "--pretty", "app.py"), "--pretty has no effect with --output json"),
        (("--", "--pretty", "app.py"), "--pretty has no effect here"),
        (("--", "--output=json", "app.py"), "--output has no effect here"),
        (("--", "--junit-xml=a.xml", "app.py"), "--junit-xml has no effect here"),
        (("--", "--pret", "app.py"), "--pret has no effect here"),
        (("--", "-Ojson", "app.py"), "-Ojson has no effect here"),
        (
            ("--suggest", "--output", "json", "app.py"),
            "branded check: --output json has no effect with --suggest, which prints lines to paste",
        ),
        (("--suggest", "--pretty", "app.py"), "--pretty has no effect with --suggest"),
        (("--suggest", "--no-pretty", "app.py"), "--no-pretty has no effect with --suggest"),
        (("--suggest", "note.ipynb"), "--suggest reads Python files: note.ipynb is a notebook"),
        (("--", "--nonsense", "app.py"), "--nonsense"),
        (("--", "--show-absolute-path", "app.py"), "--show-absolute-path has no effect here"),
        (("--", "--show-error-code-links", "app.py"), "--show-error-code-links has no effect here"),
    ],
)
def test_unsupported_options_are_rejected(words: tuple[str, ...], told: str, app: Path) -> None:
    (app / "note.ipynb").write_text("{}")
    done = check(app, *words)
    assert (done.stdout, done.returncode) == ("", 2)
    assert told in done.stderr and done.stderr.count("\n") == 1


def test_options_without_effect_exist_in_mypy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mypy_main.process_options(["--help"])
    told = capsys.readouterr().out
    shown = re.sub(r"-\n +", "-", told)  # options are broken at their hyphens
    assert [name for name in WITHOUT_EFFECT if name not in shown] == []
    section = shown.partition("Configuring error messages:")[2].partition("Incremental mode:")[0]
    options = re.findall(r"(?:^ +|inverse:\s+)(--[a-z-]+)", section, re.MULTILINE)
    assert len(options) >= 18 and set(options) <= set(WITHOUT_EFFECT)


UNUSED = """\
from tinygrad import Tensor
from branded import vmap
xs, ys = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
vmap(lambda x, y: x - ys)(xs, ys)
vmap(lambda x: ys * 2)(xs)
"""


def test_strict_makes_errors_of_notes_about_an_unused_batch(tmp_path: Path) -> None:
    """With and without the plugin in the configuration, which may choose otherwise."""
    app = tmp_path / "app.py"
    app.write_text(UNUSED)
    warm(tmp_path / "cache")
    for folder in (
        strict := tmp_path / "strict",
        strict / "branded",
    ):  # with the plugin in the configuration, and without
        warm(folder, MYPY, STRICT)
    text, status = run_check([f"--cache-dir={tmp_path / 'cache'}", "--config-file=", str(app)])
    assert status == 0 and text.count("note: vmap: ") == 2
    configuration, plugin = app.with_name("mypy.ini"), "plugins = branded.mypy\n"
    own = STRICT.replace("strict = True\n", "")
    assert plugin in own and own != STRICT
    for config, errors in (
        (own.replace(plugin, ""), True),
        (own, True),
        (f"{own}\n[branded]\nunvaried = note\n", False),
    ):
        configuration.write_text(config)
        text, status = run_check([f"--cache-dir={strict}", "--strict", f"--config-file={configuration}", str(app)])
        assert text.count(": vmap: ") == 2 and ("note: " not in text) == errors, config
        assert status == errors


def test_version_option_of_mypy(app: Path) -> None:
    assert check(app, "--", "--version").returncode == 0


def test_warnings_about_the_configuration(app: Path) -> None:
    (app / "mypy.ini").write_text("[mypy]\nstrikt = true\n[branded]\nrequire_axes = ja\n")
    done = check(app, "app.py")
    assert done.stderr.splitlines() == [
        "mypy.ini: [mypy]: Unrecognized option: strikt = true",
        "mypy.ini: [branded]: require_axes must be true or false, not 'ja'",
    ]


# ---- notebooks ----

CELLS = (
    "%matplotlib inline\nfrom tinygrad import Tensor\nfrom branded import vmap\n\n%time x = Tensor([1, 2])\n!ls",
    "def f(a: Tensor) -> Tensor:\n    return a\n\nvmap(lambda a: a.numpy())(x)",
    "%%bash\nls -l $HOME",
    "%%time\ndef f(a: Tensor) -> Tensor:\n    return a * 2\n\ndisplay(f(x))\nf?\nn: int = 'x'",
)


def test_notebook(tmp_path: Path) -> None:
    notebook(tmp_path / "my notes.ipynb", *CELLS)
    said = """\
my notes.ipynb:cell 3:4: numpy: a value that varies over "a" has no single value to read  [brand-read]
  value: "Vec[a, Tensor]"
  a: opened by vmap at my notes.ipynb:cell 3:4
  try:   return it from the mapped function and read the result

my notes.ipynb:cell 5:7: error: Incompatible types in assignment (expression has type "str", variable has type "int")  \
[assignment]

1 brand error, 1 other error (checked 1 file)
"""
    for path in ("my notes.ipynb", "."):
        done = check(tmp_path, path)
        assert (done.stdout, done.returncode) == (said, 1)
    pretty = check(tmp_path, "--pretty", "my notes.ipynb").stdout.splitlines()
    assert pretty[:3] == [
        said.splitlines()[0].replace("cell 3:4", "cell 3:4:16"),
        "    vmap(lambda a: a.numpy())(x)",
        "                   ^^^^^^^^^",
    ]
    assert [p.name for p in tmp_path.iterdir() if p.name != ".mypy_cache"] == ["my notes.ipynb"]


def test_machine_formats_use_lines_of_the_file(tmp_path: Path) -> None:
    notebook(path := tmp_path / "notes.ipynb", *CELLS)
    log = json.loads(check(tmp_path, "--output=sarif", "notes.ipynb").stdout)
    places = [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]
    lines = path.read_text().splitlines()
    assert [p["artifactLocation"]["uri"] for p in places] == ["notes.ipynb"] * 2
    assert "a.numpy()" in lines[places[0]["region"]["startLine"] - 1]
    assert "n: int" in lines[places[1]["region"]["startLine"] - 1]
    annotation = check(tmp_path, "--output=github", "notes.ipynb").stdout
    assert (
        f"file=notes.ipynb,line={places[0]['region']['startLine']},title=brand-read::notes.ipynb:cell 3:4: "
        in annotation
    )
    first = json.loads(check(tmp_path, "--output=json", "notes.ipynb").stdout)["messages"][0]
    assert (first["file"], first["cell"], first["line"], first["column"]) == ("notes.ipynb", 3, 4, 16)


def test_notebooks_with_equal_names(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"lib_{name}.py").write_text("def f(n: int) -> int:\n    return n\n")
        notebook(tmp_path / name / "notes.ipynb", f"from lib_{name} import f\nf('x')")
    (tmp_path / "a" / ".ipynb_checkpoints").mkdir()
    notebook(tmp_path / "a" / ".ipynb_checkpoints" / "notes.ipynb", "n: int = 'x'")
    said = check(tmp_path, "a", "b").stdout
    assert sorted(line.split(": ")[0] for line in said.splitlines() if ": error: " in line) == [
        "a/notes.ipynb:cell 2:2",
        "b/notes.ipynb:cell 2:2",
    ]
    assert said.endswith("2 other errors (checked 4 files)\n")


def test_empty_notebook(tmp_path: Path) -> None:
    notebook(tmp_path / "notes.ipynb")
    assert check(tmp_path, "notes.ipynb").stdout == "no errors (checked 1 file)\n"


# ---- the hook ----


def test_pre_commit_hook() -> None:
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    fields = dict(re.findall(r"^[-\s]+(\w+): (.+)$", text, re.MULTILINE))
    assert fields["id"] == "branded-check" and fields["language"] == "python"
    assert fields["entry"].startswith("branded check")
    assert fields["types_or"] == "[python, pyi, jupyter]"
