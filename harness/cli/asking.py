"""``run --agent``: ask an agent, and grade what it answers."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from harness.cli.app import flag, print_faults
from harness.cli.stored import print_count, print_unread, print_unstored, printing, stored
from harness.domain.answer import Batch
from harness.domain.instruments import OpenInstruments
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer, SkillUsed
from harness.report.console import Output, progress_bar
from harness.report.words import some
from harness.store import RunFolder

if TYPE_CHECKING:
    from harness.agents.naming import AskingOptions
    from harness.agents.plan import AskingPlan
    from harness.agents.sections import SkillSection
    from harness.llm.meter import CostMeter

ASKED_AT_ONCE = 8

Delivery = Literal["system", "tool", "none"]
DeliveryOption = Annotated[
    Delivery,
    typer.Option(help="In the system prompt, through a tool that reads it, or not at all."),
]
TrialsOption = Annotated[
    int, typer.Option(min=1, max=1000, metavar="N", help="How often each question is asked.")
]
BatchOption = Annotated[
    bool, flag("--batch", "Hand the questions in as batches: half the price, within a day.")
]
FreshOption = Annotated[bool, flag("--fresh", "Ask again what was answered before.")]


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What the command line says about asking."""

    agent: str
    """Who."""
    skill: Path | None
    """Folder of the skill."""
    delivery: Delivery
    """In the system prompt, through a tool that reads it, or not at all."""
    trials: int
    """How often each question is asked."""
    max_cost: float | None
    """US dollars."""
    judge: str
    """Who reads the text."""
    seed: int
    """Offset added to every workload's seed."""
    jobs: int
    """Executions at the same time."""
    plan_only: bool = False
    """Say what it would take, and ask nothing."""
    replicate: str = ""
    """Another word here asks everything anew: for comparing a skill with itself."""
    fresh: bool = False
    """Whether answers that are kept are asked anew."""
    batch: bool = False
    """Whether questions are handed in as batches."""
    without: "SkillSection | None" = None
    """The section that the skill is given without."""
    is_told: bool = False
    """Whether it was said already what it will take."""
    in_rounds: bool = False
    """Whether a comparison may stop before all trials are asked."""


@dataclass(frozen=True, slots=True)
class ShownAnswers:
    """How answers are printed."""

    as_json: bool
    """One object a line."""
    plain: bool
    """No colours, no boxes."""
    verbose: bool
    """Every verdict with its numbers."""
    strict: bool = False
    """Whether what could not be judged is exit code 4."""


def ask(
    ask: AskOptions, bank: Bank, out: Path | None, shown: ShownAnswers, open_: OpenInstruments
) -> int:
    """Say what it will take, ask, grade and print; the exit code."""
    if ask.plan_only:
        _announce(ask, bank)
        return 0
    told = printing(
        as_json=shown.as_json, plain=shown.plain, verbose=shown.verbose, show_program=False
    )
    with told as keep, Asked.of(ask, bank) as asked:
        batch = asked.ask_all(bank, out, open_, keep)
    if not shown.as_json:
        print_count(batch, plain=shown.plain, asked=True)
    print_faults(batch.faults, all_traces=shown.verbose)
    print_unread(batch.unread)
    print_unstored(batch.unstored)
    return batch.exit_code(strict=shown.strict)


@dataclass(slots=True)
class Asked:
    """What is being asked: its price was told, and what it took is told at the end."""

    how: AskOptions
    """What the command line says."""
    asking: "AskingOptions"
    """With the skill as it was when asking began, and one meter for all of it."""
    begun: bool = False
    """Whether something was asked already."""

    @classmethod
    @contextmanager
    def of(cls, how: AskOptions, bank: Bank) -> Iterator["Asked"]:
        """Say what it will take; at the end, whatever ended it, what it took."""
        asking = _announce(how, bank)
        try:
            yield cls(how, asking)
        finally:
            if asking.meter.usage.output:
                Output(stderr=True).text(spent(asking.meter))

    def ask_all(
        self,
        bank: Bank,
        out: Path | None,
        open_: OpenInstruments,
        keep: Callable[[GradedAnswer], None],
    ) -> Batch:
        """Every trial, in batches where that was wished."""
        if not self.how.batch:
            return self.ask(bank, out, open_, keep=keep)
        from harness.cli.batching import group_of_run, handed_in

        group = group_of_run(self, bank, out, self.how.trials)
        with handed_in([group], self.asking.limits) as batches:
            batch = self.ask(bank, out, open_, keep=keep)
            if not batch.interrupted:
                batches.finish()
            return batch

    def ask(
        self,
        bank: Bank,
        out: Path | None,
        open_: OpenInstruments,
        trials: int | None = None,
        keep: Callable[[GradedAnswer], None] = lambda _: None,
    ) -> Batch:
        """Ask and grade. ``trials``: only the first ones, those that are stored already included."""
        from harness.agents.naming import agent_named, break_off, unkept
        from harness.rubric import JudgingOptions, judge_named
        from harness.runner import Settings, ask_agent

        how, asking = self.how, self.asking
        missing: list[str] = []
        with (
            agent_named(how.agent, asking) as agent,
            judge_named(how.judge, JudgingOptions(meter=asking.meter, missing=missing)) as reader,
            self._stored(bank, out, judge=reader.name, agent=agent.name) as run,
            progress_bar(Output(stderr=True)) as watch,
        ):
            settings = Settings(
                seed=how.seed,
                jobs=how.jobs,
                asking=ASKED_AT_ONCE,
                watch=watch,
                judge=reader,
                stop=lambda: break_off(agent),
                keep=keep,
                run=run,
            )
            batch = ask_agent(bank, agent, trials or how.trials, settings, open_)
        for sentence in dict.fromkeys(unkept(agent)):
            Output(stderr=True).text(f"harness: {sentence}")
        return replace(batch, unread=tuple(missing))

    def _stored(
        self, bank: Bank, out: Path | None, *, judge: str, agent: str
    ) -> AbstractContextManager[RunFolder | None]:
        how, again = self.how, self.begun
        self.begun = True
        return stored(
            out,
            "agent",
            bank,
            judge=judge,
            seed=how.seed,
            agent=agent,
            skill=_used(self.asking),
            rounds=how.trials if how.in_rounds else None,
            silent=again,
        )


def spent(meter: "CostMeter") -> str:
    """What asking took, in a line."""
    usage, unpriced = meter.usage, meter.unpriced
    dollars = f"${meter.spent:.2f} spent"
    if unpriced:
        dollars += f", and {some(unpriced, 'call')} whose price is not known"
    return f"harness: {usage.input:,} tokens read, {usage.output:,} written, {dollars}"


def planned(ask: AskOptions, bank: Bank) -> "AskingPlan":
    """What it will take."""
    from harness.agents.plan import plan

    return plan(bank, ask.agent, _asking(ask), ask.trials)


def _announce(ask: AskOptions, bank: Bank) -> "AskingOptions":
    from harness.agents.plan import plan, render_plan

    asking = _asking(ask)
    if not ask.is_told:
        Output(stderr=True).text(render_plan(plan(bank, ask.agent, asking, ask.trials)))
    return asking


def _asking(ask: AskOptions) -> "AskingOptions":
    from harness.agents.batching import outbox_for
    from harness.agents.cache import default_cache
    from harness.agents.naming import AskingOptions
    from harness.agents.sections import without
    from harness.agents.skill_text import load_skill_text
    from harness.llm.meter import CostMeter

    skill = load_skill_text(ask.skill) if ask.skill is not None else None
    if skill is not None and ask.without is not None:
        skill = without(skill, ask.without)
    return AskingOptions(
        skill=skill,
        delivery=ask.delivery,
        meter=CostMeter(ask.max_cost),
        cache=default_cache(),
        fresh=ask.fresh,
        replicate=ask.replicate,
        outbox=outbox_for(ask.agent) if ask.batch else None,
    )


def _used(asking: "AskingOptions") -> SkillUsed | None:
    skill = asking.skill
    if skill is None or asking.delivery == "none":
        return None
    return SkillUsed(name=skill.name, digest=skill.digest, delivery=asking.delivery)
