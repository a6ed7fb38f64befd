"""What an answer proposes up to one of its turns, and what judging that takes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.domain.answer import Alternative, AskedTurn, code_of_alternatives
from harness.domain.grade import Code
from harness.domain.scenario import Scenario
from harness.domain.trace import Trace
from harness.domain.transcript import Transcript


@dataclass(frozen=True, slots=True)
class AnswerToJudge:
    """An answer up to one of its turns; the scenario is named beside it."""

    transcript: Transcript
    """The conversation up to there."""
    turn: AskedTurn
    """Which turn that is."""
    called: str
    """The answer's name for readers."""
    agent: str
    """Who answered."""
    seed: int
    """Offset added to every workload's seed."""


@dataclass(frozen=True, slots=True)
class JudgedProgram:
    """One program that was judged, with its trace."""

    alternative: Alternative
    """The program and its grade."""
    trace: Trace
    """What it was judged by."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """The programs of an answer up to one of its turns, judged."""

    turn: AskedTurn
    """The turn."""
    programs: tuple[JudgedProgram, ...] = ()
    """In the order in which the answer proposes them."""
    no_code: str | None = None
    """Why there is none."""
    repaired: bool = False
    """Whether this first turn is wrong and the second one is right."""

    @property
    def code(self) -> Code:
        """How its programs are judged together."""
        return code_of_alternatives([one.alternative for one in self.programs])

    def or_second(self, second: "Proposal") -> "Proposal":
        """A wrong first turn stays wrong; one that could not be judged gives way to the second."""
        if self.code == "wrong":
            return replace(self, repaired=second.code == "right")
        return second if second.programs else self


Elsewhere = Callable[[AnswerToJudge, Scenario], Proposal]
"""Judges every program of an answer. Called from several threads at once."""
