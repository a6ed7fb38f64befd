"""Looks for signals in an answer that was read."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.domain.lexicon import Patterns, Signal
from harness.rubric.reading import AnswerReading, Place
from harness.rubric.stance import asserted
from harness.scenarios.patterns import compiled

Terms = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MatchFound:
    """What was found."""

    quote: str
    """Word for word."""


def found(
    patterns: Patterns, reading: AnswerReading, terms: Terms, *, fault: bool
) -> MatchFound | None:
    """The first signal that the answer contains and does not take back elsewhere; ``None`` for none.
    ``fault``: the signal is something that an answer must not say, so that denying it does not
    count.
    """
    if any(_signal(s, reading, terms, fault=False) for s in patterns.unless):
        return None
    findings = (_signal(s, reading, terms, fault=fault) for s in patterns.signals)
    return next((finding for finding in findings if finding), None)


def shows(signal: Signal, text: str, terms: Terms, *, fault: bool) -> bool:
    """Whether a text by itself contains a signal. It tests the examples that the bank gives for its
    patterns.
    """
    return _signal(signal, AnswerReading(text), terms, fault=fault) is not None


def _signal(
    signal: Signal, reading: AnswerReading, terms: Terms, *, fault: bool
) -> MatchFound | None:
    own = signal.asserted if signal.asserted is not None else fault and signal.within != "code"
    for place in reading.places(signal.within):
        first = _first(signal, place, terms, own=own)
        if first is not None and not _matches(signal.none, place, terms):
            return MatchFound(place.quote(first.start()))
    return None


def _first(signal: Signal, place: Place, terms: Terms, *, own: bool) -> re.Match[str] | None:
    """The match to quote where every pattern of the signal is found in the place; else ``None``."""
    needed = _matches(signal.all, place, terms, own=own)
    choice = _matches(signal.any, place, terms, own=own)
    if len(needed) < len(signal.all) or (signal.any and len(choice) < signal.at_least):
        return None
    return next(iter([*choice, *needed]), None)


def _matches(
    patterns: Iterable[str], place: Place, terms: Terms, *, own: bool = False
) -> list[re.Match[str]]:
    """The first match of each pattern that is found in the place."""
    found = (_match(compiled(pattern, terms), place, own=own) for pattern in patterns)
    return [match for match in found if match is not None]


def _match(pattern: re.Pattern[str], place: Place, *, own: bool) -> re.Match[str] | None:
    matches = pattern.finditer(place.text)
    return next((m for m in matches if not own or _is_said(m, place)), None)


def _is_said(match: re.Match[str], place: Place) -> bool:
    start, end = place.around(match.start())
    sentence = place.text[start:end]
    return asserted(sentence, match.start() - start, min(match.end(), end) - start)
