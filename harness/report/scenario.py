"""What ``list`` and ``show`` print of the bank."""

import json
from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.listing import ListedScenario
from harness.domain.scenario import Scenario


def render_list(
    scenarios: Iterable[Scenario | ListedScenario], *, plain: bool = False
) -> RenderableType:
    """One line a scenario."""
    table = Table(box=None if plain else box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("scenario", style=None if plain else "bold", overflow="fold", no_wrap=plain)
    table.add_column("suite", overflow="fold", no_wrap=plain)
    table.add_column("what it is about", overflow="fold", no_wrap=plain)
    for scenario in scenarios:
        table.add_row(scenario.id, scenario.suite, scenario.title)
    return table


def list_as_json(scenarios: Iterable[Scenario | ListedScenario]) -> str:
    """The same for programs."""
    lines = [s.model_dump(include=set(ListedScenario.model_fields)) for s in scenarios]
    return json.dumps(lines, indent=2)


def render_scenario(scenario: Scenario, *, plain: bool = False) -> RenderableType:
    """The message, the pressure, what is judged, and both programs."""
    heading = Text.assemble((scenario.id, "bold"), f"  {scenario.title}")
    where = Text(f"suite {scenario.suite}; {scenario.source}", "dim")
    return Group(
        heading,
        where,
        *_section("Message", Text(scenario.prompt.strip())),
        *_section("Pressure", Text(scenario.pressure)),
        *_section("Judged by", _rules(scenario)),
        *_section("Runs", _probes(scenario)),
        *_section("Posted loop (buggy.py)", _code(scenario.buggy, plain=plain)),
        *_section("Reference", _code(scenario.reference, plain=plain)),
    )


def _section(title: str, body: RenderableType) -> tuple[RenderableType, ...]:
    return Text(), Text(title, "bold underline"), body


def _rules(scenario: Scenario) -> Text:
    from harness.properties import judging_in

    lines = []
    for rule in judging_in(scenario):
        fails = "  (the posted loop fails it)" if rule.id in scenario.buggy_fails else ""
        reason = f": {rule.reason}" if rule.reason is not None else ""
        lines.append(f"{rule.level:<8}  {rule.id}{fails}{reason}")
    lines.append("Besides, every property judges whose preconditions a program meets (guard).")
    return Text("\n".join(lines))


def _probes(scenario: Scenario) -> Text:
    ranks = scenario.workload.world_size
    first = f"workload {scenario.workload.name}, {ranks} rank{'s' if ranks > 1 else ''}"
    if scenario.requires:
        first += f", with {', '.join(scenario.requires)}"
    return Text("\n".join([first, *(f"{p.name}: {p.lifts}" for p in scenario.probes)]))


def _code(program: str, *, plain: bool) -> RenderableType:
    if plain:
        return Text(program.rstrip("\n"))
    from rich.syntax import Syntax

    return Syntax(program.rstrip("\n"), "python", theme="ansi_dark", background_color="default")
