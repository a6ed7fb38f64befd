"""How much of each scenario's message a question says: words that they share, rare ones counting more.

The score is small, it can be explained, and it refuses when two scenarios are close, or when the
question leaves out most of what the message says.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from harness.domain.scenario import Bank

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
    """The scenario whose message the text says most of; ``None`` where it says little of any."""
    messages = {s.id: _words(s.prompt) for s in bank.scenarios}
    users = Counter(word for words in messages.values() for word in words)
    weights = {word: math.log(1 + len(messages) / count) for word, count in users.items()}
    said = _words(text)
    scores = {name: _covered(words, said, weights) for name, words in messages.items()}
    ranked = sorted(scores, key=scores.__getitem__, reverse=True)
    if not ranked or scores[ranked[0]] < COVERED:
        return None
    best, next_one = ranked[0], ranked[1] if len(ranked) > 1 else None
    shared = sorted(messages[best] & said, key=lambda word: (-weights[word], word))
    if len(shared) < _ENOUGH:
        return None
    rival = scores[next_one] if next_one else 0.0
    confidence = scores[best] ** 2 / (scores[best] ** 2 + rival**2)
    return Likeness(best, confidence, next_one, tuple(shared[:5]))


def _covered(message: frozenset[str], said: frozenset[str], weights: dict[str, float]) -> float:
    total = sum(weights[word] for word in message)
    return sum(weights[word] for word in message & said) / (total or 1.0)


@lru_cache(512)  # a batch asks for the same scenarios with every answer
def _words(text: str) -> frozenset[str]:
    """Words and parts of identifiers, in one form: ``clip_grad_norm_`` is clip, grad and norm."""
    parts = (part.lower() for word in _WORD.findall(text) for part in _PART.findall(word))
    return frozenset(_stem(part) for part in parts if len(part) > 2)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word
