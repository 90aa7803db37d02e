"""Simulate another tinygrad: the installed one with private names renamed, as in a future version.

`python -m tests.tinygrad_compat.renamed NAME ...` imports branded on it, tries the features, and prints their states;
`branded/tinygrad_compat/private_api.py` lists the names. With `--each 0 1` it does so for each name in turn,
from the name 0 and in steps of 1.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

from tests.tinygrad_compat.door import ROOT, door


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module of tinygrad with `x` replaced by `x_renamed` for each of some names."""

    names: tuple[str, ...] = ()

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        text = self.get_data(path).decode()
        for name in self.names:
            text = re.sub(rf"(?<!\w){name}(?!\w)", f"{name}_renamed", text)
        return self.source_to_code(text.encode(), path)


class Finder:
    """Finds tinygrad's modules for `Loader`; a module may be renamed too."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> Any:
        if name.partition(".")[0] != "tinygrad":
            return None
        if plain(name) in Loader.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        spec = importlib.machinery.PathFinder.find_spec(name.removesuffix("_renamed"), path, target)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return spec
        within = spec.submodule_search_locations
        loader = Loader(name, spec.origin)
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=loader, submodule_search_locations=within
        )


def plain(name: str) -> str:
    """Return the last part of a name of the table."""
    return str(name).rpartition(".")[2]


def outcome(*names: str, only: Sequence[str] = (), **environment: str) -> dict[str, Any]:
    """Import branded where these names are renamed; return its warnings, and the state of each feature."""
    words = [
        sys.executable,
        "-m",
        "tests.tinygrad_compat.renamed",
        "--json",
        *names,
        *(f"--{feature}" for feature in only),
    ]
    # compile workers would import the unchanged tinygrad, and other devices have long sources
    env = {**os.environ, "PARALLEL": "0", "DEV": "CPU", **environment}
    run = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"error": run.stderr.strip().splitlines()[-1]}
    found: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return found


def tried(*names: str, only: Sequence[str] = ()) -> dict[str, Any]:
    """Like `outcome`, in this process, which has not imported tinygrad."""
    Loader.names = tuple({plain(name) for name in names})
    sys.meta_path.insert(0, Finder())
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            importlib.import_module("branded")
        except ImportError as error:
            return {"raised": type(error).__name__, "message": str(error)}
    doctor: Any = importlib.import_module("branded.tools.doctor")
    for feature in only and set(doctor.PROBES).difference(only):
        del doctor.PROBES[feature]
    return {"warned": [str(w.message) for w in warned], "found": {f.feature: f[1:3] for f in doctor.findings()}}


def main() -> None:
    words = sys.argv[1:]
    if words[0] == "--each":
        for name in list(door().NAMES)[int(words[1]) :: int(words[2])]:
            print(name, json.dumps(outcome(name)), flush=True)
    elif words[0] == "--json":
        only = [word.removeprefix("--") for word in words[1:] if word.startswith("--")]
        print(json.dumps(tried(*(word for word in words[1:] if not word.startswith("--")), only=only)))
    else:
        found = tried(*words)
        print(*(f"{key}: {value}" for key, value in found.items()), sep="\n")


if __name__ == "__main__":
    main()
