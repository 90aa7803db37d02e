"""Edits of a project of five files: mypy must report the same with a cache, without one, and as a daemon.

    python -m tests.fuzz.edits --programs 20 --seed 7

A program is a project with a series of edits: a comment is added, a body, a signature, a constant or an import changes,
a function moves or gets a decorator, a file is added or removed.  After each edit, the project is checked with the
cache of the last run, without a cache, by a daemon that has seen all edits, and by `branded check`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import itertools
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from mypy import dmypy_server, main
from mypy.fscache import FileSystemCache

from branded.mypy.check import check
from tests.support.warm import CHECK, MYPY, ROOT, STRICT, apart, warm

CONFIG = STRICT.partition("\n# without")[0] + "\n"
"""Options without skipped modules: the daemon searches for skipped files again after each edit."""
BODIES = (
    "return x / 2",
    "return x / x.item()",
    "return -x",
    "y = x * 3\n    return y",
    "return x.sum()",
    "return x * float(x.max().numpy())",
    "if x.ndim > 1:\n        return x\n    return x * 2",
    "if x.sum() > 0:\n        return x\n    return x * 2",
    "return first(x * 2)",
    "return second(x) + 1",
    "return third(x)",
    "return x + SHIFT",
    "kept.append(x)\n    return x",
    "return x.sum(AXIS)",
)


def _reads(body: str) -> bool:
    return any(word in body for word in ("item", "numpy", "if x.sum"))


SIGNATURES = ("x: Tensor", "x: Tensor, k: float = 2.0", "x: Array", "x: Vec[S, Tensor]")
CONSTANTS = {
    "SIZE": ("mid", "4", "3"),
    "SHIFT": ("pkg.deep", "Tensor.ones(SIZE)", "Tensor.ones(SIZE + 1)", "2.0"),
    "AXIS": ("low", "0", "1", "None"),
    "kept": ("mid", "list[Tensor]()", "list[float]()"),
}
"""The globals that bodies, calls and each other use: the module and the values of each."""
NAMES = ("first", "second", "third", "fourth")
MODULES = ("low", "mid", "pkg.deep")
HEADER = """from __future__ import annotations
from typing import Callable, ParamSpec, TypeVar, TypeAlias
from tinygrad import Tensor
from branded import Brand
Array: TypeAlias = Tensor
S = TypeVar("S", bound=Brand)
P = ParamSpec("P")
def same(f: F) -> F:
    return f
def log(f: Callable[P, R]) -> Callable[P, R]:
    return f
"""


@dataclass
class Function:
    """A function in one of the files."""

    name: str
    module: str
    body: str
    signature: str = SIGNATURES[0]
    decorator: str = ""
    comment: str = ""

    def text(self) -> str:
        result = "Vec[S, Tensor]" if "Vec" in self.signature else "Tensor"
        return f"{self.comment}{self.decorator}def {self.name}({self.signature}) -> {result}:\n    {self.body}\n"


CALLS = (
    "vmap(lambda a: first(a))(X)",
    "vmap(second)(X)",
    "vmap(lambda a: third(a * 2))(X)",
    "vmap(lambda a: fourth(a))(X)",
    "vmap(local)(X)",
    "vmap(Net())(X)",
    "vmap(lambda a: low.first(a))(X)",
    "vmap(partial(second))(X)",
    "vmap(partial(held))(X)",
    "vmap(lambda a: a + SHIFT)(X)",
    "vmap(first, in_axes=AXIS)(X)",
    "vmap(lambda a: a.sum(AXIS))(X)",
    "vmap(lambda a: (kept.append(a), a)[1])(X)",
)
APP = """from functools import partial
from tinygrad import Tensor
from branded import vmap
import low
X = Tensor.ones(3, 4)
def local(x: Tensor) -> Tensor:
    return second(x) * 2
class Net:
    def __call__(self, x: Tensor) -> Tensor:
        return self.inner(x)
    def inner(self, x: Tensor) -> Tensor:
        return third(x)
def run(x: Tensor) -> Tensor:
    return vmap(lambda a: local(first(a)))(x)
"""


@dataclass
class Project:
    """The five files: `low`, `mid` and `pkg.deep` with functions, `pkg` that exports some of them, and `app`."""

    random: random.Random
    functions: list[Function] = field(default_factory=list)
    calls: list[str] = field(default_factory=lambda: list(CALLS))
    constants: dict[str, str] = field(default_factory=lambda: {n: values[1] for n, values in CONSTANTS.items()})
    comments: dict[str, int] = field(default_factory=dict)
    typed: set[str] = field(default_factory=set)
    """The files that import `Vec`."""
    has_extra: bool = False

    @classmethod
    def of(cls, seed: int) -> Project:
        p = cls(random.Random(seed))
        p.functions = [Function(n, p.random.choice(MODULES), p.random.choice(BODIES)) for n in NAMES]
        p.functions[0].module = "low"
        return p

    # ---- edits ----

    def edits(self, count: int) -> Iterator[str]:
        """Make `count` random edits, and yield a description of each; a round of 14 contains each kind of edit."""
        kinds = [self.comment, self.signature, self.move, self.decorate, self.extra, self.type_file, self.call]
        for i in range(count):
            if i % 14 == 0:
                order = self.random.sample([*kinds, *[self.body] * 4, *[self.constant] * 3], 14)
            yield order[i % 14]()

    def comment(self) -> str:
        module = self.random.choice((*MODULES, "app", "pkg"))
        self.comments[module] = self.comments.get(module, 0) + 1
        return f"a comment in {module}"

    def some(self) -> Function:
        return self.random.choice(self.functions)

    def body(self) -> str:
        f = self.some()
        f.body = self.random.choice([b for b in BODIES if _reads(b) != _reads(f.body)])
        return f"the body of {f.name}: {f.body!r}"

    def constant(self) -> str:
        name = self.random.choice([*CONSTANTS])
        value = self.random.choice([v for v in CONSTANTS[name][1:] if v != self.constants[name]])
        self.constants[name] = value
        return f"the constant {name}: {value}"

    def signature(self) -> str:
        f = self.some()
        f.signature = self.random.choice(SIGNATURES)
        return f"the signature of {f.name}: {f.signature}"

    def move(self) -> str:
        f = self.some()
        f.module = self.random.choice(MODULES)
        return f"{f.name} moved to {f.module}"

    def decorate(self) -> str:
        f = self.some()
        f.decorator = self.random.choice([d for d in ("", "@same\n", "@log\n") if d != f.decorator])
        return f"the decorator of {f.name}: {f.decorator!r}"

    def extra(self) -> str:
        self.has_extra = not self.has_extra
        return f"the file extra.py: {self.has_extra}"

    def type_file(self) -> str:
        module = self.random.choice(MODULES)
        self.typed ^= {module}
        return f"Vec in {module}: {module in self.typed}"

    def call(self) -> str:
        call = self.random.choice(CALLS)
        self.calls.remove(call) if call in self.calls else self.calls.append(call)
        return f"the call {call}: {call in self.calls}"

    # ---- files ----

    def files(self) -> Iterator[tuple[str, str]]:
        for module in MODULES:
            yield f"{module.replace('.', '/')}.py", self.module(module)
        exports = [f"from pkg.deep import {f.name} as {f.name}" for f in self.functions if f.module == "pkg.deep"]
        yield "pkg/__init__.py", self.commented("pkg") + "\n".join(exports) + "\n"
        if self.has_extra:
            yield "extra.py", "from tinygrad import Tensor\ndef fifth(x: Tensor) -> Tensor:\n    return x / x.item()\n"
        yield "app.py", self.app()

    def commented(self, module: str) -> str:
        return "# a comment\n" * self.comments.get(module, 0)

    def header(self, module: str) -> str:
        vec = "from branded import Vec\n" if module in self.typed or self.has_vec(module) else ""
        return self.commented(module) + HEADER.replace("def same", f"{vec}F = TypeVar('F')\nR = TypeVar('R')\ndef same")

    def has_vec(self, module: str) -> bool:
        return any(f.module == module and "Vec" in f.signature for f in self.functions)

    def module(self, module: str) -> str:
        here = [f for f in self.functions if f.module == module]
        used = [f for f in self.functions if f.module != module and any(f"{f.name}(" in g.body for g in here)]
        imports = [f"from {f.module} import {f.name}\n" for f in used]
        constants = {n: value for n, value in self.constants.items() if CONSTANTS[n][0] == module}
        needed = "".join([*constants.values(), *(f.body for f in here)])
        imports += [f"from {m} import {n}\n" for n, (m, *_) in CONSTANTS.items() if m != module and n in needed]
        held = f"held = {here[0].name}\n" if module == self.functions[0].module else ""  # contains a function
        assigned = [f"{n} = {value}\n" for n, value in constants.items()]
        return "".join([self.header(module), *imports, *assigned, *(f.text() for f in here), held])

    def app(self) -> str:
        imports = [f"from {f.module.partition('.')[0]} import {f.name}\n" for f in self.functions]
        imports.append(f"from {self.functions[0].module} import held\n")
        imports += [f"from {m} import {n}\n" for n, (m, *_) in CONSTANTS.items()]
        calls = [f"y{i} = {call}\n" for i, call in enumerate(self.calls)]
        extra = ["from extra import fifth\n", "vmap(lambda a: fifth(a))(X)\n"] if self.has_extra else []
        return "".join([self.commented("app"), *imports, APP, *calls, *extra])

    def write(self, folder: Path) -> None:
        files = dict(self.files())
        for old in [*folder.glob("*.py"), *folder.glob("pkg/*.py")]:
            if str(old.relative_to(folder)) not in files:
                old.unlink()
        for name, text in files.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            if not file.exists() or file.read_text() != text:
                file.write_text(text)


# ---- runs ----


@apart
def by_mypy(folder: Path, cache: Path) -> list[str]:
    """Return the sorted output of mypy for the project."""
    os.chdir(folder)
    said = io.StringIO()
    with contextlib.suppress(SystemExit):
        main.main(stdout=said, stderr=said, args=["--cache-dir", str(cache), "--show-traceback", "."], clean_exit=True)
    return sorted(said.getvalue().splitlines())


@apart
def by_check(folder: Path, cache: Path) -> list[str]:
    os.chdir(folder)
    return sorted(check(["--config-file=", "--cache-dir", str(cache), "."])[0].splitlines())


class Daemon:
    """The mypy daemon, run in a fork of this process, whose garbage collector would look through its objects."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        fork = get_context("fork")
        self.pipe, there = fork.Pipe()
        self.process = fork.Process(target=self._serve, args=(there,), daemon=True)
        self.process.start()
        there.close()

    def close(self) -> None:
        self.pipe.close()
        self.process.join()

    def __call__(self, export_types: bool = False) -> list[str]:
        said: list[str] = self._ask(export_types)
        return said

    def type_at(self, place: str) -> str:
        """Return the innermost type at `file:line:column`, as `dmypy inspect` shows it."""
        return str(self._ask(place))

    def _ask(self, request: bool | str) -> Any:
        self.pipe.send(request)
        return self.pipe.recv()

    def _serve(self, pipe: Connection) -> None:
        """Answer requests until the other end is closed."""
        self.pipe.close()
        gc.freeze()
        os.chdir(self.folder)
        options = main.process_options(["."], require_targets=False, server_options=True)[1]
        server = dmypy_server.Server(options, str(self.folder / "status.json"))
        with contextlib.suppress(EOFError):
            while True:
                request = pipe.recv()
                if isinstance(request, str):
                    pipe.send(str(server.cmd_inspect("type", request)["out"].splitlines()[0]))
                    continue
                sources = main.process_options(["."], server_options=True, fscache=FileSystemCache())[0]
                said = server.check(sources, export_types=request, is_tty=False, terminal_width=-1)
                pipe.send(sorted(said["out"].splitlines()))


class Wrong(NamedTuple):
    """A run whose output differs from a cold run after an edit."""

    seed: int
    edits: list[str]
    which: str
    said: list[str]
    cold: list[str]

    def __str__(self) -> str:
        differs = [f"  - {m}" for m in self.cold if m not in self.said] + [
            f"  + {m}" for m in self.said if m not in self.cold
        ]
        return "\n".join([f"seed {self.seed}, {self.which}, after {self.edits}", *differs])


def wrong(seed: int, edits: int, daemon: bool = True, every: int = 1) -> Iterator[Wrong]:
    """Yield the runs of one project whose output differs from a cold run after every so many edits."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder, caches, done = Path(name, "project"), Path(name, "caches"), list[str]()
        folder.mkdir()
        (folder / "mypy.ini").write_text(CONFIG)
        project = Project.of(seed)
        project.write(folder)
        warm(caches / "warm", MYPY, CONFIG)
        warm(caches / "check", CHECK)
        runs = {"warm": lambda: by_mypy(folder, caches / "warm")}
        if daemon:
            runs["daemon"] = stack.enter_context(contextlib.closing(Daemon(folder)))
        for i, edit in enumerate(itertools.chain([""], project.edits(edits))):
            done += [edit] if edit else []
            if i % every and i < edits:
                continue
            project.write(folder)
            warm(caches / "cold", MYPY, CONFIG)
            cold = by_mypy(folder, caches / "cold")
            shutil.rmtree(caches / "cold")
            for which, run in runs.items():
                if (said := run()) != cold:
                    yield Wrong(seed, done[:], which, said, cold)
            if i in (0, edits):
                said = by_check(folder, caches / "check")
        warm(caches / "cold", CHECK)
        cold = by_check(folder, caches / "cold")
        if said != cold:
            yield Wrong(seed, done, "branded check", said, cold)


def run_all() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.edits", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=10, help="projects (default 10)")
    parser.add_argument("--edits", type=int, default=14, help="edits of each (default 14)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="the seed of the first")
    args = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as root:
        os.environ.setdefault(ROOT, root)
        for seed in range(args.seed, args.seed + args.programs):
            for w in wrong(seed, args.edits):
                print(w, flush=True)
                count += 1
            print(f"seed {seed} is done", flush=True)
    print(f"{count} runs of {args.programs * (args.edits + 1)} checks are wrong")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(run_all())
