"""``docs/properties.md``, generated: every property's claim, bug, signature and what it explains."""

import inspect
import sys
from types import ModuleType

from harness.properties import FAMILIES, PROPERTIES
from harness.properties.evidence.preconditions import never
from harness.properties.property import Property
from harness.report.words import wrapped

HEAD = """# Properties

Generated from `harness/properties/` by `make docs`; a test fails when page and code differ.

A property is one claim about training loops and a pure function of a trace. A failure that another
failing property accounts for is shown as inconclusive, so that one fault is one failure.
"""


def render_properties_page() -> str:
    """The whole page."""
    tables = map(_table, FAMILIES)
    return wrapped("\n".join([HEAD, *tables, *(_section(p) for p in PROPERTIES.values())]))


def _table(family: ModuleType) -> str:
    rows = [f"| [{p.id}](#{p.id}) | {p.claim} |" for p in family.PROPERTIES]
    said = str(family.__doc__).strip()
    return "\n".join([said, "", "| property | claim |", "| --- | --- |", *rows, ""])


def _section(judged: Property) -> str:
    story = judged.story.strip().replace("::\n", ":\n")
    lines = [f"## {judged.id}", "", story]
    if judged.needs:
        lines += ["", f"To pass it needs {judged.needs}."]
    if judged.applies is not never:
        when = inspect.cleandoc(judged.applies.__doc__ or "").replace("\n", " ")
        lines += ["", f"Where nobody requires it, it judges all the same: {when}"]
    if judged.explains:
        lines += ["", f"Its failure accounts for: {', '.join(judged.explains)}."]
    return "\n".join([*lines, ""])


def main() -> None:
    """Write the page to standard output."""
    sys.stdout.write(render_properties_page())


if __name__ == "__main__":
    main()
