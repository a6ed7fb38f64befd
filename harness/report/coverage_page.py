"""``docs/coverage.md``, generated: each part of the source documents, and what exercises it."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import get_args

from harness.domain.errors import UserError
from harness.report.coverage import (
    SKILL,
    TECHNIQUES,
    CoverableNames,
    Coverage,
    CoverageRow,
    State,
    load_coverage,
)

ROOT = Path(__file__).resolve().parents[2]
DATA = Path("docs/coverage.yaml")

HEAD = """# Coverage

Generated from `docs/coverage.yaml` by `make docs`; a test fails when this page and the data
differ, or when something is named that does not exist.

The project started from two documents, a skill and a guide. Here is every section of both, every
mistake, pitfall, row of the rationalization table and red flag, by its position and in our words.
Sections are counted as they stand; the guide's table of contents is none.

Only what is *exercised* is asked of agents: a scenario, a property or a criterion of a rubric
decides it by execution or reads it in an answer. *As a technique*: `reference_impls/techniques/`
has it, and tests hold it to its claims. *In the skill only*: our skill says what is right. *Open*:
nothing speaks of it. The last three come first.
"""

TITLES: Mapping[str, str] = MappingProxyType({"skill": "The skill", "guide": "The guide"})
"""By document."""


def render_coverage_page(coverage: Coverage) -> str:
    """The whole page."""
    lines = [HEAD, *_counts(coverage), "", *_not_exercised(coverage)]
    for source, title in TITLES.items():
        rows = [row for row in coverage.rows if row.source == source]
        lines += [f"## {title}", "", *_table(rows), ""]
    return "\n".join(lines)


def _counts(coverage: Coverage) -> Iterator[str]:
    states: tuple[State, ...] = get_args(State)
    yield "| document | rows | " + " | ".join(states) + " |"
    yield "| --- |" + " --- |" * (1 + len(states))
    for source, title in TITLES.items():
        found = Counter(row.state for row in coverage.rows if row.source == source)
        cells = [str(found[state]) for state in states]
        yield f"| {title} | {found.total()} | {' | '.join(cells)} |"


def _not_exercised(coverage: Coverage) -> Iterator[str]:
    for state in ("open", "in the skill only", "as a technique"):
        rows = [row for row in coverage.rows if row.state == state]
        yield from (f"## {state.capitalize()}", "")
        yield from (f"- {TITLES[r.source]}, {r.position}: {_cell(r.subject)}" for r in rows)
        yield from ("",) if rows else ("Nothing.", "")


def _table(rows: Iterable[CoverageRow]) -> Iterator[str]:
    yield "| position | subject | exercised by |"
    yield "| --- | --- | --- |"
    for row in rows:
        by = ", ".join(map(_link, row.covered_by)) or "**open**"
        yield f"| {row.position} | {_cell(row.subject)} | {by} |"


def _link(covering: str) -> str:
    kind, _, name = covering.partition(":")
    shown = name if kind in ("property", "scenario") else f"{kind} {name}"
    return f"[{shown}]({_WHERE[kind](name)})"


_WHERE: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "scenario": lambda name: f"../scenarios/{name}/scenario.yaml",
        "property": lambda name: f"properties.md#{name}",
        "criterion": lambda name: f"../scenarios/{name.partition('/')[0]}/scenario.yaml",
        "technique": lambda name: f"../{TECHNIQUES.as_posix()}/{name}.py",
        "page": lambda name: f"../{SKILL.as_posix()}/{name}",
    }
)
"""Where each kind of thing lies, seen from the page."""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the page to standard output."""
    try:
        coverage = load_coverage(ROOT / DATA, CoverableNames.of(ROOT))
    except UserError as error:
        sys.exit(str(error))
    sys.stdout.write(render_coverage_page(coverage))


if __name__ == "__main__":
    main()
