"""Wrong loops, derived from right ones: every operator at every place it finds."""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.domain.scenario import Scenario
from harness.quality.operator import Operator
from harness.quality.program import ParsedProgram
from harness.quality.sources import NamedSource
from harness.syntax import tree_of

DEPTH = 4
"""Alternatives that each operator is tried on unless more are asked for: two cores get through the bank
in three minutes.
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong loop."""

    scenario: Scenario
    """Where it is judged."""
    source: NamedSource
    """What it was derived from."""
    operator: Operator
    """What was done."""
    site: int
    """At which of the operator's places, from 1."""
    line: int
    """Line of the source."""
    text: str
    """The program."""


def derive(
    right: Sequence[tuple[Scenario, Sequence[NamedSource]]],
    operators: Sequence[Operator],
    depth: int | None = DEPTH,
) -> tuple[Mutant, ...]:
    """Mutants of the references and of alternatives, scenario by scenario, each text once in each.

    ``right``: scenarios with their alternatives. ``depth``: on how many alternatives each operator is
    tried, of as many scenarios; those that have the fewest mutants so far come first.
    ``None`` for all.
    """
    benches = [_Bench(scenario, alternatives) for scenario, alternatives in right]
    for operator in operators:
        fitting = [bench for bench in benches if operator.applies_to(bench.scenario)]
        for bench in fitting:
            bench.mutate(bench.reference, operator)
        left = depth
        for bench in sorted(fitting, key=lambda bench: len(bench.found)):
            if left is None:
                bench.mutate_all(operator)
            elif left > 0:
                left -= bench.mutate_one(operator)
    return tuple(mutant for bench in benches for mutant in bench.found)


class _Bench:
    """The right programs of one scenario, and what was made of them."""

    def __init__(self, scenario: Scenario, alternatives: Sequence[NamedSource]) -> None:
        self.scenario = scenario
        self.reference = NamedSource("reference", scenario.reference)
        self.programs = {
            source.name: (source, ParsedProgram(source.text))
            for source in (self.reference, *alternatives)
        }
        self.tried = {source.name: 0 for source in alternatives}
        self.found: list[Mutant] = []
        self.seen = {_form(source.text) for source, _ in self.programs.values()}

    def mutate(self, source: NamedSource, operator: Operator) -> bool:
        """Whether the operator finds a place in one program."""
        new = list(_fresh(self.scenario, *self.programs[source.name], operator, self.seen))
        self.found += new
        return bool(new)

    def mutate_one(self, operator: Operator) -> bool:
        """The same for the alternative that was tried least and has a place."""
        for name, _ in sorted(self.tried.items(), key=lambda item: item[1]):
            if self.mutate(self.programs[name][0], operator):
                self.tried[name] += 1
                return True
        return False

    def mutate_all(self, operator: Operator) -> None:
        """The same for every alternative."""
        for name in self.tried:
            self.mutate(self.programs[name][0], operator)


def _fresh(
    scenario: Scenario,
    source: NamedSource,
    program: ParsedProgram,
    operator: Operator,
    seen: set[str | None],
) -> Iterator[Mutant]:
    for site, changes in enumerate(operator.derive(program), start=1):
        text = program.changed(changes)
        form = _form(text)
        if form is not None and form not in seen:
            seen.add(form)
            line = min(program.line(node) for node in changes)
            yield Mutant(scenario, source, operator, site, line, text)


def _form(text: str) -> str | None:
    """The same for texts that differ in spelling only; ``None`` for no Python."""
    try:
        tree = tree_of(text)
        compile(tree, "mutant", "exec", dont_inherit=True)
        return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    except SyntaxError:
        return None
