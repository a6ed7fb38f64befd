"""``python -m website``: writes what mkdocs builds from, into build/site-docs."""

import sys
from pathlib import Path

from website.gallery import write_gallery
from website.pages import copy_pages

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    pages = ROOT / "build" / "site-docs"
    copy_pages(ROOT / "docs", pages)
    made = write_gallery(pages / "gallery", sys.argv[1:])
    print(f"{len(made)} pages of the gallery")
