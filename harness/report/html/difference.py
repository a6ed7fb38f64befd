"""How the program of one side differs from that of the other, line by line."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Literal

from harness.report.reported import ReportSide

Kind = Literal["old", "new", "same"]
_KINDS: dict[str, Kind] = {"-": "old", "+": "new"}
_LONGEST = 400
"""Lines that are shown."""


@dataclass(frozen=True, slots=True)
class ProgramDifference:
    """Of the most frequent program of each side."""

    lines: tuple[tuple[Kind, str], ...]
    """Each line with whose it is, sign included; empty where both are the same."""
    sides: tuple[str, str]
    """Which trials of each side have these programs, in words."""


def difference_of(sides: Sequence[ReportSide], scenario: str) -> ProgramDifference | None:
    """``None`` on one side, and where one has no program."""
    found = [_usual(side, scenario) for side in sides]
    if len(found) != 2 or found[0] is None or found[1] is None:
        return None
    (old, by_old), (new, by_new) = found[0], found[1]
    different = list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:]
    lines = tuple((_KINDS.get(line[:1], "same"), line) for line in different[:_LONGEST])
    return ProgramDifference(lines, (by_old, by_new))


def _usual(side: ReportSide, scenario: str) -> tuple[str, str] | None:
    trials = side.trials(scenario)
    programs = {n: one.answer.program for n, one in trials.items()}
    counts = Counter(program for program in programs.values() if program is not None)
    if not counts:
        return None
    usual = counts.most_common(1)[0][0]
    numbers = [str(n) for n, program in programs.items() if program == usual]
    return usual, f"{side.name}, {'trial' if len(numbers) == 1 else 'trials'} {', '.join(numbers)}"
