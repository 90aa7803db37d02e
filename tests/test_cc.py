"""The C compiler: clang where there is one, else ziglang's, else one clear error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from branded import _cc

PROGRAM = """
import branded, os
from tinygrad import Tensor
from branded import vmap
print(os.environ.get("CC"))
try:
    print(vmap(lambda a, b: a + b)(Tensor([1, 2, 3]), Tensor([4, 6, 8])).tolist())
except branded.BrandedError as error:
    print(type(error).__name__, error)
"""

NO_ZIG = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "ziglang" else find(name, *rest)
"""


def run(tmp_path: Path, program: str, **env: str) -> list[str]:
    """Run in a new process with an empty cache and only the system's `sh` on PATH."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "uname"):
        if found := shutil.which(tool):
            (tools / tool).symlink_to(found)
    base = {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "CACHELEVEL": "0"}
    out = subprocess.run(
        [sys.executable, "-c", program], env={**base, **env}, capture_output=True, text=True, check=True, timeout=300
    )
    return out.stdout.splitlines()


def test_ziglang_stands_in_for_clang(tmp_path: Path) -> None:
    cc, result = run(tmp_path, PROGRAM)
    assert cc == str(tmp_path / "cache" / "branded" / "zig-clang")
    assert result == "[5, 8, 11]"
    assert not list((tmp_path / "cache" / "branded").glob("zig-clang.*"))


@pytest.mark.parametrize("device", ["", "CPU"])
def test_without_a_compiler_there_is_one_clear_error(tmp_path: Path, device: str) -> None:
    env = {"DEV": device} if device else {}
    assert run(tmp_path, NO_ZIG + PROGRAM, **env) == [
        "None",
        "CompilerError compiler: tinygrad's CPU device needs a C compiler, and there is no clang here",
        "  looked: the variable CC, clang on PATH, the package ziglang",
        "  try:    pip install 'branded[cc]', or install clang",
    ]


def test_other_devices_need_no_compiler(tmp_path: Path) -> None:
    assert run(tmp_path, NO_ZIG + PROGRAM, DEV="PYTHON") == ["None", "[5, 8, 11]"]


def test_what_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", "/usr/bin/my-clang")
    _cc.choose()
    assert os.environ["CC"] == "/usr/bin/my-clang"
    monkeypatch.delenv("CC")
    clang = tmp_path / "clang"
    clang.write_text("#!/bin/sh\n")
    clang.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    _cc.choose()
    assert "CC" not in os.environ


def test_a_stale_script_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shim = _cc._shim(Path("/old/zig"))
    assert _cc._shim(Path("/new folder/zig")) == shim
    assert shim.read_text() == "#!/bin/sh\nexec '/new folder/zig' clang \"$@\"\n"
