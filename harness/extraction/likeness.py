"""How much a text is like each scenario: words that they share, rare ones counting more.

The score is the share of the text's distinctive words (weighted by how few scenarios use them) that
a scenario uses too. It is small, it can be explained, and it refuses when two scenarios are close, or
when the text leaves out most of what the scenario's message says.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from harness.domain.scenario import Bank, Scenario

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{2,}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

COVERED = 0.5
"""Part of a scenario's message, by the weight of its words, that the text has to say too. Questions of
others on the same topic say a fifth of it at most.
"""

_ENOUGH = 6  # distinctive words; any two texts share "how" and "with"


@dataclass(frozen=True, slots=True)
class Likeness:
    """The scenario that a text is most like."""

    scenario: str
    """Its id."""
    confidence: float
    """Between 0.5 (the second scenario is as close) and 1 (no other scenario is like it)."""
    runner_up: str | None
    """Id of the second one."""
    shared: tuple[str, ...]
    """The words that spoke most for it."""


def most_like(text: str, bank: Bank) -> Likeness | None:
    """The scenario that the text is most like; ``None`` when they share hardly a distinctive word."""
    described = {s.id: _described(_description(s)) for s in bank.scenarios}
    users = Counter(word for one in described.values() for word in one.emphases)
    said = _words(text)
    weights = {
        word: math.log(1 + len(described) / users[word]) * (1 + math.log(count))
        for word, count in said.items()
        if 0 < users[word] < max(2, len(described))
    }
    scores = {
        name: sum(w * one.emphases.get(word, 0.0) for word, w in weights.items()) / one.length
        for name, one in described.items()
    }
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    if not ranked or not scores[ranked[0]]:
        return None
    best, next_one = ranked[0], ranked[1] if len(ranked) > 1 else None
    rival = scores[next_one] if next_one else 0.0
    confidence = scores[best] ** 2 / (scores[best] ** 2 + rival**2)
    its_own = described[best].emphases
    strongest = sorted(weights, key=lambda w: weights[w] * (w in its_own), reverse=True)
    shared = [word for word in strongest if word in its_own]
    if len(shared) < _ENOUGH or _covered(best, said, bank) < COVERED:
        return None
    return Likeness(best, confidence, next_one, tuple(shared[:5]))


def _covered(best: str, said: Counter[str], bank: Bank) -> float:
    """How much of a scenario's message the words of a text say."""
    messages = {s.id: frozenset(_words(s.prompt)) for s in bank.scenarios}
    users = Counter(word for words in messages.values() for word in words)
    weights = {w: math.log(1 + len(messages) / users[w]) for w in messages[best]}
    return sum(w for word, w in weights.items() if word in said) / (sum(weights.values()) or 1.0)


def _description(scenario: Scenario) -> str:
    """Everything that the bank says about a scenario."""
    rubric = [criterion.asks for criterion in scenario.rubric]
    excuses = [text for r in scenario.rationalizations for text in (r.excuse, r.instead)]
    title = " ".join([scenario.id.replace("-", " "), scenario.title] * 3)
    programs = [scenario.buggy, scenario.reference]
    return "\n".join([title, scenario.pressure, scenario.prompt, *programs, *rubric, *excuses])


@dataclass(frozen=True, slots=True)
class _Described:
    """What the bank says about a scenario, as a vector of words."""

    emphases: dict[str, float]
    length: float


@lru_cache(512)  # a batch asks for the same scenarios with every answer
def _described(description: str) -> _Described:
    emphases = {word: 1 + math.log(count) for word, count in _words(description).items()}
    return _Described(emphases, math.hypot(*emphases.values()))


def _words(text: str) -> Counter[str]:
    """Words and parts of identifiers, in one form: ``clip_grad_norm_`` is clip, grad and norm."""
    parts = (part.lower() for word in _WORD.findall(text) for part in _PART.findall(word))
    return Counter(_stem(part) for part in parts if len(part) > 2)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
