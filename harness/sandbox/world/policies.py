"""A policy that is lent, its critic, and what it met: to programs that draw actions of a Categorical and
leave the networks to their reader. Two networks or one with two results, as the program calls them.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from harness.sandbox.batches.callers import ResultUse, frame_of_the_program
from harness.sandbox.names.table import Table, words
from harness.sandbox.world.reading import ProgramReading, last_name
from harness.workloads import WorkloadBatch
from harness.workloads.widths import take_any_width

ACTIONS = 4
WIDTH = 16
ROWS = 512
WORLDS = 4
TIMES = re.compile(r"\(?(T|times?|n_?steps|steps), \w+\)? = \w+\.shape(\[:2\])?$")
"""How the length of a rollout is taken, before the number of worlds."""


CRITIC = re.compile(
    r"(?!actor critic)(.* )?(critic|value|v|baseline|vf)( (net|network|fn|head|model))?"
)
ACTOR = re.compile(r"((.* )?(actor|policy|pi)|actor critic|ac|agent)( (net|network|head|model))?")
"""Networks, by their names."""

SHARED = re.compile(
    r"(shared |obs )?(encoder|trunk|backbone|torso|body|embed(der)?)( (net|network))?"
)
"""A network before theirs, by its name."""

VALUE = re.compile(r"(.* )?(v|vs|val|vals|values?|vpred|baselines?)( .*)?")
PROBABILITY = re.compile(r"(.* )?(probs?|probabilities)")
DISTRIBUTION = re.compile(r"(.* )?(dist|distribution)|pi|policy")
"""Results that are no logits, by their names."""

MET: Mapping[str, re.Pattern[str]] = {
    "action": re.compile(r"(.* )?(acts?|actions?)"),
    "return": re.compile(r"(.* )?(rets?|returns?|rewards?|rews?|advs?|advantages?)"),
    "old log-probability": re.compile(r"(old )?(logps?|log ps?|log probs?|logprobs?)( old)?"),
    "end": re.compile(r"dones?|terminals?|terminated"),
    "input": re.compile(r"next (obs|states?|observations?)|(obs|states?) next"),
}
"""What a rollout holds, and its names."""


class ActorCritic(nn.Module):
    """Logits, values or both, as the program takes them."""

    def __init__(self, features: int, gives: str, *, draws: bool) -> None:
        """``gives``: ``actor``, ``critic`` or ``both``. ``draws``: whether its program asks what it
        returns for a probability, so that it is a distribution.
        """
        super().__init__()
        self.gives, self.draws = gives, draws
        self.body = nn.Sequential(nn.Linear(features, WIDTH), nn.Tanh())
        if gives != "critic":
            self.pi = nn.Linear(WIDTH, ACTIONS)
        if gives != "actor":
            self.v = nn.Linear(WIDTH, 1)

    def forward(self, obs: Tensor) -> Any:
        """(n, features) -> logits (n, actions), values (n,)"""
        hidden = self.body(obs)
        names = ResultUse(frame_of_the_program()).names
        if self.gives == "critic":
            return self._values(hidden)
        if self.gives == "actor" or len(names) != 2:
            return self._of_actions(hidden, names[0] if len(names) == 1 else "")
        first = _is(VALUE, names[0])
        values, chosen = self._values(hidden), self._of_actions(hidden, names[first])
        return (values, chosen) if first else (chosen, values)

    def _values(self, hidden: Tensor) -> Tensor:
        found: Tensor = self.v(hidden)
        return found.squeeze(-1)

    def _of_actions(self, hidden: Tensor, name: str) -> Any:
        logits = self.pi(hidden)
        if _is(PROBABILITY, name):
            return logits.softmax(-1)
        return Categorical(logits=logits) if self.draws or _is(DISTRIBUTION, name) else logits


def is_about(reading: ProgramReading) -> bool:
    """Whether a program trains a policy over a few actions, and none of its networks is shown."""
    continuous = {"Normal", "MultivariateNormal", "Independent", "Beta", "TransformedDistribution"}
    others = reading.builds_models or continuous & reading.called
    return "log_prob" in reading.called and not others


def networks(reading: ProgramReading, table: Table, features: int) -> dict[str, nn.Module]:
    """The networks that it calls, by the last word of their names."""
    calls = (n.func for n in reading.nodes if isinstance(n, ast.Call))
    called = (f for f in calls if isinstance(f, ast.Name | ast.Attribute))
    found: dict[str, nn.Module] = {}
    pairs, draw = _taken_apart(reading), _distributions(reading)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for name in dict.fromkeys(last for f in called if (last := last_name(f))):
            gives = _gives(name, table)
            if name[0].isupper():
                continue
            if _is(SHARED, name):
                found[name] = nn.Sequential(nn.Linear(features, WIDTH), nn.Tanh())
            elif gives is not None:
                found[name] = ActorCritic(
                    features, "both" if name in pairs else gives, draws=name in draw
                )
                take_any_width(found[name])
    return found


def part_of_a_rollout(name: str) -> str | None:
    """What of a rollout a name means."""
    return next((role for role, pattern in MET.items() if _is(pattern, name)), None)


def in_time(reading: ProgramReading) -> bool:
    """Whether a rollout has two dimensions, times and worlds: ``obs.flatten(0, 1)``."""
    return any(
        "flatten(0, 1)" in (said := ast.unparse(n)) or TIMES.match(said)
        for n in reading.nodes
        if isinstance(n, ast.Call | ast.Assign)
    )


def rollout(batch: WorkloadBatch, *, in_time: bool) -> dict[str, Tensor]:
    """What the policy met: more than one minibatch of usual size. (n, ...), or (times, 4, ...)"""
    times = -(-ROWS // len(batch.inputs))
    seen = torch.cat([batch.inputs * 0.99**n for n in range(times)])[:ROWS]
    row = seen.sum(1)
    if in_time:
        seen, row = seen.unflatten(0, (-1, WORLDS)), row.unflatten(0, (-1, WORLDS))
    return {
        "input": seen,
        "action": (row * 100).long() % ACTIONS,
        "return": torch.tanh(row) + 0.5,
        "old log-probability": torch.full_like(row, 1 / ACTIONS).log(),
        "end": torch.zeros_like(row),
    }


def side_of(name: str) -> str | None:
    """Whether a name means the actor or the critic."""
    if _is(CRITIC, name):
        return "critic"
    return "actor" if _is(ACTOR, name) else None


def _gives(name: str, table: Table) -> str | None:
    return side_of(name) or ("actor" if table.role(name) == "model" else None)


def _taken_apart(reading: ProgramReading) -> set[str]:
    """What returns two things, by the last word of its name."""
    found = set[str]()
    for node in reading.nodes:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[_, _])], value=ast.Call(func=function)):
                found.add(last_name(function) or "")
    return found


def _distributions(reading: ProgramReading) -> set[str]:
    """What returns a distribution, by the last word of its name: ``policy(obs).log_prob(actions)``."""
    found = set[str]()
    for node in reading.nodes:
        match node:
            case ast.Attribute(
                value=ast.Call(func=function), attr="log_prob" | "entropy" | "sample"
            ):
                found.add(last_name(function) or "")
    return found


def _is(pattern: re.Pattern[str], name: str) -> bool:
    return pattern.fullmatch(" ".join(words(name))) is not None
