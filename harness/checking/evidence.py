"""What speaks against an example and what speaks for it; and what that does to its claim. Pure."""

from dataclasses import dataclass, field

from harness.domain.check import Observation, Status
from harness.domain.skill import Mark
from harness.domain.verdict import Number


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was seen, with its figures."""

    sentence: str
    """What was seen."""
    numbers: tuple[Number, ...] = ()
    """The figures behind it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that executing an example has shown."""

    faults: tuple[Finding, ...] = ()
    """What makes the code wrong, whatever it was written for."""
    costs: tuple[Finding, ...] = ()
    """Disadvantages that a purpose may justify. They confirm a mark that says wrong, and never refute
    one that says right.
    """
    merits: tuple[Finding, ...] = ()
    """What was checked and found right."""
    remarks: tuple[Observation, ...] = ()
    """What else was seen."""
    acquittal: Finding | None = None
    """A figure that shows that the very fault which the author names is absent; ``None`` where none
    shows it.
    """
    not_run: str | None = None
    """Why the example could not be executed; ``None`` where it was."""
    until: str | None = None
    """What ended it after it had trained, by no fault of its author's: nobody knows how it goes on."""

    @property
    def is_silent(self) -> bool:
        """Whether there are no faults, no costs and no merits."""
        return not (self.faults or self.costs or self.merits)


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a claim holds, and why."""

    status: Status
    """One of the states that an example may end in."""
    sentence: str
    """Why."""
    numbers: tuple[Number, ...] = ()
    """The figures behind it."""
    observations: tuple[Observation, ...] = field(default=())
    """What is worth saying beside it."""


def decide(mark: Mark | None, seen: Evidence, *, warned: bool = False) -> Decision:
    """Hold a claim against the evidence. Only a fault refutes an example that is marked right, and a
    merit confirms it; a fault or a cost confirms one that is marked wrong, and an acquittal refutes
    it. ``warned``: where nothing is claimed, the author may know of the fault.
    """
    if seen.not_run is not None:
        return Decision("cannot-be-run", seen.not_run)
    if seen.until is not None and not (seen.faults or seen.costs):
        return Decision("inconclusive", f"It trains, and ends before its end: {seen.until}")
    if mark is None:
        return _unmarked(seen, warned=warned)
    if mark.polarity in ("right", "better"):
        return _meant_right(seen)
    return _meant_wrong(seen)


def figure(name: str, value: float) -> Number:
    """A number behind a finding, with what it is."""
    return Number(name=name, value=value)


def _meant_right(seen: Evidence) -> Decision:
    remarks = (*map(_remark, seen.costs), *seen.remarks)
    if seen.faults:
        first = seen.faults[0]
        rest = tuple(map(_remark, seen.faults[1:]))
        return Decision("fails", first.sentence, first.numbers, (*rest, *remarks))
    if not seen.merits:
        return Decision("inconclusive", "It runs; nothing was seen that bears it out.", (), remarks)
    return Decision("holds", _joined(seen.merits), _figures(seen.merits), remarks)


def _meant_wrong(seen: Evidence) -> Decision:
    found = (*seen.faults, *seen.costs)
    if found:
        first = found[0]
        return Decision(
            "holds", first.sentence, first.numbers, (*map(_remark, found[1:]), *seen.remarks)
        )
    if seen.acquittal is not None:
        return Decision("fails", seen.acquittal.sentence, seen.acquittal.numbers, seen.remarks)
    sentence = "No fault was seen under the conditions that were tried."
    return Decision("inconclusive", sentence, _figures(seen.merits), seen.remarks)


def _unmarked(seen: Evidence, *, warned: bool) -> Decision:
    faults = tuple(map(_remark, seen.faults))
    found = (*faults, *map(_remark, seen.costs), *seen.remarks)
    if seen.faults and not warned:
        first = seen.faults[0]
        return Decision("fault", first.sentence, first.numbers, found[1:])
    sentence = "It runs." if not seen.merits else _joined(seen.merits)
    return Decision("runs", sentence, _figures(seen.merits), found)


def _remark(finding: Finding) -> Observation:
    return Observation(sentence=finding.sentence, numbers=finding.numbers)


def _joined(findings: tuple[Finding, ...]) -> str:
    return " ".join(finding.sentence for finding in findings[:3])


def _figures(findings: tuple[Finding, ...]) -> tuple[Number, ...]:
    return tuple(number for finding in findings[:3] for number in finding.numbers)
