"""Two programs side by side: what one has in place of the other, with the lines around it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from typing import Literal

from harness.domain.comparison import ExamplePair
from harness.domain.stored import StoredAnswer

Programs = Mapping[tuple[Literal["old", "new"], str, int], str]
"""Programs of answers, by arm, scenario and number of the trial."""

AROUND = 3
"""Lines that are shown before and after what differs."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of either program, or of both."""

    kind: Literal["same", "differs", "left out"]
    """``left out``: lines that are the same stand here."""
    old: str | None
    """``None``: the old program has nothing here."""
    new: str | None
    """``None``: the new one has nothing here."""


def program_of(stored: StoredAnswer) -> str:
    """The program that decides; of an answer without one, why there is none."""
    answer = stored.answer
    if answer.alternatives:
        return answer.deciding.program
    return f"(no program: {answer.no_code or answer.error or 'there is no code'})"


def both(programs: Programs, scenario: str, example: ExamplePair | None) -> tuple[str, str] | None:
    """The programs of a pair of answers; ``None`` where one is not known."""
    if example is None:
        return None
    old = programs.get(("old", scenario, example.old_trial))
    new = programs.get(("new", scenario, example.new_trial))
    return None if old is None or new is None else (old, new)


def side_by_side(old: str, new: str) -> Iterator[DiffRow]:
    """Row by row, aligned; of long stretches that are the same only what is near a difference."""
    before, after = old.splitlines(), new.splitlines()
    groups = [*SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(AROUND)]
    if not groups:
        yield DiffRow("left out", f"the programs are the same, {len(before)} lines", None)
        return
    end = 0
    for group in groups:
        if group[0][1] > end:
            yield _gap(group[0][1] - end)
        for tag, a, b, c, d in group:
            yield from _rows(before[a:b], after[c:d], same=tag == "equal")
        end = group[-1][2]
    if len(before) > end:
        yield _gap(len(before) - end)


def in_one_column(old: str, new: str) -> Iterator[str]:
    """The same for where nothing limits the width of a line: as ``diff -u`` writes it."""
    lines = unified_diff(old.splitlines(), new.splitlines(), n=AROUND, lineterm="")
    told = [*lines][2:]  # without the names of files that there are not
    yield from told or ["the programs are the same"]


def _gap(lines: int) -> DiffRow:
    return DiffRow("left out", f"... {lines} {'line' if lines == 1 else 'lines'} as before", None)


def _rows(old: list[str], new: list[str], *, same: bool) -> Iterator[DiffRow]:
    for n in range(max(len(old), len(new))):
        yield DiffRow(
            "same" if same else "differs",
            old[n] if n < len(old) else None,
            new[n] if n < len(new) else None,
        )
