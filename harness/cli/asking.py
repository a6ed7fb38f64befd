"""``run --agent``: ask an agent, and grade what it answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.cli.app import print_faults
from harness.cli.stored import print_count, printing, stored
from harness.domain.instruments import OpenInstruments
from harness.domain.scenario import Bank
from harness.domain.stored import SkillUsed
from harness.report.console import Output, progress_bar

ASKED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Ask:
    """What the command line says about asking."""

    agent: str
    """Who."""
    skill: Path | None
    """Folder of the skill."""
    delivery: Literal["system", "tool", "none"]
    """How the skill reaches the agent."""
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


@dataclass(frozen=True, slots=True)
class Shown:
    """How answers are printed."""

    as_json: bool
    """One object a line."""
    plain: bool
    """No colours, no boxes."""
    verbose: bool
    """Every verdict with its numbers."""


def ask(ask: Ask, bank: Bank, out: Path | None, shown: Shown, open_: OpenInstruments) -> int:
    """Say what it will take, ask, grade and print; the exit code."""
    from harness.agents.cache import default_cache
    from harness.agents.naming import Asking, agent_named
    from harness.agents.plan import plan, render_plan
    from harness.agents.skill_text import load_skill_text
    from harness.llm.meter import Meter
    from harness.rubric import Judging, judge_named
    from harness.runner import Settings, ask_agent

    errors = Output(stderr=True)
    skill = load_skill_text(ask.skill) if ask.skill is not None else None
    meter = Meter(ask.max_cost)
    asking = Asking(skill=skill, delivery=ask.delivery, meter=meter, cache=default_cache())
    errors.text(render_plan(plan(bank, ask.agent, asking, ask.trials)))
    if ask.plan_only:
        return 0
    used = SkillUsed(name=skill.name, digest=skill.digest, delivery=ask.delivery) if skill else None
    told = printing(
        as_json=shown.as_json, plain=shown.plain, verbose=shown.verbose, show_program=False
    )
    with (
        agent_named(ask.agent, asking) as agent,
        judge_named(ask.judge, Judging(meter=meter)) as reader,
        stored(
            out, "agent", bank, judge=reader.name, seed=ask.seed, agent=agent.name, skill=used
        ) as run,
        told as keep,
        progress_bar(errors) as watch,
    ):
        settings = Settings(
            seed=ask.seed,
            jobs=ask.jobs,
            asking=ASKED_AT_ONCE,
            watch=watch,
            judge=reader,
            keep=keep,
            run=run,
        )
        batch = ask_agent(bank, agent, ask.trials, settings, open_)
    if not shown.as_json:
        print_count(batch, plain=shown.plain)
    if meter.usage.output:
        errors.text(_spent(meter.usage.input, meter.usage.output, meter.spent))
    print_faults(batch.faults, all_traces=shown.verbose)
    return batch.exit_code()


def _spent(read: int, written: int, dollars: float) -> str:
    return f"harness: {read:,} tokens read, {written:,} written, ${dollars:.2f} spent"
