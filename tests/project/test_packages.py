"""Check the metadata and the contents of the packages without building them: `make packages` builds them."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tinygrad import Tensor

from branded import BrandedError, errors, make_expr, tinygrad_compat, vmap
from branded.ir.operators import function_of
from branded.learn import picture

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_untested_tinygrad_gives_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tinygrad_compat, "version", lambda: "0.15.1")
    with pytest.warns(RuntimeWarning) as warned:
        assert not tinygrad_compat.check_version() and tinygrad_compat.select_patches("1") == []
    (one,) = warned
    assert str(one.message) == (
        "branded: tinygrad 0.15.1 is untested; the tests passed with 0.14.x. Off: backend, native, fixes, speed. "
        "`python -m branded doctor` shows what works"
    )


def test_fixes_are_for_the_required_tinygrad() -> None:
    (needed,) = [x for x in PROJECT["project"]["dependencies"] if x.startswith("tinygrad")]
    assert (
        needed == "tinygrad>=0.14.0,<0.15" and tinygrad_compat.TINYGRAD == "0.14." and tinygrad_compat.check_version()
    )


def test_version_of_tinygrad(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tinygrad_compat.version() == importlib.metadata.version("tinygrad")
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))  # like an installation from a checkout
    assert tinygrad_compat.version.__wrapped__() == importlib.metadata.version("tinygrad")


HEAVY = ("tinygrad.renderer.nir", "tinygrad.runtime.ops_cpu", "importlib.metadata", "email", "csv", "ziglang", "rich")
"""Modules that `import branded` does not load; some are needed only by its commands and its plugin."""


def test_import_loads_no_heavy_modules() -> None:
    names = (*HEAVY, "mypy", "sybil", "hypothesis", "PIL", "jax", "torch", "dask", "branded.explain")
    program = "import branded, sys; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []


def test_checkout_has_files_of_the_packages() -> None:
    assert (ROOT / "branded" / "py.typed").exists() and (ROOT / "branded" / "vec.pyi").exists()
    for name in PROJECT["project"]["license-files"]:
        assert (ROOT / name).exists()


def test_sdist_has_files_of_the_tests() -> None:
    """All files in git, except for those that only a checkout needs."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no checkout")
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    carried = {"pyproject.toml", *(path.strip("/") for path in included)}
    there = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert {name for name in there if not name.startswith(".")} == carried


def test_workflow_runs_the_ci_script() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "- run: .ci/run" in text
    for version in ("3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]
        assert f'"{version}"' in text


def test_licenses_of_requirements_are_listed() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    needed = [*PROJECT["project"]["dependencies"], *(x for extra, of in extras.items() if extra != "dev" for x in of)]
    names = {re.split(r"[\[>=<]", x)[0] for x in needed} - {"branded"}
    listed = re.findall(r"^\| ([\w-]+) \| (?:always|the extra)", (ROOT / "LICENSES.md").read_text(), re.MULTILINE)
    assert names == set(listed)


# ---- data is never executed ----

HOSTILE = ("__import__", "__class__", "from_url", "realize", "fetch", "to", "save", "uop", "exec", "custom_kernel")


@pytest.mark.parametrize("name", [*HOSTILE, "os.system", "random.operation", "random.cast", "random.np"])
def test_names_in_ir_text_are_only_operations(name: str) -> None:
    x = Tensor([1.0])
    program = make_expr(lambda x: x.sin() * 2)(x)
    assert function_of(name) is None
    with pytest.raises(errors.ProgramError, match="there is no operation"):
        program.from_text(str(program).replace("sin", name))(x)


def test_ir_text_is_not_python(tmp_path: Path) -> None:
    x, target = Tensor([1.0]), tmp_path / "owned"
    program = make_expr(lambda x: x.sin() * 2)(x)
    for call in (f"__import__('pathlib').Path({str(target)!r}).touch()", f"(lambda: open({str(target)!r}, 'w'))()"):
        with pytest.raises(BrandedError):
            program.from_text(str(program).replace("sin a", call))(x)
        with pytest.raises(BrandedError):
            program.from_text(str(program).replace("mul b 2", f"mul b {call}"))(x)
    assert not target.exists()


EVIL = "<script>alert(1)</script>&\"'\n\0"


def test_html_escapes_names() -> None:
    def evil(x: Tensor) -> Tensor:
        return vmap(lambda y: y * 2, axis_name=EVIL)(x)

    evil.__name__ = evil.__qualname__ = EVIL
    page = make_expr(evil)(Tensor([[1.0]]))._repr_html_()
    drawn = picture.cells(Tensor([1.0]), name=EVIL).svg
    for text in (page, drawn):
        assert "<script" not in text


def test_import_has_no_side_effects(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "seen = ('socket.connect', 'subprocess.Popen', 'pickle.find_class')\n"
        "sys.addaudithook(lambda event, args: event in seen and print(event))\n"
        "import branded"
    )
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    out = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert out.stdout == "" and not list(tmp_path.iterdir())


@pytest.mark.parametrize("deleted", ["branded", "branded tinygrad"])
def test_reimport_returns_the_same_package(deleted: str) -> None:
    program = (
        f"import sys, branded, tinygrad; first, deleted = branded, {deleted.split()}\n"
        "for name in [name for name in sys.modules if name.split('.')[0] in deleted]: del sys.modules[name]\n"
        "import branded; from tinygrad import Tensor\n"
        "print(branded is first, branded.vmap(lambda x: x.sort()[0])(Tensor([[2.0, 1.0]])).tolist())\n"
        "print(branded.linalg.det(Tensor([[2.0, 0.0], [0.0, 1.0]])).item(), Tensor([0.0]).exp().item())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"{deleted == 'branded'} [[1.0, 2.0]]\n2.0 1.0\n", done.stderr
