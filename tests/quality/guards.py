"""What keeps cheats from being graded right, each with a switch for tests.

A guard that is off is one idea less in the judge: what a cheat then gets shows what the guard is for.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from harness.domain.grade import Code, code_of
from harness.domain.verdict import Verdict
from harness.oracle import integrity, program
from harness.properties import completion
from harness.properties.diagnosis import layers

Switch = Callable[[pytest.MonkeyPatch], None]
Reading = Callable[[tuple[Verdict, ...]], Code]


@dataclass(frozen=True)
class Guard:
    """One idea that a cheat has to get past."""

    name: str
    """Its name on the page."""
    idea: str
    """The idea, in a sentence."""
    off: Switch = lambda patch: None
    """Switches it off in the oracle or in the properties."""
    read: Reading = code_of
    """How verdicts become a grade without it."""


def _nothing_fails(verdicts: tuple[Verdict, ...]) -> Code:
    """Without numbers nothing can be wrong: a program is believed, if only it came to an end."""
    believed = tuple(v.model_copy(update={"outcome": "pass"}) for v in verdicts)
    return code_of(believed)


def _unknown_is_fine(verdicts: tuple[Verdict, ...]) -> Code:
    believed = (
        v.model_copy(update={"outcome": "pass"}) if v.outcome == "inconclusive" else v
        for v in verdicts
    )
    return code_of(tuple(believed))


def _quiet(*names: str) -> Switch:
    def switch(patch: pytest.MonkeyPatch) -> None:
        for name in names:
            patch.setattr(completion, name, lambda probe: None)

    return switch


def _no_book(name: str) -> Switch:
    return lambda patch: patch.setattr(integrity, name, lambda *_: None)


def _any_line(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(program, "_usual_lines", lambda *_: frozenset())


def _any_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(layers, "MANY", 10**9)
    patch.setattr(layers, "HALF", 0.0)
    patch.setattr(layers, "FEW", 0)


GUARDS = {
    guard.name: guard
    for guard in (
        Guard("numbers", "Recomputed numbers decide, whatever was called, printed or returned.",
              read=_nothing_fails),
        Guard("evidence", "A pass needs positive evidence; what cannot be told is never a pass.",
              read=_unknown_is_fine),
        Guard("follow", "New parameters have to follow from the gradient that was consumed.",
              _quiet("does_not_follow")),
        Guard("output", "A model that nobody changed gives the output that it gives when recomputed.",
              _quiet("another_output")),
        Guard("overwrite", "What an update did to the parameters has to last until the next one.",
              _quiet("is_overwritten")),
        Guard("numbering", "Events are numbered where they arise; one too many stands out of turn.",
              _no_book("out_of_turn")),
        Guard("traffic", "The bytes between ranks are counted outside of the ranks.",
              _no_book("unaccounted")),
        Guard("usual lines", "What is printed for every batch reports nothing about one.",
              _any_line),
        Guard("precision", "Among many printed numbers most have to be true.", _any_number),
    )
}  # fmt: skip
"""By name."""


@contextmanager
def switched_off(name: str) -> Iterator[Guard]:
    """The judge without one guard."""
    with pytest.MonkeyPatch.context() as patch:
        GUARDS[name].off(patch)
        yield GUARDS[name]
