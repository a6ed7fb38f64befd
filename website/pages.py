"""Pages of ``docs/`` as a site can show them."""

import re
import shutil
from pathlib import Path

_LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)]*)\)")

ASSETS = [Path(__file__).with_name(name) for name in ("gallery.css", "access.js")]

REFERENCE = """# Reference

What is imported from `harness` is documented here and stays.

::: harness.interface.Grader

::: harness.interface.check

::: harness.interface.compare

::: harness.scenarios.load_bank

::: harness.transcripts.read
"""


def copy_pages(docs: Path, into: Path) -> None:
    """All of them behind the README; a link out of ``docs/`` becomes the name of the file that it
    leads to.
    """
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(docs, into)
    (into / "index.md").rename(into / "pages.md")
    first = (
        (docs.parent / "README.md").read_text(encoding="utf-8").replace("docs/index.md", "pages.md")
    )
    (into / "index.md").write_text(first.replace("](docs/", "]("), encoding="utf-8")
    for page in into.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        text = _LINK.sub(_named, text.replace("](index.md)", "](pages.md)"))
        page.write_text(text, encoding="utf-8")
    for asset in ASSETS:
        shutil.copy(asset, into)
    (into / "reference.md").write_text(REFERENCE, encoding="utf-8")


def _named(link: re.Match[str]) -> str:
    said = link[1].strip("`")
    file = link[2].partition("#")[0].removeprefix("../")
    return f"{said} (`{file}`)" if said != file else f"`{file}`"
