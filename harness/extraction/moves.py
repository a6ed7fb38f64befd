"""Which calls an answer says are moved or removed: a sentence has to name the call, or point at it."""

import re

from harness.extraction.anchors import UPDATE
from harness.extraction.deletions import FENCED

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n\s*\n|\n\s*[-*]\s")
_MOVES = re.compile(
    r"\b(?:mov(?:e|es|ed|ing)|remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing)|drop|drops|take out|takes? the"
    r"|get rid of|instead of|rather than|belongs?|goes|swap|swapp?ed|reorder|indent)\b",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\b(?:mov|remov|delet|drop|swap|reorder|take|indent)\w*\s+(?:out\s+)?"
    r"(?:it|them|this|that|these|those|the)\b(?:\s+(?:\w+\s+)?(?:lines?|calls?|two|statements?|block))?",
    re.IGNORECASE,
)
_STAYS = re.compile(
    r"\b(?:don'?t|do not|never|no need|needn'?t|without|not) (?:to )?(?:mov|remov|delet|drop)",
    re.IGNORECASE,
)
_WHAT = r"(?:(?:the|an?|each|every|all|your|both)\s+)*(?:`[^`]*`|[\w.]+(?:\(\))?)"
_PLACE = re.compile(
    r"\b(?:below|under|underneath|beneath|behind|after|following|above|before|ahead of|in front of"
    rf"|next to|beside|per|until|between\s+{_WHAT}\s+and)\s+{_WHAT}",
    re.IGNORECASE,
)
"""Calls that only say where another one is or goes: "the call below `loss.backward()`"."""
_NAMES = {
    "backward": r"backward", "step": r"\bstep\b", "zero_grad": r"zero_grad|zeroing|\bclear(?:s|ing)?\b",
    "clip": r"clip", "unscale_": r"unscal", "update": r"\bupdate\(", "scheduler": r"schedul",
    "all_reduce": r"all_?reduce",
}  # fmt: skip


def moved(answer: str) -> frozenset[str]:
    """Anchors of calls that may be taken away where they stand, because they stand elsewhere now."""
    found: set[str] = set()
    for sentence in _SENTENCE.split(FENCED.sub("\n\n", answer)):
        if not _MOVES.search(sentence) or _STAYS.search(sentence):
            continue
        if not _named(_PLACE.sub(" ", sentence)) and _POINTS.search(sentence):
            return UPDATE
        found |= _named(sentence)
    return frozenset(found)


def _named(sentence: str) -> set[str]:
    return {a for a, name in _NAMES.items() if re.search(name, sentence, re.IGNORECASE)}
