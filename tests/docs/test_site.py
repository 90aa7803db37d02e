"""Test that the site builds without warnings, has no broken links or pictures, and loads nothing from other hosts."""

from __future__ import annotations

import importlib.util
import re
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import DEFAULT_OPTIONS
from playwright.sync_api import Browser, expect
from playwright.sync_api import Page as BrowserPage

import branded
from tests.learn.explorer.reading import COLOURS, Reader, access
from tests.support.browser import chromium as chromium
from tests.support.profiles import amount
from tests.support.site import REPOSITORY, SITE, built

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

if importlib.util.find_spec("material") is None or importlib.util.find_spec("mkdocstrings") is None:
    pytest.skip("the site is made by mkdocs: pip install 'branded[docs]'", allow_module_level=True)


@dataclass
class Page(HTMLParser):
    """The anchors of a page, its links, and the files that a browser loads for it."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    navigation: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = {name: value or "" for name, value in attrs}
        self.ids |= {a[name] for name in ("id", "name") if name in a and tag != "meta"}
        if tag == "a" and "href" in a:
            self.links.append(a["href"])
            if "md-nav__link" in a.get("class", ""):
                self.navigation.add(a["href"])
        elif tag == "link" and a.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(a.get("href", ""))
        elif tag in {"script", "img", "iframe", "source", "video", "object", "embed"}:
            self.loads += [a[name] for name in ("src", "data") if name in a]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


pytestmark = pytest.mark.browser  # also where it only reads the site: building it takes 20 s


@pytest.fixture(scope="module")
def site() -> Path:
    return built()


COLOURED = re.compile(r'<span class="\w+">|</span>')
"""The tags of syntax highlighting: half of each page, without names or links."""


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found: dict[Path, Page] = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = Page()
        found[path].feed(COLOURED.sub("", path.read_text(encoding="utf-8")))
    return found


def is_elsewhere(link: str) -> bool:
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def target_of(page: Path, link: str) -> Path:
    path = unquote(urlsplit(link).path)
    target = (page.parent / path).resolve() if path else page
    return target / "index.html" if target.is_dir() else target


def broken(page: Path, link: str, pages: dict[Path, Page]) -> str | None:
    """Return a message if a link is broken."""
    target, anchor = target_of(page, link), unquote(urlsplit(link).fragment)
    if not target.exists():
        return f"{page.name}: {link}: there is no such file"
    if anchor and target in pages and anchor not in pages[target].ids:
        return f"{page.name}: {link}: there is no such anchor"
    return None


def test_no_link_is_broken(pages: dict[Path, Page]) -> None:
    wrong = [
        said
        for path, page in pages.items()
        if path.name != "404.html"  # hosts serve this page at any address, so its links start at the root
        for link in page.links
        if link and not is_elsewhere(link) and (said := broken(path, link, pages))
    ]
    assert wrong == []


def test_pages_load_only_local_files(pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for load in page.loads:
            if load.startswith("data:"):
                continue
            assert not is_elsewhere(load), f"{path.name} asks another host: {load}"
            assert path.name == "404.html" or target_of(path, load).exists(), f"{path.name}: {load}"


def test_styles_and_pictures_load_locally(site: Path) -> None:
    for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = path.read_text(encoding="utf-8")
        loads = re.findall(r"url\(['\"]?([^'\")]+)|@import ['\"]([^'\"]+)|(?:xlink:)?href=['\"]([^'\"]+)", text)
        away = [load for found in loads for load in found if is_elsewhere(load) and not load.startswith("data:")]
        assert away == [], path.name


def test_no_page_has_a_mermaid_diagram(pages: dict[Path, Page], site: Path) -> None:
    """The theme loads mermaid from another host for pages with a diagram."""
    script = next(site.glob("assets/javascripts/bundle.*.min.js")).read_text(encoding="utf-8")
    hosts = set(re.findall(r"https://unpkg\.com/([a-z-]+)", script))
    assert hosts <= {"mermaid", "resize-observer-polyfill"}  # the polyfill is for browsers from before 2020
    for path in pages:
        assert 'class="mermaid"' not in path.read_text(encoding="utf-8"), path.name


def test_navigation_lists_every_page(pages: dict[Path, Page], site: Path) -> None:
    named = {target_of(site / "index.html", link) for link in pages[site / "index.html"].navigation}
    wanted = {site / path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert sorted(path.name for path in wanted - named - {site / "index.html"}) == []


HEAVIEST = 310_000
"""The most bytes of HTML that a page may have: a phone loads them in a second."""


def test_page_size_limit(pages: dict[Path, Page], site: Path) -> None:
    sizes = {path.relative_to(site).as_posix(): path.stat().st_size for path in pages}
    sizes.pop("explorer/index.html", None)  # the explorer contains a program and its data
    assert {name: size for name, size in sizes.items() if size > HEAVIEST} == {}


SIGNATURE = re.compile(r'<div class="[^"]*doc-signature[^"]*">(.*?)</div>', re.DOTALL)


def test_api_signatures_have_types(site: Path) -> None:
    """The pages show the signature of an overload, since the function itself takes and returns `Any`."""
    shown = [
        " ".join(unescape(re.sub(r"<[^>]+>", "", signature)).split())
        for path in sorted((site / "reference/api").glob("*.html"))
        for signature in SIGNATURE.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(shown) > 200
    assert "psum(x: Vec[S | B, T], axis_name: type[B]) -> Vec[S, T]" in shown
    typed = [re.sub(r"\*+\w+: Any|(initializer|mutable): Any", "", text) for text in shown]
    assert [text for text in typed if re.search(r"\w: Any\b(?! \|)", text)] == []


def test_api_page_lists_every_public_name(site: Path) -> None:
    """Other names of a function, such as `remat`, are in the list too; the errors have a page of their own."""
    listed = set(re.findall(r"<code>([\w.]+)</code></a>", (site / "reference/api.html").read_text(encoding="utf-8")))
    names = {name for name in branded.__all__ if not isinstance(getattr(branded, name), ModuleType)}
    assert names - listed == {"BrandedError"}


def test_no_markdown_is_left_in_pages(pages: dict[Path, Page], site: Path) -> None:
    """No Markdown is left in the text, as there would be if a fold or table were not converted."""
    for path in pages:
        if path.is_relative_to(site / "explorer") or path.is_relative_to(site / "source"):
            continue
        text = re.sub(r"<(pre|code|script|style|svg)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.S)
        words = re.sub(r"<[^>]*>", "", text)
        assert "```" not in words and "**" not in words, path.name
        assert not re.search(r"^\|.*\|$|^\s*[-*] |\]\(", words, re.M), path.name


def test_link_previews_and_sitemap(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    assert f'<meta property="og:image" content="{SITE}pictures/card.png">' in text
    assert '<meta property="og:title" content="branded">' in text
    assert f'href="{REPOSITORY}"' in text and f"branded {branded.__version__}" in text
    width, height = struct.unpack(">II", (site / "pictures/card.png").read_bytes()[16:24])
    assert (width, height) == (1200, 630)
    links = re.findall(r"<loc>(.*?)</loc>", (site / "sitemap.xml").read_text(encoding="utf-8"))
    assert len(links) > 40
    assert [x for x in links if not (site / x.removeprefix(SITE)).exists()] == []


# ---- in a browser, from files ----


@pytest.fixture(scope="module")
def window(chromium: Browser) -> BrowserPage:
    """Return a browser page that all tests share: opening a page takes longer than a test."""
    page = chromium.new_page(reduced_motion="reduce")
    page.set_default_timeout(120_000)  # the machine may be busy
    return page


@pytest.fixture
def page(window: BrowserPage) -> Iterator[BrowserPage]:
    window.set_viewport_size({"width": 1280, "height": 800})
    yield window
    window.goto("about:blank")


def test_pages_fit_screen_without_errors(page: BrowserPage, site: Path) -> None:
    here = Reader(page)
    for name in (
        "index",
        "gallery",
        "gallery/zip-for-outer",
        "puzzles",
        "course/3-axes-trees-nesting",
        "reference/api/core",
        "reference/operations",
    ):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto((site / f"{name}.html").as_uri())
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
            assert page.evaluate("[...document.images].every(x => x.naturalWidth > 0)"), (name, width)
    here.close()
    assert here.wrong == [] and here.asked and here.elsewhere("file:") == []


@pytest.mark.parametrize(
    "name",
    [
        *("index", "gallery", "course/1-map-and-vmap", "reference/api/core", "source/examples/nbody.py"),
        *amount((), ("gallery/if-on-an-example", "errors", "puzzles", "axes", "configuration", "trust")),
    ],
)
def test_accessibility_rules(page: BrowserPage, site: Path, name: str) -> None:
    """Apply the rules of axe-core, without one: the theme marks each copy button as a landmark with the same name.

    The dark scheme differs only in colours, so only the colour rules apply; a phone must be able to scroll wide tables.
    """
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto((site / f"{name}.html").as_uri())
    narrow = access(page, {"runOnly": ["scrollable-region-focusable"]})
    assert narrow.violations_count == 0, narrow.generate_report()
    page.set_viewport_size({"width": 1280, "height": 800})
    for scheme, options in (
        ("default", {**DEFAULT_OPTIONS, "rules": {"landmark-unique": {"enabled": False}}}),
        ("slate", COLOURS),
    ):
        page.evaluate("x => document.body.setAttribute('data-md-color-scheme', x)", scheme)
        found = access(page, options)
        assert found.violations_count == 0, scheme + found.generate_report()
        assert "color-contrast" in {rule["id"] for rule in found.response["passes"]}


def test_the_slides_fit_and_are_moved_by_keys(page: BrowserPage, site: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto((site / "slides.html").as_uri())
    slides = page.locator("section")
    assert slides.count() == 12 == slides.locator("h1, h2").count()
    assert slides.evaluate_all("all => all.map((x) => Math.round(x.getBoundingClientRect().height))") == [720] * 12
    assert page.evaluate("[...document.images].every((x) => x.naturalWidth > 0)")
    for key, number in [
        ("ArrowRight", 2),
        ("PageDown", 3),
        ("ArrowLeft", 2),
        ("End", 12),
        ("Home", 1),
        ("ArrowLeft", 1),
    ]:
        page.keyboard.press(key)
        page.wait_for_function(f"document.activeElement.id === 'slide-{number}' && scrollY === {720 * (number - 1)}")
    found = access(page, DEFAULT_OPTIONS)
    assert found.violations_count == 0, found.generate_report()
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_animation_respects_less_motion(chromium: Browser, site: Path, motion: Any) -> None:
    page = chromium.new_page(reduced_motion=motion)
    page.goto((site / "pictures/outer-filling.svg").as_uri())
    names = page.evaluate("[...document.querySelectorAll('.filled')].map((x) => getComputedStyle(x).animationName)")
    delays = page.evaluate("[...document.querySelectorAll('.filled')].map((x) => parseFloat(x.style.animationDelay))")
    assert names == ["none" if motion == "reduce" else "fill"] * 9
    assert delays == [0.5 * k for k in range(9)]  # row by row, and done before five seconds
    page.goto((site / "course/2-zip-or-outer.html").as_uri())
    page.locator("img[src$='outer-filling.svg']").scroll_into_view_if_needed()
    assert page.get_by_role("button", name="Play again").count() == (motion != "reduce")
    page.close()


def test_dark_scheme_changes_only_colours(site: Path) -> None:
    """Our dark styles set only colours, and no page has pictures that the theme shows in one scheme only."""
    for style in (DOCS / "stylesheets").glob("*.css"):
        for rule in re.findall(r"slate[^{]*\{([^}]*)\}", style.read_text(encoding="utf-8")):
            assert re.fullmatch(r"\s*((--[\w-]+-color|color): [^;]+;\s*)+", rule), rule
    for path in site.rglob("*.html"):
        assert "#only-" not in path.read_text(encoding="utf-8"), path.name


def test_page_shows_reading_time(pages: dict[Path, Page], site: Path) -> None:
    for name in ("course/1-map-and-vmap", "speed", "applications/hmc", "gallery"):
        said = re.search(
            r"([\d,]+) words and (\d+) lines of code, about (\d+) minutes?", "".join(pages[site / f"{name}.html"].text)
        )
        assert said is not None, name
        words, lines, minutes = (int(x.replace(",", "")) for x in said.groups())
        assert 100 < words < 5000 and abs(minutes - words / 200 - lines / 20) <= 1, name


SEARCHED = {
    "ppermute": ("collectives", "reference/api/collectives"),
    "autotune": ("tuning",),
    "silent": ("gallery", "index", "reference/from-jax"),
    "batch size": ("glossary", "memory", "course/3-axes-trees-nesting"),
    "command line": ("cli",),
    "environment variable": ("configuration",),
    "broadcasting": ("course/2-zip-or-outer", "course/4-types", "glossary", "cheatsheet"),
    "pytree": ("trees", "glossary"),
    "memory limit": ("memory",),
    "per-example gradient": ("derivatives",),
    "in_axes": ("reference/api/core", "cheatsheet", "course/3-axes-trees-nesting"),
}
"""Search words, each with pages: at least one of them must be among the first three results."""


def test_search_works_from_a_file(page: BrowserPage, site: Path) -> None:
    """A page opened from a file cannot load the index or start a worker: they are a script and a frame.

    The page stays open for all words, since building the index takes a second.
    """
    results = page.locator(".md-search-result__item > a")
    for i, (words, wanted) in enumerate(SEARCHED.items()):
        if i == 0:
            page.goto(f"{(site / 'index.html').as_uri()}?q={quote(words)}")
        else:
            for text in ("", words):
                page.fill(".md-search__input", text)
                page.press(".md-search__input", "End")  # the theme waits for a key
                expect(results).to_have_count(0) if not text else None
        results.first.wait_for(state="attached", timeout=20_000)
        found = results.evaluate_all("links => links.slice(0, 3).map(a => a.href)")
        pages = [link.partition("#")[0].partition("?")[0].removesuffix(".html") for link in found]
        assert any(link.endswith(wanted) for link in pages), (words, pages)


def test_copied_session_runs(page: BrowserPage, site: Path) -> None:
    """The style for text that is being copied hides prompts and results."""
    page.goto((site / "index.html").as_uri())
    copied = page.evaluate(
        "() => { const x = document.querySelector('.highlight code'); x.setAttribute('data-md-copying', '');"
        " return x.innerText }"
    )
    assert copied.startswith("from tinygrad import Tensor\nfrom branded import vmap\n") and "[5, 8, 11]" not in copied
    exec(compile(copied, "copied", "exec"), {})


def test_first_page_switches_zip_and_outer(page: BrowserPage, site: Path) -> None:
    page.goto((site / "index.html").as_uri())
    panels = page.locator(".one-vmap"), page.locator(".two-vmaps")
    assert [x.is_visible() for x in panels] == [True, False]
    page.get_by_label("one vmap: zip").focus()
    page.keyboard.press("ArrowRight")
    assert [x.is_visible() for x in panels] == [False, True]
    page.get_by_text("one vmap: zip").click()
    assert [x.is_visible() for x in panels] == [True, False]


def test_gallery_filter_with_and_without_scripts(page: BrowserPage, chromium: Browser, site: Path) -> None:
    index, count = (site / "gallery.html").as_uri(), len(list((DOCS / "gallery").iterdir()))
    mistakes = "td:first-child a[href^='gallery/']"
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(index)
    assert page.locator(mistakes).evaluate_all("x => x.filter(a => a.offsetParent).length") == count
    page.get_by_label("Found by").focus()
    page.keyboard.press("End")  # `End` selects "not detected"
    few = page.locator(mistakes).evaluate_all("x => x.filter(a => a.offsetParent).map(a => a.textContent)")
    assert 0 < len(few) < count and "Wrong in_axes on a square matrix" in few
    assert "One vmap does not give all pairs" not in few
    assert page.locator("output").inner_text() == f"{len(few)} of {count} mistakes"
    assert not page.locator("#collectives + p").is_hidden() and page.locator("#reading-values + p").is_hidden()
    page.goto(f"{index}?uses=grad&kind=Gradients&found=none-such")  # an address with filters, as in a link
    assert page.locator("output").inner_text().startswith("3 of")
    page.get_by_role("button", name="Show all").press("Enter")
    page.wait_for_function(f"document.querySelector('output').value.startsWith('{count} of')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    plain = chromium.new_page(java_script_enabled=False)
    plain.goto(index)
    assert plain.locator(f"{mistakes}:visible").count() == count and plain.locator("form.narrow").count() == 0
    plain.close()


def test_missing_page_links_home(page: BrowserPage, site: Path) -> None:
    """Serve the page below a folder of a host, at two depths, and open it as a file."""

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            inside = path.partition("?")[0].removeprefix("/docs/branded/")
            return str(site / inside) if path.startswith("/docs/branded/") else str(site / "not-there")

        def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
            self.send_response(code)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write((site / "404.html").read_bytes())

        def log_message(self, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/docs/branded/"
        for path in ("nothing.html", "course/deeper/nothing.html"):
            page.goto(base + path)
            page.wait_for_function(f"document.getElementById('home').href === '{base}index.html'")
        page.click("#home")
        page.wait_for_function("document.title === 'branded'")
        server.shutdown()
    page.goto((site / "404.html").as_uri())
    page.click("#home")
    page.wait_for_function("document.title === 'branded'")
