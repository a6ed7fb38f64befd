"""``triggers``: is a skill found among others, by its description alone?"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness import __version__
from harness.cli.app import JsonOption, PlainOption, app, flag, valued
from harness.cli.asking import ASKED_AT_ONCE, FreshOption, TrialsOption
from harness.domain.comparison import Arm
from harness.domain.errors import UsageError, UserError
from harness.domain.triggers import Opened, TriggerFile, TriggerPrompt, TriggerReport
from harness.report.console import Output

if TYPE_CHECKING:
    from harness.agents.naming import Asking
    from harness.agents.skill_text import SkillText
    from harness.agents.triggers import Finder

TriggerSkills = Annotated[
    list[Path],
    typer.Argument(metavar="DIR [DIR2]", help="The folder of a skill, or two, the old one first."),
]
TriggerAgent = Annotated[
    str, typer.Option("--agent", metavar="A", help="Ask anthropic:MODEL or command:'...'.")
]
OthersOption = Annotated[
    int, typer.Option(min=0, max=12, metavar="N", help="List it among so many skills of others.")
]
AmongOption = Annotated[
    Path | None, valued(metavar="DIR", help="List it among the skills in this folder too.")
]
TriggerCost = Annotated[
    float | None, typer.Option(min=0.0, metavar="USD", help="Spend at most this for each skill.")
]
TriggerPlan = Annotated[bool, flag("--plan", "Say what it would take. Asks nothing.")]


@dataclass(frozen=True, slots=True)
class _How:
    """What the command line says."""

    agent: str
    trials: int
    others: int
    among: Path | None
    max_cost: float | None
    fresh: bool


@app.command(epilog="Example: harness triggers skill/gradient-management --agent anthropic:MODEL")
def triggers(
    skills: TriggerSkills,
    *,
    agent: TriggerAgent,
    trials: TrialsOption = 1,
    others: OthersOption = 12,
    among: AmongOption = None,
    max_cost: TriggerCost = None,
    plan: TriggerPlan = False,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
    plain: PlainOption = False,
) -> None:
    """Say how often a skill is found, by its name and description among others; or compare two."""
    from harness.report.triggers import render_triggers

    if len(skills) > 2:
        raise UsageError(f"triggers takes one skill, or two to compare, not {len(skills)}")
    how, output = _How(agent, trials, others, among, max_cost, fresh), Output(plain=plain)
    prompts = _prompts(skills)
    listed = [_listed(place, how) for place in skills]
    if plan:
        for one in listed:
            _announce(one, how, prompts)
        return
    found = [_asked(one, how, prompts) for one in listed]
    if len(found) == 1:
        report, _ = found[0]
        if as_json:
            output.text(report.model_dump_json(indent=2))
        else:
            output.show(render_triggers(report))
        raise typer.Exit(0 if report.found.of or report.disturbed.of else 4)
    raise typer.Exit(_compared(found, _names(skills), output, as_json=as_json))


def _compared(
    found: Sequence[tuple[TriggerReport, Arm]],
    names: Sequence[str],
    output: Output,
    *,
    as_json: bool,
) -> int:
    """Two descriptions, as two skills are: right is what should be. The exit code."""
    from harness.comparison import compare
    from harness.report.comparison import comparison_json, render_comparison
    from harness.report.triggers import render_triggers

    old, new = (
        arm.model_copy(update={"name": name}) for (_, arm), name in zip(found, names, strict=True)
    )
    comparison = compare(old, new)
    if as_json:
        output.text(comparison_json(comparison))
    else:
        for report, _ in found:
            output.show(render_triggers(report))
        output.text("")
        output.show(render_comparison(comparison, plain=output.plain))
    return int(comparison.gate.code == 1)


def _names(skills: Sequence[Path]) -> list[str]:
    names = [path.resolve().name for path in skills]
    return names if len(set(names)) == len(names) else [str(path) for path in skills]


def _prompts(skills: Sequence[Path]) -> TriggerFile:
    """Those of the old skill, else those of the new one."""
    from harness.agents.triggers import load_triggers

    for place in skills:
        found = load_triggers(place)
        if found is not None:
            return found
    raise UsageError(
        f"{skills[0]}/triggers.yaml: there is none; expected prompts as two lists, should and"
        " should_not, of id and prompt"
    )


_Listed = tuple["SkillText", tuple["SkillText", ...]]
"""A skill, and those that it is listed among."""


def _listed(place: Path, how: _How) -> _Listed:
    from harness.agents.skill_text import load_skill_text
    from harness.agents.triggers import neighbours, refuse_without_description, skills_in

    skill = load_skill_text(place)
    refuse_without_description(skill, place)
    near = (*neighbours(how.others), *(skills_in(how.among) if how.among is not None else ()))
    others = {other.name: other for other in near if other.name != skill.name}
    return skill, tuple(others.values())


def _asking(listed: _Listed, how: _How) -> "Asking":
    from harness.agents.cache import default_cache
    from harness.agents.naming import Asking
    from harness.llm.meter import CostMeter

    return Asking(
        skill=listed[0],
        delivery="tool",
        meter=CostMeter(how.max_cost),
        cache=default_cache(),
        fresh=how.fresh,
    )


def _announce(listed: _Listed, how: _How, prompts: TriggerFile) -> None:
    from harness.agents.conversing import ModelAgent
    from harness.agents.naming import unconnected
    from harness.agents.plan import dollars, trigger_plan
    from harness.agents.triggers import Finder

    skill, others = listed
    agent = unconnected(how.agent, _asking(listed, how))
    every = [one.prompt for one in (*prompts.should, *prompts.should_not)] * how.trials
    said = f"{skill.name} among {len(others)} others: {len(every)} questions to {how.agent}"
    if isinstance(agent, ModelAgent):
        plan = trigger_plan(agent, Finder(agent, skill, others).listing, every, how.max_cost)
        known = dollars(plan) if plan.cost is not None else "the price of the model is not known"
        said += f"; cost, where none is kept: {known}"
    Output(stderr=True).text(f"harness: {said}")


def _asked(listed: _Listed, how: _How, prompts: TriggerFile) -> tuple[TriggerReport, Arm]:
    from harness.agents.naming import agent_named, break_off
    from harness.agents.triggers import Finder, digest_of
    from harness.comparison.triggers import share, trigger_arm, trigger_lines

    skill, others = listed
    _announce(listed, how, prompts)
    asking = _asking(listed, how)
    with agent_named(how.agent, asking) as agent:
        finder = Finder(agent, skill, others)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            try:
                opened = _opened(finder, prompts, how.trials, pool)
            except BaseException:  # Ctrl-C too: nobody waits for the rest
                pool.shutdown(wait=False, cancel_futures=True)
                break_off(agent)
                raise
    lines = trigger_lines(prompts, opened)
    report = TriggerReport(
        skill=skill.name,
        description=skill.description,
        agent=agent.name,
        others=tuple(other.name for other in others),
        trials=how.trials,
        found=share(lines, should=True),
        disturbed=share(lines, should=False),
        prompts=lines,
    )
    about = {"name": skill.name, "skill_digest": skill.digest, "model": agent.name}
    about |= {"delivery": "listed", "judge": "none", "harness_version": __version__}
    about |= {"bank_digest": digest_of(prompts, others)}
    return report, trigger_arm(prompts, opened, **about)


def _opened(
    finder: "Finder", prompts: TriggerFile, trials: int, pool: ThreadPoolExecutor
) -> dict[str, list[Opened | None]]:
    every = (*prompts.should, *prompts.should_not)
    asked = [(one, trial) for one in every for trial in range(1, trials + 1)]
    found: dict[str, list[Opened | None]] = {one.id: [] for one in every}
    said = pool.map(lambda question: _ask(finder, *question), asked)
    for (one, _), answer in zip(asked, said, strict=True):
        found[one.id].append(answer)
    return found


def _ask(finder: "Finder", prompt: TriggerPrompt, trial: int) -> Opened | None:
    from harness.agents.agent import Unanswered

    try:
        return finder.opened(prompt, trial)
    except Unanswered as unanswered:
        if unanswered.why.in_vain:
            raise UserError(f"{finder.agent.name}: {unanswered.why.sentence}") from unanswered
        Output(stderr=True).text(f"harness: {prompt.id}: no answer: {unanswered.why.sentence}")
        return None
