"""From what stands behind ``--agent`` to an agent that can be asked."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.agents.agent import Agent
from harness.agents.batching import Outbox
from harness.agents.cache import Cache
from harness.agents.command import CommandAgent, command_agent
from harness.agents.conversing import ModelAgent
from harness.agents.delivery import Delivery, deliver
from harness.agents.replay import ReplayAgent
from harness.agents.replay_run import ReplayRun, replay_run
from harness.agents.scripted import BUGGY, REFERENCE, ScriptedAgent
from harness.agents.silent import SilentModel
from harness.agents.skill_text import SkillText
from harness.domain.errors import UsageError
from harness.llm.client import Anthropic
from harness.llm.meter import CostMeter
from harness.llm.remote import ClientLimits, RemoteModel
from harness.store import is_run

KINDS = "buggy, reference, anthropic:MODEL, openai:MODEL, command:'...' or replay:DIR"


Unconnected = ScriptedAgent | ReplayAgent | ReplayRun | CommandAgent | ModelAgent
"""Any agent, before it is connected to anything."""


@dataclass(frozen=True, slots=True)
class AskingOptions:
    """How agents are asked."""

    skill: SkillText | None = None
    """What they are given."""
    delivery: Delivery = "system"
    """How a model gets it. A command always finds it installed, unless this is ``none``."""
    meter: CostMeter = field(default_factory=CostMeter)
    """Counts tokens and dollars, and keeps the limit."""
    limits: ClientLimits = field(default_factory=ClientLimits)
    """How hard to try."""
    max_tokens: int = 16_000
    """The most that one answer may have, thinking included."""
    seconds: float = 900.0
    """For one answer of a command."""
    cache: Path | None = None
    """Where answers are kept; ``None`` for nowhere."""
    fresh: bool = False
    """Whether what is kept is asked anew."""
    replicate: str = ""
    """Another word here asks everything anew: for comparing a skill with itself."""
    outbox: Outbox | None = None
    """Takes the questions that have no answer yet, for a batch; ``None``: they are asked at once."""
    renewed: set[str] = field(default_factory=set)
    """Keys of what was answered since asking began, whatever is to be asked anew."""


@contextmanager
def agent_named(spec: str, asking: AskingOptions) -> Iterator[Agent]:
    """The agent; leaving breaks off what it is still doing.

    Raises:
        UsageError: there is no such agent, or something that it needs is missing.
    """
    agent: Agent = unconnected(spec, asking)
    if isinstance(agent, ModelAgent | CommandAgent) and agent.cache is not None:
        agent.cache.prepare()
    if isinstance(agent, ModelAgent) and asking.outbox is None:
        model = _connected(agent.provider, agent.model.name, asking)
        agent = replace(agent, model=model, close=model.close)
    try:
        yield agent
    finally:
        break_off(agent)


def break_off(agent: Agent) -> None:
    """End what the agent is doing, from any thread; who waits for it gets ``Unanswered``."""
    if isinstance(agent, ModelAgent):
        agent.close()
    elif isinstance(agent, CommandAgent):
        agent.processes.close()


def unkept(agent: Agent) -> Sequence[str]:
    """Why answers could not be kept, for each that was not."""
    if isinstance(agent, ModelAgent | CommandAgent) and agent.cache is not None:
        return agent.cache.unkept
    return ()


def unconnected(spec: str, asking: AskingOptions) -> Unconnected:
    """The same agent, but a model knows only what is kept: for plans, and it needs no key.

    Raises:
        UsageError: as ``agent_named``.
    """
    kind, colon, rest = spec.partition(":")
    cache = None
    if asking.cache is not None:
        cache = Cache(asking.cache, fresh=asking.fresh, renewed=asking.renewed)
    if spec in ("buggy", "reference"):
        return BUGGY if spec == "buggy" else REFERENCE
    if kind in ("anthropic", "openai") and rest:
        delivered = deliver(asking.skill, asking.delivery)
        apart, model = (asking.replicate, address(kind)), asking.outbox or SilentModel(rest)
        return ModelAgent(kind, model, delivered, asking.max_tokens, cache, apart)
    if kind == "command" and colon:
        skill = asking.skill if asking.delivery != "none" else None
        return command_agent(rest, skill, asking.seconds, cache, (asking.replicate,))
    if kind == "replay" and rest:
        return _replay(Path(rest))
    if kind in ("anthropic", "openai", "replay"):
        missing = "folder" if kind == "replay" else "model"
        raise UsageError(f"--agent {spec}: no {missing} is named; choose {KINDS}")
    raise UsageError(f"--agent {spec}: no such agent; choose {KINDS}")


def address(provider: str = "anthropic") -> str:
    """Where the API is; empty for the provider's own place."""
    return os.environ.get(f"{provider.upper()}_BASE_URL", "")


def _connected(provider: str, model: str, asking: AskingOptions) -> RemoteModel:
    if provider == "anthropic":
        return Anthropic(model, asking.meter, asking.limits)
    from harness.llm.openai_client import OpenAIModel  # an extra

    return OpenAIModel(model, asking.meter, asking.limits)


def _replay(folder: Path) -> ReplayAgent | ReplayRun:
    if not folder.is_dir():
        raise UsageError(f"--agent replay:{folder}: no such folder")
    return replay_run(folder) if is_run(folder) else ReplayAgent(folder)
