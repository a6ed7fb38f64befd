"""`make site`: pages of docs/, a gallery of faults made by execution, a reference, search."""

import json
import re
import subprocess
import sys
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
    assert [name for name, text in pages.items() if "](../" in text] == []


def test_each_property_of_the_gallery_has_a_story():
    """Tests that a scenario brings along are properties of that scenario alone."""
    shown = shown_properties(load_bank(default_bank()))

    assert "clip-before-step" in shown
    assert set(shown) <= set(PROPERTIES)


@pytest.mark.full
def test_the_site_is_built_with_every_link_checked(tmp_path):
    """mkdocs is strict: a link that leads nowhere ends it. Two pages of the gallery stand for all."""
    pytest.importorskip("mkdocs")
    made = [sys.executable, "-m", "website", "clip-before-step", "gradients-start-fresh"]
    subprocess.run(made, cwd=ROOT, check=True)
    built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*built, "--site-dir", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    page = (tmp_path / "gallery" / "clip-before-step.html").read_text()
    found = json.loads((tmp_path / "search" / "search_index.json").read_text())["docs"]

    assert done.returncode == 0, done.stderr
    assert re.search(r"<svg.*consumed", page, re.DOTALL)
    assert "the clip came after the step" in page
    assert any(one["location"].startswith("reference.html") for one in found)
