"""``compare --ablate``: a skill without each of its sections, against the whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import flag, valued
from harness.cli.arms import Asker, arm_in
from harness.cli.asking import AskOptions, planned
from harness.domain.errors import UsageError
from harness.report.console import Output

if TYPE_CHECKING:
    from harness.agents.sections import SkillSection
    from harness.comparison.ablation import SectionLeftOut

AblateOption = Annotated[
    bool, flag("--ablate", "Ask with --skill and without each of its sections in turn.")
]
LevelOption = Annotated[
    int, typer.Option(min=1, max=6, metavar="N", help="Level of the headings that --ablate takes.")
]
CoverageOption = Annotated[
    Path | None,
    valued(
        metavar="FILE",
        help="A table of what each section covers, as docs/coverage.yaml, for --ablate.",
    ),
]

WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class AblationOptions:
    """What the command line says about it."""

    ask: AskOptions
    """How each arm is asked."""
    skills: Sequence[str]
    """The whole skill, alone."""
    level: int
    """Of the headings."""
    coverage: Path | None
    """The table of what each section covers."""
    plan_only: bool
    """Say what it would take and could show, and ask nothing."""


def ablate(how: AblationOptions, asker: Asker, tell: Callable[..., None]) -> int:
    """Say what it takes and can show, ask, and tell what each section is for; the exit code."""
    from harness.agents.sections import sections_of
    from harness.agents.skill_text import load_skill_text
    from harness.comparison.ablation import ablation, corrected
    from harness.report.ablation import render_ablation

    if len(how.skills) != 1 or how.skills[0] == "none" or how.ask.delivery == "none":
        raise UsageError("--ablate takes one --skill DIR, which is delivered")
    whole = replace(how.ask, skill=Path(how.skills[0]))
    skill = load_skill_text(Path(how.skills[0]))
    sections, covers = sections_of(skill, how.level), _covers(how.coverage)
    asker = replace(asker, rules=corrected(asker.rules, len(sections)))
    arms = {WHOLE: whole} | {f"without-{s.name}": replace(whole, without=s) for s in sections}
    _announce(arms, [one.title for one in sections], asker)
    if how.plan_only:
        return 0
    arms = {name: replace(ask, is_told=True) for name, ask in arms.items()}
    with (asker.in_rounds if whole.in_rounds else asker.at_once)(arms) as (first, *parts):
        left_out = [_left_out(s, folder, covers) for s, folder in zip(sections, parts, strict=True)]
        found = ablation(skill.name, arm_in(first), left_out, asker.rules, anyway=asker.anyway)
    tell(found, render_ablation)
    return 0


def _announce(arms: Mapping[str, AskOptions], titles: list[str], asker: Asker) -> None:
    from harness.agents.plan import render_plan, together
    from harness.comparison import plan
    from harness.report.ablation import render_ablation_plan

    errors, trials = Output(stderr=True), next(iter(arms.values())).trials
    errors.text(render_plan(together([planned(ask, asker.bank) for ask in arms.values()])))
    errors.show(
        render_ablation_plan(titles, plan(len(asker.bank.scenarios), trials, rules=asker.rules))
    )


_Covers = Mapping[str, tuple[tuple[str, ...], frozenset[str]]]
"""By the name of a section: what it covers in words, and scenarios."""


def _covers(path: Path | None) -> _Covers:
    from harness.report.coverage import load_coverage

    coverage = load_coverage(path) if path is not None else None
    found: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
    for row in coverage.rows if coverage else ():
        for page in row.of("page"):
            file, _, anchor = page.partition("#")
            if file == "SKILL.md" and anchor:
                said, scenarios = found.get(anchor, ((), frozenset()))
                criteria = (name.partition("/")[0] for name in row.of("criterion"))
                named = {*row.of("scenario"), *criteria}
                found[anchor] = ((*said, row.subject), scenarios | named)
    return found


def _left_out(section: "SkillSection", folder: Path, covers: _Covers) -> "SectionLeftOut":
    from harness.comparison.ablation import SectionLeftOut

    said, scenarios = covers.get(section.name, ((), frozenset()))
    return SectionLeftOut(
        title=section.title,
        name=section.name,
        lines=section.last - section.first + 1,
        arm=arm_in(folder),
        covers=said,
        scenarios=scenarios,
    )
