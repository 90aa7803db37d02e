"""Hooks that adapt the pages, which GitHub also shows, to the site. MkDocs calls the functions `on_…`.

A link may lead out of docs/, to code or to another page of the repository. The target then becomes a page of the site,
so that the site is complete.
"""

from __future__ import annotations

import gc
import importlib
import json
import posixpath
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import griffe
from mkdocs.structure.files import File, Files, InclusionLevel

import branded
from branded.explain import html
from branded.learn.explorer import runtime
from branded.learn.puzzles.expected import key

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = "source"
"""The folder of the site for files outside of docs/."""

PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Files of the repository that the navigation names."""
GALLERY = "gallery.md"
REPORTS = "upstream/index.md"
SLIDES = "slides.html"
"""The template of a deck of slides."""
API = "reference/api.md"
RUN = Path(__file__).parent / "javascripts" / "run"

LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#|/)([^)\s#]*)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^( *)(```+)(.*?)^\1\2", re.MULTILINE | re.DOTALL)
PREDICTION = re.compile(r"^### (\d+)\. .*\n\n`(.+)`$", re.MULTILINE)
"""The solution of a puzzle that asks for a prediction."""
LANGUAGES = {".py": "python", ".pyi": "python", ".toml": "toml", ".ini": "ini", ".json": "json", ".txt": "text"}


def on_config(config: Any) -> Any:
    """Put the version into the footer of each page, and the mistakes of the gallery into the navigation."""
    gc.set_threshold(100_000, 50, 1000)  # a tenth of the time
    config.copyright = f"branded {branded.__version__}, MIT licence"
    config.nav = with_mistakes(config.nav)
    return config


def with_mistakes(nav: Any) -> Any:
    """Return the navigation with subsections for the mistakes of the gallery and for the reports to tinygrad."""
    if isinstance(nav, list):
        return [with_mistakes(entry) for entry in nav]
    if isinstance(nav, dict):
        return {title: with_mistakes(entry) for title, entry in nav.items()}
    if nav == GALLERY:
        kinds = re.split(r"^## (.*)\n", (ROOT / "docs" / GALLERY).read_text(), flags=re.MULTILINE)[1:]
        listed = [
            {kind: pages}
            for kind, text in zip(kinds[::2], kinds[1::2], strict=True)
            if (pages := re.findall(r"\]\((gallery/[\w-]+\.md)\)", text))
        ]
        return {title_of(GALLERY): [GALLERY, *listed]}
    if nav == REPORTS:
        reports = sorted((ROOT / "docs" / "upstream").glob("[0-9]*.md"))
        return {title_of(REPORTS): [REPORTS, *(f"upstream/{path.name}" for path in reports)]}
    return nav


def public_names() -> str:
    """Return a list of every public name with a link, in the order of the pages of the API."""
    modules = {"branded": branded, "debug": branded.debug, "dispatch": branded.dispatch, "dask": branded.dask}
    modules |= {name: x for name in branded.__all__ if isinstance(x := getattr(branded, name), ModuleType)}
    lines = []
    for page in re.findall(r"\]\((api/[\w-]+\.md)\)", (ROOT / "docs" / API).read_text()):
        links = []
        for path in re.findall(r"^::: (\S+)$", (ROOT / "docs/reference" / page).read_text(), re.MULTILINE):
            module, _, name = path.rpartition(".")
            x = getattr(importlib.import_module(module), name)
            where = next((short for short, at in modules.items() if vars(at).get(name) is x), "branded")
            aliases = [n for n in branded.__all__ if n != name and vars(branded)[n] is x]  # such as `remat`
            for shown in (name if where == "branded" else f"{where}.{name}", *aliases):
                links.append(f"[`{shown}`]({page}{'' if path == 'branded.errors' else f'#{path}'})")
        lines.append(f"- {title_of(f'reference/{page}')}: {', '.join(links)}\n")
    return "".join(lines)


def title_of(page: str) -> str:
    """Return the first heading of a page."""
    return (ROOT / "docs" / page).read_text().partition("\n")[0].removeprefix("# ")


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each file of the repository that a page links to, and for those that these link to."""
    texts = {f"docs/{f.src_uri}": Path(f.abs_src_path).read_text() for f in files.documentation_pages()}
    todo = [*PROJECT, *(target for path, text in texts.items() for target in outside(path, text))]
    known: set[str] = set()
    while todo:
        path = todo.pop()
        if path not in known:
            known.add(path)
            text = page_of(path)
            files.append(File.generated(config, place(path), content=text, inclusion=InclusionLevel.NOT_IN_NAV))
            todo.extend(outside(path, text) if path.endswith(".md") else ())
    files.append(File.generated(config, "javascripts/run.js", content=running()))
    return files


def running() -> str:
    """Return the script that runs blocks and puzzles in their pages, with the parts shared with the explorer."""
    shared = html.scripts("dom", "cells", "python")
    own = "\n".join(
        path.read_text() for path in [RUN / f"{name}.js" for name in ("page", "blocks", "puzzles", "start")]
    )
    return f'(() => {{\n"use strict";\nconst PARTS = {json.dumps(runtime.parts())};\n{shared}\n{own}}})();\n'


def on_page_content(text: str, page: Any, config: Any, files: Files) -> str:
    """Replace empty column headers by cells, for screen readers, and add the solutions' key to the page of puzzles."""
    text = re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", text)
    if page.meta.get("template") == SLIDES:
        return slides(text)
    if page.file.src_uri != "puzzles.md":
        return text
    predictions = dict(PREDICTION.findall((ROOT / "docs" / "solutions.md").read_text()))
    wanted = [{"right": predictions.get(str(each["number"])), **each} for each in key()]
    right = json.dumps(wanted).replace("<", "\\u003c")
    return f'{text}<script type="application/json" id="puzzle-key">{right}</script>'


def slides(text: str) -> str:
    """Return a deck: a section for each part between two rules."""
    text = re.sub(r'<a id="__codelineno[^>]*></a>', "", text)
    parts = re.split(r"<hr ?/?>", text)
    attributes = 'id="slide-{0}" tabindex="-1" aria-label="Slide {0} of {1}" data-number="{0} / {1}"'
    sections = [f"<section {attributes.format(i, len(parts))}>{part}</section>" for i, part in enumerate(parts, 1)]
    return "\n".join(sections)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Adapt links, mark Python sessions, and enable Markdown inside of folds."""
    where = page.file.src_uri
    if where.startswith("gallery/"):
        page.meta["hide"] = ["toc"]  # it has no headings, and its programs are wide
    if where.startswith(("gallery/", "upstream/")):
        page.meta["search"] = {
            "boost": 0.1
        }  # there are many of these, and a term that they share has a page of its own
    if where == "glossary.md":
        page.meta["search"] = {"boost": 3}
    if where == API:
        markdown += f"\n## All names\n\n{public_names()}"
    path = where.removeprefix(f"{OUTSIDE}/") if where.startswith(f"{OUTSIDE}/") else f"docs/{where}"
    if not (ROOT / path).is_dir():
        markdown = beside_code(markdown, lambda text: LINK.sub(lambda m: moved(m, path, where), text))
    markdown = re.sub(r"^( *)```python\n(?=\1>>> )", r"\1```pycon\n", markdown, flags=re.MULTILINE)
    markdown = beside_code(markdown, readable)
    if (
        where.startswith(("gallery/", f"{OUTSIDE}/", "reference/"))
        or where == "index.md"
        or page.meta.get("template") == SLIDES
    ):
        return markdown
    return re.sub(r"^# .*$", lambda head: f"{head[0]}\n\n{reading(markdown)}", markdown, count=1, flags=re.MULTILINE)


def reading(markdown: str) -> str:
    """Return the reading time of a page: 200 words of text per minute, and three seconds per line of code."""
    words, lines = len(FENCE.sub("", markdown).split()), sum(b[0].count("\n") - 1 for b in FENCE.finditer(markdown))
    minutes = max(1, round(words / 200 + lines / 20))
    unit = "minute" if minutes == 1 else "minutes"
    return f"{words:,} words and {lines} lines of code, about {minutes} {unit}\n{{: .reading }}"


def readable(text: str) -> str:
    """Adapt syntax that Python-Markdown reads differently from GitHub: folds, and bars in code in a table."""
    text = re.sub(r"^( *)<details>", r'\1<details markdown="1">', text, flags=re.MULTILINE)
    rows = re.compile(r"^\|.*\|$", re.MULTILINE)
    return rows.sub(lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace(r"\|", "|"), row[0]), text)


def beside_code(markdown: str, change: Any) -> str:
    """Change the text outside of code blocks."""
    out, at = [], 0
    for block in FENCE.finditer(markdown):
        out += [change(markdown[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*out, change(markdown[at:])])


def target_of(path: str, link: str) -> str:
    """Return the target of a link in the page `path`, relative to the root of the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def outside(path: str, text: str) -> list[str]:
    """Return the files and folders outside of docs/ that a page links to."""
    found: list[str] = []
    beside_code(text, lambda part: found.extend(target_of(path, m[1]) for m in LINK.finditer(part) if m[1]) or part)
    return [t for t in found if not is_inside(t) and not t.startswith("..") and (ROOT / t).exists()]


def is_inside(path: str) -> bool:
    """Return whether a file of the repository is already a page or an asset of the site."""
    return path.startswith("docs/") and not path.endswith(".py")


def place(path: str) -> str:
    """Return the page of the site for a file of the repository."""
    if is_inside(path):
        return path.removeprefix("docs/")
    return f"{OUTSIDE}/{path}" if path.endswith(".md") else f"{OUTSIDE}/{path}.md"


def moved(link: re.Match[str], path: str, where: str) -> str:
    """Return a link of the file `path`, which is the page `where` of the site."""
    target, anchor = link[1], link[2] or ""
    if not target:
        return anchor
    target = target_of(path, target)
    if target.startswith("..") or not (ROOT / target).exists():
        return link[0]  # MkDocs says that it is broken
    if (line := re.fullmatch(r"#L(\d+)(-L\d+)?", anchor)) is not None:
        anchor = f"#__codelineno-0-{line[1]}"
    return posixpath.relpath(place(target), posixpath.dirname(where) or ".") + anchor


def page_of(path: str) -> str:
    """Return the page for a file or folder of the repository."""
    hidden = "---\nsearch:\n  exclude: true\n---\n\n"
    if (ROOT / path).is_dir():
        names = sorted(p.name for p in (ROOT / path).iterdir() if p.suffix in {".md", *LANGUAGES})
        return f"{hidden}# `{path}`\n\n" + "".join(f"- `{name}`\n" for name in names)
    text = (ROOT / path).read_text()
    if path.endswith(".md"):
        return hidden + text
    if path.endswith(".ipynb"):
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        shown = [f"````python\n{source}\n````" if kind == "code" else source for kind, source in cells]
        return hidden + "\n\n".join([f"*The notebook `{path}`.*", *shown]) + "\n"
    language = LANGUAGES.get(posixpath.splitext(path)[1], "text")
    return f'{hidden}# `{path}`\n\n````{language} linenums="1"\n{text.rstrip()}\n````\n'


class Docstrings(griffe.Extension):
    """Show docstrings and signatures of the API as a reader needs them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Name the example as the parser does, and emphasize the source."""
        if obj.docstring is not None:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r"^Source: ", "**Source:** ", text, flags=re.MULTILINE)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Give an overloaded function the types of its plainest overload; its own parameters are `Any`."""
        if any(f"{d.value}" == "hide_unknown" for d in func.decorators):
            for p in [p for p in func.parameters if p.kind in VARIADIC]:
                del func.parameters[p.name]
        own = [*func.parameters]
        overloads = [o for o in func.overloads or () if is_plain(o.parameters, own)]
        if not overloads:
            return
        shown = min(overloads, key=lambda o: len(HELPERS.findall(f"{[*map(annotation, o.parameters)]} {o.returns}")))
        for p, typed in zip(own, shown.parameters, strict=True):
            if typed.required and p is own[0]:
                p.default = None  # of a decorator that may be called with options alone
            if p.required or "Any" in annotation(p):  # else its own type has more than one Literal
                p.annotation = typed.annotation
        func.returns = shown.returns


def is_plain(overload: griffe.Parameters, own: list[griffe.Parameter]) -> bool:
    """Return whether an overload has all parameters of its function, and those that are flags are off by default."""
    flags = {p.name for p in own if p.default == "False"}
    return [p.name for p in overload] == [p.name for p in own] and not any(overload[x].required for x in flags)


VARIADIC = {griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword}
HELPERS = re.compile(r"\b(Any|Only|Rest|Without|_\w+)\b")
"""Types that say nothing to a reader: `Any`, and those that only a type checker evaluates."""


def annotation(parameter: griffe.Parameter) -> str:
    """Return the type of a parameter as text."""
    return str(parameter.annotation or "")
