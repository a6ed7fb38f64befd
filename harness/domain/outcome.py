"""The result of running the bank: a run, and what kept it from being complete."""

from dataclasses import dataclass

from harness.domain.run import Run


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of the harness. It says nothing about the program that was being judged."""

    scenario: str
    """Id of the scenario."""
    agent: str
    """Whose answer was being graded."""
    sentence: str
    """What happened."""
    trace: str = ""
    """The traceback, where there was an exception."""


@dataclass(frozen=True, slots=True)
class BankOutcome:
    """Everything that a run of the bank found."""

    run: Run
    """Every scenario that was finished."""
    faults: tuple[Fault, ...]
    """Faults of the harness, in the bank's order."""
    interrupted: bool
    """Whether Ctrl-C ended it."""
    unstored: tuple[str, ...] = ()
    """Why an answer could not be stored, for each that is not in the run's folder."""

    @property
    def exit_code(self) -> int:
        """130 when it was interrupted, 3 for a fault of the harness, 2 for what could not be stored, 1
        for a surprise, otherwise 0.
        """
        if self.interrupted:
            return 130
        if self.faults:
            return 3
        if self.unstored:
            return 2
        return 1 if any(result.surprises for result in self.run.results) else 0
