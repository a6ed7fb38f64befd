"""What asking will take, before anything is asked."""

from collections.abc import Iterable, Sequence
from functools import reduce

from harness.agents.command import CommandAgent
from harness.agents.conversing import ModelAgent
from harness.agents.naming import AskingOptions, unconnected
from harness.agents.prompting import runnable_form
from harness.agents.replay import ReplayAgent
from harness.agents.replay_run import ReplayRun
from harness.domain.record import Record
from harness.domain.scenario import Bank, Scenario
from harness.domain.transcript import Usage
from harness.llm.batches import HALF
from harness.llm.meter import add
from harness.llm.prices import Price, load_prices

_CHARACTERS_A_TOKEN = 3.2
"""English and code, with the newer tokenizers; a plan needs no more."""
_TOKENS_AN_ANSWER = 2500
"""Thinking included: a guess, and the largest part of the estimate's uncertainty."""
_FEWEST_TOKENS_CACHED = 1024


class AskingPlan(Record):
    """What asking will take. Figures for tokens and dollars are estimates."""

    agent: str
    """Who would be asked."""
    scenarios: int
    """How many."""
    trials: int
    """Of each."""
    kept: int
    """Questions whose answer is kept already."""
    calls: int
    """Calls of a model, or runs of a command."""
    usage: Usage | None = None
    """Tokens; ``None`` where they are not known here."""
    cost: float | None = None
    """US dollars; ``None`` where the price is not known."""
    most: float | None = None
    """The same if every answer were as long as it may be."""
    seconds: float | None = None
    """The most that one run of a command may take."""
    limit: float | None = None
    """``--max-cost``."""
    batched: bool = False
    """Whether it is asked in batches, at half the price."""


def plan(bank: Bank, spec: str, asking: AskingOptions, trials: int) -> AskingPlan:
    """The plan. Asks nothing and needs no key.

    Raises:
        UsageError: there is no such agent, or answers to be replayed are missing.
    """
    agent = unconnected(spec, asking)
    if isinstance(agent, ReplayAgent | ReplayRun):
        agent.check(bank.scenarios, trials)
    asked = bank.scenarios
    if isinstance(agent, ModelAgent | CommandAgent):
        asked = tuple(
            scenario
            for scenario in bank.scenarios
            for trial in range(1, trials + 1)
            if not agent.remembers(scenario, trial)
        )
    base = AskingPlan(
        agent=agent.name, scenarios=len(bank.scenarios), trials=trials, kept=0, calls=0
    )
    if isinstance(agent, ModelAgent):
        base = _of_model(base, agent, asked, asking)
    elif isinstance(agent, CommandAgent):
        base = base.model_copy(update={"calls": len(asked), "seconds": agent.seconds})
    else:
        return base
    return base.model_copy(update={"kept": len(bank.scenarios) * trials - len(asked)})


def together(plans: Sequence[AskingPlan]) -> AskingPlan:
    """One for all arms of a comparison, which are asked alike."""
    first = plans[0]
    usage = [one.usage for one in plans if one.usage is not None]
    return first.model_copy(
        update={
            "trials": sum(one.trials for one in plans),
            "kept": sum(one.kept for one in plans),
            "calls": sum(one.calls for one in plans),
            "usage": reduce(add, usage) if usage else None,
            "cost": _sum(one.cost for one in plans),
            "most": _sum(one.most for one in plans),
            "limit": _sum(one.limit for one in plans),
        }
    )


def _sum(parts: Iterable[float | None]) -> float | None:
    known = [*parts]
    return None if None in known else sum(one for one in known if one is not None)


def render_plan(plan: AskingPlan) -> str:
    """One or two lines, for people."""
    trials = _many(plan.trials, "trial")
    said = f"{plan.agent}: {_many(plan.scenarios, 'scenario')} in {trials}"
    if plan.kept:
        said += f", {_many(plan.kept, 'answer')} kept from before"
    if plan.calls == 0:
        return f"{said}; nothing is asked and nothing is paid"
    if plan.usage is None:
        return (
            f"{said}; {_many(plan.calls, 'run')} of the command, at most {plan.seconds:g} s each; "
            "what that costs is not known here"
        )
    read = plan.usage.input + plan.usage.cache_read + plan.usage.cache_write
    tokens = f"{_many(plan.calls, 'call')}, about {read:,} tokens in and {plan.usage.output:,} out"
    return f"{said}; {tokens}\n{render_money(plan)}"


def render_money(plan: AskingPlan) -> str:
    """What it costs, at once and in batches; a line."""
    prices = load_prices()
    if plan.cost is None or plan.most is None:
        model = plan.agent.partition(":")[2]
        return f"cost: not known, {model} is not in the price table of {prices.date}"
    said = f"cost: {_dollars(plan, 1)} if every answer were as long as allowed"
    other = f"in batches (--batch) {_dollars(plan, HALF)}"
    if plan.batched:
        said = f"cost: {_dollars(plan, HALF)} if every answer were as long as allowed"
        other = f"without --batch {_dollars(plan, 1)}"
    said += f" (prices of {prices.date}); {other}"
    if plan.limit is None:
        return said
    about = plan.cost * (HALF if plan.batched else 1)
    enough = "" if about <= plan.limit else ", probably before all is asked"
    return f"{said}; it stops before ${plan.limit:.2f}{enough}"


def trigger_plan(
    agent: ModelAgent, listing: str, prompts: Sequence[str], asking: AskingOptions
) -> AskingPlan:
    """Of one reply to each prompt, with a list of skills before it."""
    count, price = len(prompts), load_prices().of(agent.model.name)
    read = sum(_tokens(prompt) + _tokens(listing) for prompt in prompts)
    usage = Usage(input=read, output=count * _TOKENS_AN_ANSWER)
    longest = usage.model_copy(update={"output": count * agent.max_tokens})
    return AskingPlan(
        agent=agent.name,
        scenarios=count,
        trials=1,
        kept=0,
        calls=count,
        usage=usage,
        cost=price.of(usage) if price else None,
        most=_uncached(price).of(longest) if price else None,
        limit=asking.meter.limit,
        batched=asking.outbox is not None,
    )


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _dollars(plan: AskingPlan, share: float) -> str:
    """What it costs, at this share of the price."""
    return f"about ${share * (plan.cost or 0):.2f}, at most ${share * (plan.most or 0):.2f}"


def _of_model(
    base: AskingPlan, agent: ModelAgent, asked: tuple[Scenario, ...], asking: AskingOptions
) -> AskingPlan:
    by_tool = agent.delivered.kind == "tool"
    rounds = 3 if by_tool else 2
    usage = Usage(output=rounds * _TOKENS_AN_ANSWER * len(asked))
    system = _tokens(agent.delivered.system)
    body = _tokens(agent.delivered.skill.main) if by_tool and agent.delivered.skill else 0
    read = sum(
        rounds * _tokens(scenario.prompt) + 2 * body + _TOKENS_AN_ANSWER + _tokens(runnable_form())
        for scenario in asked
    )
    usage = _with_system(usage, read, system, rounds * len(asked), asking.limits.parallel)
    price = load_prices().of(agent.model.name)
    longest = usage.model_copy(update={"output": rounds * agent.max_tokens * len(asked)})
    return base.model_copy(
        update={
            "calls": rounds * len(asked),
            "usage": usage,
            "cost": price.of(usage) if price else None,
            "most": _uncached(price).of(longest) if price else None,
            "limit": asking.meter.limit,
            "batched": asking.outbox is not None,
        }
    )


def _with_system(usage: Usage, read: int, system: int, calls: int, parallel: int) -> Usage:
    """The system prompt is the same in all calls: the first write it to the cache."""
    if system < _FEWEST_TOKENS_CACHED:
        return usage.model_copy(update={"input": read + calls * system})
    writing = min(calls, parallel)
    return usage.model_copy(
        update={
            "input": read,
            "cache_write": writing * system,
            "cache_read": (calls - writing) * system,
        }
    )


def _uncached(price: Price) -> Price:
    dear = max(price.input, price.cache_write)
    return price.model_copy(update={"input": dear, "cache_write": dear, "cache_read": dear})


def _tokens(text: str) -> int:
    return round(len(text) / _CHARACTERS_A_TOKEN)
