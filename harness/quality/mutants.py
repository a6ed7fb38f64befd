"""Wrong loops, derived from right ones: every operator at every place it finds."""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.domain.scenario import Scenario
from harness.quality.operator import Operator
from harness.quality.program import Program
from harness.quality.sources import Source


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong loop."""

    scenario: Scenario
    """Where it is judged."""
    source: Source
    """What it was derived from."""
    operator: Operator
    """What was done."""
    site: int
    """At which of the operator's places, from 1."""
    line: int
    """Line of the source."""
    text: str
    """The program."""
    form: str
    """The same for programs that differ in spelling only, of whatever scenario."""


def derive(
    scenario: Scenario,
    alternatives: Sequence[Source],
    operators: Sequence[Operator],
    depth: int | None,
) -> tuple[Mutant, ...]:
    """Mutants of the reference and of alternatives, each text once.

    ``depth``: on how many alternatives each operator is tried, in turns so that all have theirs;
    ``None`` for all.
    """
    fitting = [operator for operator in operators if operator.applies_to(scenario)]
    seen = {_form(text) for text in (scenario.reference, *(a.text for a in alternatives))}
    reference = Source("reference", scenario.reference)
    programs = [(source, Program(source.text)) for source in (reference, *alternatives)]
    found: list[Mutant] = []
    for turn, operator in enumerate(fitting):
        tried = 0
        for source, program in (programs[0], *_from(turn, programs[1:])):
            if source is not reference and depth is not None and tried >= depth:
                break
            new = list(_fresh(scenario, source, program, operator, seen))
            tried += bool(new) and source is not reference
            found += new
    return tuple(found)


def _from(turn: int, programs: list[tuple[Source, Program]]) -> list[tuple[Source, Program]]:
    start = turn % len(programs) if programs else 0
    return programs[start:] + programs[:start]


def _fresh(
    scenario: Scenario, source: Source, program: Program, operator: Operator, seen: set[str | None]
) -> Iterator[Mutant]:
    for site, changes in enumerate(operator.derive(program), start=1):
        text = program.changed(changes)
        form = _form(text)
        if form is not None and form not in seen:
            seen.add(form)
            line = min(program.line(node) for node in changes)
            yield Mutant(scenario, source, operator, site, line, text, form)


def _form(text: str) -> str | None:
    """The same for texts that differ in spelling only; ``None`` for no Python."""
    try:
        tree = ast.parse(text)
        compile(tree, "mutant", "exec", dont_inherit=True)
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    except SyntaxError:
        return None
