"""Test that docs/reference covers every public name, and that the outputs on its pages are current."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tinygrad.uop.ops import Ops

import branded
from branded import errors

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def documented() -> list[Any]:
    """Return the objects whose docstrings the API pages show, and the module `branded.errors` for its own page."""
    pages = "".join(path.read_text() for path in sorted(REFERENCE.glob("api/*.md")))
    paths = re.findall(r"^::: (\S+)$", pages, re.MULTILINE)
    modules = [(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2]) for path in paths]
    return [getattr(module, name) for module, name in modules]


def test_every_public_name_is_on_an_api_page() -> None:
    on_page = documented()
    assert errors in on_page, "the page shows the classes of errors of that module"
    public = {f"branded.{name}": getattr(branded, name) for name in branded.__all__}
    modules = {name: x for name, x in public.items() if isinstance(x, ModuleType)}
    inside = {f"{name}.{own}": getattr(x, own) for name, x in modules.items() for own in x.__all__}
    every = {name: x for name, x in {**public, **inside}.items() if not isinstance(x, ModuleType)}
    wanted = {name: x for name, x in every.items() if x.__module__ != errors.__name__}
    assert [name for name, x in wanted.items() if not any(x is y for y in on_page)] == []
    assert len({id(x) for x in on_page}) == len(on_page), "a name stands there twice"


def test_api_index_lists_every_page() -> None:
    index = (REFERENCE / "api.md").read_text()
    assert sorted(re.findall(r"\]\(api/([\w-]+)\.md\)", index)) == sorted(p.stem for p in REFERENCE.glob("api/*.md"))


def section(docstring: str, title: str) -> str:
    found = re.search(rf"^{title}:\n((?:(?: .*)?\n)+)", docstring + "\n", re.MULTILINE)
    return found[1] if found else ""


@pytest.mark.parametrize("f", [*filter(inspect.isfunction, documented())], ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_docstring_has_arguments_and_result(f: Any) -> None:
    docstring, signature = inspect.getdoc(f) or "", inspect.signature(f)
    described = re.findall(r"^    \*{0,2}(\w+):", section(docstring, "Args"), re.MULTILINE)
    assert described == [*signature.parameters]
    assert section(docstring, "Returns") or signature.return_annotation in (None, "None")


@pytest.mark.parametrize("cls", [*filter(inspect.isclass, documented())], ids=lambda cls: cls.__name__)
def test_class_docstring_has_all_fields(cls: Any) -> None:
    fields = getattr(cls, "_fields", ()) or tuple(getattr(cls, "__dataclass_fields__", ()))
    described = re.findall(r"^    (\w+):", section(inspect.getdoc(cls) or "", "Attributes"), re.MULTILINE)
    assert described[: len(fields)] == [*fields]


def test_operations_page_has_every_primitive() -> None:
    text = (REFERENCE / "operations.md").read_text()
    assert [op.name for op in Ops if f"`{op.name}`" not in text] == []


def test_operations_page_is_up_to_date() -> None:
    # a separate process: its table of rules does not contain those that examples in docs register
    program = "from tests.pages.operations import text; import sys; sys.stdout.write(text())"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (REFERENCE / "operations.md").read_text() == done.stdout, "run python -m tests.pages.operations"
