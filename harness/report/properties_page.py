"""``docs/properties.md``, generated: every property's claim, bug, signature and what it explains."""

import inspect
import sys
from collections.abc import Iterable
from types import ModuleType

from harness.extensions import default_bank, load_code
from harness.properties import FAMILIES, PROPERTIES
from harness.properties.evidence.preconditions import never
from harness.properties.property import Property
from harness.report.words import wrapped

HEAD = """# Properties

Generated from `harness/properties/` by `make docs`; a test fails when page and code differ.

A property is one claim about training loops and a pure function of a trace. A failure that another
failing property accounts for is shown as inconclusive, so that one fault is one failure.
"""


OF_THE_BANK = """Data loading: properties that the bank brings (`scenarios/properties/`), over what
its workload `loading` measures."""


def render_properties_page() -> str:
    """The whole page."""
    load_code(default_bank())
    built_in = [one for family in FAMILIES for one in family.PROPERTIES]
    brought = [one for one in PROPERTIES.values() if one not in built_in]
    tables = [*map(_table, FAMILIES), _rows(OF_THE_BANK, brought)]
    return wrapped("\n".join([HEAD, *tables, *map(_section, [*built_in, *brought])]))


def _table(family: ModuleType) -> str:
    return _rows(str(family.__doc__).strip(), family.PROPERTIES)


def _rows(said: str, properties: Iterable[Property]) -> str:
    rows = [f"| [{p.id}](#{p.id}) | {p.claim} |" for p in properties]
    return "\n".join([said, "", "| property | claim |", "| --- | --- |", *rows, ""])


def _section(judged: Property) -> str:
    described = judged.description.strip().replace("::\n", ":\n")
    lines = [f"## {judged.id}", "", described]
    if judged.needs:
        lines += ["", f"To pass it needs {judged.needs}."]
    for need in judged.expects:
        lines += ["", f"A scenario that requires it says `{need.write}` in `expects`."]
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
