"""`make site`: pages of docs/, a gallery of faults made by execution, a reference, search."""

import json
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.properties import PROPERTIES
from harness.scenarios import default_bank, load_bank
from website.gallery import shown_properties
from website.pages import copy_pages

ROOT = Path(__file__).resolve().parents[1]


def test_no_page_of_the_site_links_out_of_it(tmp_path):
    """What lies elsewhere in the repository is named instead."""
    copy_pages(ROOT / "docs", tmp_path / "pages")
    pages = {page.name: page.read_text() for page in (tmp_path / "pages").glob("*.md")}

    assert "reference.md" in pages
    assert pages["index.md"].startswith("# gradient-skill-harness")  # the README, not a list
    assert "](pages.md)" in pages["index.md"]
    assert "](docs/" not in pages["index.md"]
    assert [name for name, text in pages.items() if "](../" in text] == []


def test_each_property_of_the_gallery_has_a_story():
    """Tests that a scenario brings along are properties of that scenario alone."""
    shown = shown_properties(load_bank(default_bank()))

    assert "clip-before-step" in shown
    assert set(shown) <= set(PROPERTIES)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Built strictly: a link that leads nowhere ends it. Two pages of the gallery stand for all."""
    pytest.importorskip("mkdocs")
    site = tmp_path_factory.mktemp("site")
    made = [sys.executable, "-m", "website", "clip-before-step", "gradients-start-fresh"]
    subprocess.run(made, cwd=ROOT, check=True)
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site


@pytest.mark.full
def test_the_site_has_pictures_numbers_and_a_reference_that_search_finds(built):
    """As somebody who looks for a property would."""
    page = (built / "gallery" / "clip-before-step.html").read_text()
    found = json.loads((built / "search" / "search_index.json").read_text())["docs"]

    assert re.search(r"<svg.*consumed", page, re.DOTALL)
    assert "the clip came after the step" in page
    assert any(one["location"].startswith("reference.html") for one in found)


@pytest.mark.full
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_axe_finds_nothing_on_the_pages_with_code_tables_and_pictures(built, scheme, width):
    """Contrast of every colour of code among it; no page is wider than its window."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    shown = ["index", "pages", "adding", "inspect", "reference", "gallery/clip-before-step"]
    files = partial(Silent, directory=built)
    broken, wide = [], []
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
        for name in shown:
            page.goto(f"http://127.0.0.1:{server.server_port}/{name}.html", timeout=120_000)
            found = Axe().run(page).response["violations"]
            broken += [(name, one["id"], one["nodes"][0]["html"]) for one in found]
            wide += [name] * (page.evaluate("document.documentElement.scrollWidth") > width)
        browser.close()
        server.shutdown()

    assert broken == []
    assert wide == []


class Silent(SimpleHTTPRequestHandler):
    """A server of files that says nothing."""

    def log_message(self, *_):
        """Standard error is for what fails."""
