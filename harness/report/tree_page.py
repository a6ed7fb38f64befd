"""The page of all modules, written from the first sentence of each."""

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from harness.syntax import tree_of

ORDER = (
    "__init__.py",
    "__main__.py",
    "cli",
    "interface.py",
    "runner.py",
    "regrading.py",
    "workbench.py",
    "checking",
    "quality",
    "agents",
    "rubric",
    "sandbox",
    "oracle",
    "report",
    "store",
    "llm",
    "workloads",
    "comparison",
    "extraction",
    "skills",
    "scenarios",
    "transcripts",
    "markdown.py",
    "properties",
    "domain",
)
"""Who imports comes before what is imported."""

PACKAGE = Path(__file__).resolve().parents[1]
OPEN, CLOSE = "<!-- tree -->", "<!-- /tree -->"
_WIDTH = 40
_DEEPEST = 2


def render_modules(package: Path) -> str:
    """The package and all its modules, two levels deep, one line each."""
    return "\n".join([f"{package.name}/", *_lines(package)])


def _lines(folder: Path, depth: int = 1) -> Iterator[str]:
    for path in sorted(_inside(folder), key=lambda path: (_rank(path), path.name)):
        name = f"{'  ' * depth}{path.name}{'/' if path.is_dir() else ''}"
        yield _line(name, _phrase(path))
        if path.is_dir() and depth < _DEEPEST:
            yield from _lines(path, depth + 1)


def _line(name: str, phrase: str) -> str:
    margin = " " * (_WIDTH + 1)
    said = textwrap.wrap(phrase, 100 - len(margin), break_on_hyphens=False)
    return f"{name:<{_WIDTH}} " + f"\n{margin}".join(said)


def _inside(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        is_package = path.is_dir() and (path / "__init__.py").exists()
        is_module = path.suffix == ".py" and "__init__" not in path.name
        if is_package or is_module or path == PACKAGE / "__init__.py":
            yield path


def _rank(path: Path) -> int:
    return ORDER.index(path.name) if path.name in ORDER else len(ORDER)


def _phrase(path: Path) -> str:
    source = path / "__init__.py" if path.is_dir() else path
    text = ast.get_docstring(tree_of(source.read_text(encoding="utf-8"))) or ""
    sentence = re.split(r"(?<=[.?])\s", " ".join(text.split("\n\n")[0].split()))[0]
    return sentence.rstrip(".").replace("``", "")


def main() -> None:
    """Put it into its page: ``python -m harness.report.tree_page MODULES.md``."""
    _put(Path(sys.argv[1]), render_modules(PACKAGE))


def _put(page: Path, tree: str) -> None:
    """Between the markers of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(OPEN)
    _, _, after = rest.partition(CLOSE)
    page.write_text(f"{before}{OPEN}\n```\n{tree}\n```\n{CLOSE}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
