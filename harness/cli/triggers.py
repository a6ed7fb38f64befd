"""``triggers``: is a skill found among others, by its description alone?"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness import __version__
from harness.cli.app import JsonOption, PlainOption, app, flag, valued
from harness.cli.asking import ASKED_AT_ONCE, BatchOption, FreshOption, TrialsOption, spent
from harness.domain.comparison import Arm
from harness.domain.errors import UsageError, UserError
from harness.domain.triggers import Opened, TriggerFile, TriggerPrompt, TriggerReport
from harness.report.console import Output
from harness.report.words import some

if TYPE_CHECKING:
    from harness.agents.agent import Agent
    from harness.agents.naming import AskingOptions
    from harness.agents.skill_text import SkillText
    from harness.agents.triggers import Finder

TriggerSkills = Annotated[
    list[Path],
    typer.Argument(metavar="DIR", help="The folder of a skill; of two, the old one first."),
]
TriggerAgent = Annotated[
    str, typer.Option("--agent", metavar="AGENT", help="Ask anthropic:MODEL or command:'...'.")
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
class _TriggerOptions:
    """What the command line says."""

    agent: str
    trials: int
    others: int
    among: Path | None
    max_cost: float | None
    fresh: bool
    batch: bool


@dataclass(frozen=True, slots=True)
class _TriggerSearch:
    """A skill, those that it is listed among, and how it is asked for."""

    skill: "SkillText"
    others: tuple["SkillText", ...]
    asking: "AskingOptions"
    questions: tuple[tuple[TriggerPrompt, int], ...]
    """Every prompt in each trial."""

    def finder(self, agent: "Agent") -> "Finder":
        from harness.agents.triggers import Finder

        return Finder(agent, self.skill, self.others)

    def opened(self, question: tuple[TriggerPrompt, int], agent: "Agent") -> Opened:
        return self.finder(agent).opened(*question)


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
    batch: BatchOption = False,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
    plain: PlainOption = False,
) -> None:
    """Say how often a skill is found, by its name and description among others; or compare two."""
    from harness.report.triggers import render_triggers

    if len(skills) > 2:
        raise UsageError(f"triggers takes one skill, or two to compare, not {len(skills)}")
    how = _TriggerOptions(agent, trials, others, among, max_cost, fresh, batch)
    output, prompts = Output(plain=plain), _prompts(skills)
    searches = [_search(place, how, prompts) for place in skills]
    for search in searches:
        _announce(search, how)
    if plan:
        return
    with _handed_in(searches, how):
        found = [_found(search, how, prompts) for search in searches]
    if len(found) == 2:
        raise typer.Exit(_compared(found, _names(skills), output, as_json=as_json))
    report, _ = found[0]
    if as_json:
        output.text(report.model_dump_json(indent=2))
    else:
        output.show(render_triggers(report))
    raise typer.Exit(0 if report.found.of or report.disturbed.of else 4)


def _compared(
    found: Sequence[tuple[TriggerReport, Arm]],
    names: Sequence[str],
    output: Output,
    *,
    as_json: bool,
) -> int:
    """Two descriptions, as two skills are: right is what should be. The exit code."""
    from harness.comparison import compare
    from harness.report.comparison import render_comparison
    from harness.report.triggers import render_triggers

    old, new = (
        arm.model_copy(update={"name": name}) for (_, arm), name in zip(found, names, strict=True)
    )
    comparison = compare(old, new)
    if as_json:
        output.text(comparison.model_dump_json(indent=2))
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


def _search(place: Path, how: _TriggerOptions, prompts: TriggerFile) -> _TriggerSearch:
    from harness.agents.skill_text import load_skill_text
    from harness.agents.triggers import neighbours, refuse_without_description, skills_in

    skill = load_skill_text(place)
    refuse_without_description(skill, place)
    near = (*neighbours(how.others), *(skills_in(how.among) if how.among is not None else ()))
    others = {other.name: other for other in near if other.name != skill.name}
    every = (*prompts.should, *prompts.should_not)
    questions = tuple((one, trial) for one in every for trial in range(1, how.trials + 1))
    return _TriggerSearch(skill, tuple(others.values()), _asking(skill, how), questions)


def _asking(skill: "SkillText", how: _TriggerOptions) -> "AskingOptions":
    from harness.agents.batching import outbox_for
    from harness.agents.cache import default_cache
    from harness.agents.naming import AskingOptions
    from harness.llm.meter import CostMeter

    return AskingOptions(
        skill=skill,
        delivery="tool",
        meter=CostMeter(how.max_cost),
        cache=default_cache(),
        fresh=how.fresh,
        outbox=outbox_for(how.agent) if how.batch else None,
    )


def _announce(search: _TriggerSearch, how: _TriggerOptions) -> None:
    from harness.agents.conversing import ModelAgent
    from harness.agents.naming import unconnected
    from harness.agents.plan import render_money, trigger_plan

    agent, every = unconnected(how.agent, search.asking), len(search.questions)
    said = f"{search.skill.name} among {some(len(search.others), 'other')}: "
    said += f"{some(every, 'question')} to {how.agent}"
    if isinstance(agent, ModelAgent):
        finder = search.finder(agent)
        lacking = [one.prompt for one, trial in search.questions if not finder.keeps(one, trial)]
        if len(lacking) < every:
            said += f", {some(every - len(lacking), 'answer')} kept from before"
        plan = trigger_plan(agent, finder.listing, lacking, search.asking)
        said += f"; {render_money(plan) if lacking else 'nothing is asked and nothing is paid'}"
    Output(stderr=True).text(f"harness: {said}")


@contextmanager
def _handed_in(searches: Sequence[_TriggerSearch], how: _TriggerOptions) -> Iterator[None]:
    """All questions as one batch, where that was wished; it is forgotten once all is known."""
    if not how.batch:
        yield
        return
    from harness.cli.batching import group_of, handed_in

    groups = [
        group_of(
            how.agent, search.asking, [partial(search.opened, one) for one in search.questions]
        )
        for search in searches
    ]
    with handed_in(groups, searches[0].asking.limits) as batches:
        yield
        batches.finish()


def _found(
    search: _TriggerSearch, how: _TriggerOptions, prompts: TriggerFile
) -> tuple[TriggerReport, Arm]:
    from harness.agents.triggers import digest_of
    from harness.comparison.triggers import share, trigger_arm, trigger_lines

    skill, others = search.skill, search.others
    name, opened = _asked(search, how)
    lines = trigger_lines(prompts, opened)
    report = TriggerReport(
        skill=skill.name,
        description=skill.description,
        agent=name,
        others=tuple(other.name for other in others),
        trials=how.trials,
        found=share(lines, should=True),
        disturbed=share(lines, should=False),
        prompts=lines,
    )
    about = {"name": skill.name, "skill_digest": skill.digest, "model": name}
    about |= {"delivery": "listed", "judge": "none", "harness_version": __version__}
    about |= {"bank_digest": digest_of(prompts, others)}
    return report, trigger_arm(prompts, opened, **about)


def _asked(
    search: _TriggerSearch, how: _TriggerOptions
) -> tuple[str, dict[str, list[Opened | None]]]:
    """Who answered, and what each prompt opened; what it took is told, whatever ended it."""
    from harness.agents.naming import agent_named, break_off

    meter = search.asking.meter
    try:
        with (
            agent_named(how.agent, search.asking) as agent,
            ThreadPoolExecutor(ASKED_AT_ONCE) as pool,
        ):
            try:
                return agent.name, _opened(search, search.finder(agent), pool)
            except BaseException:  # Ctrl-C too: nobody waits for the rest
                pool.shutdown(wait=False, cancel_futures=True)
                break_off(agent)
                raise
    finally:
        if meter.usage.output:
            Output(stderr=True).text(spent(meter))


def _opened(
    search: _TriggerSearch, finder: "Finder", pool: ThreadPoolExecutor
) -> dict[str, list[Opened | None]]:
    found: dict[str, list[Opened | None]] = {one.id: [] for one, _ in search.questions}
    said = pool.map(lambda question: _ask(finder, *question), search.questions)
    for (one, _), answer in zip(search.questions, said, strict=True):
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
