"""The bank, a criterion of each kind, and a model that says what it is told to say."""

from collections.abc import Sequence
from pathlib import Path

from harness.domain.model import Completion, Turn, Unavailable
from harness.domain.scenario import Criterion, Scenario
from harness.domain.transcript import Message, Transcript, Usage
from harness.domain.verdict import Verdict
from tests.bank import BANK

ROOT = Path(__file__).resolve().parents[2]


def scenario(name: str) -> Scenario:
    return next(s for s in BANK.scenarios if s.id == name)


def criterion(by="both", polarity="must", properties=("clip-before-step",)) -> Criterion:
    return Criterion(id="c", polarity=polarity, by=by, asks="does it", properties=properties)


def verdict(name="clip-before-step", outcome="pass") -> Verdict:
    return Verdict(property=name, outcome=outcome, sentence="seen")


def transcript(answer: str) -> Transcript:
    return Transcript(messages=(Message(role="assistant", text=answer),), agent="somebody")


class ScriptedModel:
    """Gives its replies one after the other and remembers what it was asked."""

    name = "scripted"

    def __init__(self, *replies: str | Unavailable) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, tuple[Turn, ...]]] = []

    def complete(
        self, system: str, turns: Sequence[Turn], *, max_tokens: int, tools=()
    ) -> Completion:
        self.asked.append((system, tuple(turns)))
        reply = self.replies.pop(0)
        if isinstance(reply, Unavailable):
            raise reply
        return Completion(model=self.name, text=reply, usage=Usage(), cost=None)
