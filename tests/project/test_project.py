"""Check the files that describe the project: changes, citation, owners, issue forms, workflows and hooks."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import branded

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
pytestmark = pytest.mark.skipif(not (ROOT / ".github").exists(), reason="the sdist has no .github")


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_changes_are_one_line_of_a_known_kind() -> None:
    kinds = {kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]}
    for path in (ROOT / "changes").iterdir():
        if path.name in ("README.md", "template.md.jinja"):
            continue
        assert re.fullmatch(r"[\w-]+\.(\w+)\.md", path.name), f"{path.name}: TOPIC.KIND.md"
        assert path.name.split(".")[-2] in kinds, path.name
        text = path.read_text(encoding="utf-8")
        assert text.strip() and text.count("\n") == 1 and not text.startswith(("-", "*")), f"{path.name}: one line"


def test_changelog_starts_with_this_version() -> None:
    (first, *_) = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first == branded.__version__ == str(read("CITATION.cff")["version"])


def test_each_folder_has_an_owner() -> None:
    lines = [line.split() for line in (ROOT / ".github/CODEOWNERS").read_text().splitlines()]
    owned = {words[0] for words in lines if words and words[0].startswith("/")}
    assert {f"/branded/{path.parent.name}/" for path in (ROOT / "branded").glob("*/__init__.py")} <= owned
    for pattern in owned:
        assert (ROOT / pattern.strip("/")).is_dir(), pattern


@pytest.mark.parametrize("name", ["bug", "types", "speed", "feature"])
def test_issue_forms(name: str) -> None:
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "labels", "body"} == form.keys()
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids) and "program" in ids
    assert name == "feature" or any("python -m branded info" in part["attributes"]["label"] for part in form["body"])


def commands(workflow: Any) -> list[str]:
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def test_workflows_run_existing_targets() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in (ROOT / ".github/workflows").iterdir():
        workflow = read(str(path.relative_to(ROOT)))
        for job in workflow["jobs"].values():
            assert job["timeout-minutes"] <= 180
        for command in commands(workflow):
            for target in re.findall(r"\bmake ([\w-]+)", command):
                assert target in targets, f"{path.name}: make {target}"
            for script in re.findall(r"(?<![\w/])\.ci/\w+", command):
                assert (ROOT / script).exists(), script


def test_hooks_run_tools_of_the_environment() -> None:
    (local,) = read(".pre-commit-config.yaml")["repos"]
    needed = {re.split(r"[\[>=<]", x)[0] for x in PROJECT["project"]["optional-dependencies"]["dev"]} | {"mypy"}
    of = {"ruff": "ruff", "mypy": "mypy", "lint-imports": "import-linter"}
    for hook in local["hooks"]:
        program = Path(hook["entry"].split()[0]).name
        assert program == "python" or of[program] in needed


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        ("Add a rule for flips", None),
        ("Speed up scans", None),
        ("Added a rule for flips", "not imperative"),
        ("Fixes flips", "not imperative"),
        ("add a rule", "capital letter"),
        ("Add a rule.", "full stop"),
        ("Mend flips", "word list"),
        ("A" * 73, "73 characters"),
    ],
)
def test_subjects_of_commits(subject: str, problem: str | None, tmp_path: Path) -> None:
    (file := tmp_path / "message").write_text(f"{subject}\n\nA body that mends.\n")
    done = subprocess.run([sys.executable, ROOT / ".ci/subjects", file], capture_output=True, text=True)
    assert (done.returncode, problem or "1 subjects") == (0 if problem is None else 1, problem or done.stdout.strip())
    assert problem is None or problem in done.stdout
