"""Make the picture that previews show for links to the site: `python docs/card.py`, with Chromium."""

from __future__ import annotations

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
PAGE = """<!doctype html><style>
body {{ margin: 0; width: 1200px; height: 630px; background: #1a237e; color: #fff }}
body {{ font: 34px/1.35 system-ui, sans-serif }}
main {{ padding: 52px 64px }}
h1 {{ font-size: 84px; margin: 0 }}
p {{ margin: 10px 0 36px; color: #dfe3ff }}
svg {{ width: 760px; height: auto }}
</style><main><h1>branded</h1>
<p>A type-directed vmap for tinygrad:<br>batching mistakes are found before anything runs.</p>{picture}</main>"""


def main() -> None:
    """Two vmaps, as the first page shows them, under the name."""
    picture = (PICTURES / "outer-cells.svg").read_text(encoding="utf-8")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 630})
        page.set_content(PAGE.format(picture=picture))
        page.screenshot(path=str(PICTURES / "card.png"))
        browser.close()


if __name__ == "__main__":
    main()
