"""What a report is made of: one or two sides of stored answers, and what is known about them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from harness.domain.answer import AnswerGrade
from harness.domain.comparison import Comparison, OutcomeTally
from harness.domain.grade import Code
from harness.domain.quality import QualityReport
from harness.domain.scenario import Scenario
from harness.domain.stored import RunHead, StoredAnswer
from harness.domain.trace import Trace
from harness.domain.verdict import Outcome

WORDS: dict[Code | str, str] = {
    "right": "code right",
    "wrong": "code wrong",
    "inconclusive": "inconclusive",
    "none": "no code",
    "unanswered": "no answer",
}
"""For each outcome of an answer its words in a report."""


def _no_traces(_: StoredAnswer) -> tuple[Trace, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class ReportSide:
    """A run, or a part of one, as a column of the report."""

    name: str
    """What to call it."""
    head: RunHead
    """How it was made."""
    answers: Mapping[str, Mapping[int, StoredAnswer]]
    """Answers by scenario id, and within a scenario by trial number."""
    traces: Callable[[StoredAnswer], tuple[Trace, ...]] = _no_traces
    """Reads the traces of an answer's alternatives, one each."""

    def trials(self, scenario: str) -> Mapping[int, StoredAnswer]:
        """Its answers to one scenario."""
        return self.answers.get(scenario, {})

    @property
    def all(self) -> Iterator[StoredAnswer]:
        """Every answer."""
        return (stored for trials in self.answers.values() for stored in trials.values())

    def count(self, scenario: str | None = None) -> OutcomeTally:
        """How many answers had which outcome, over all scenarios or in one."""
        chosen = self.all if scenario is None else self.trials(scenario).values()
        counts = dict.fromkeys(WORDS, 0)
        for stored in chosen:
            counts[stored.outcome] += 1
        return OutcomeTally.model_validate(counts)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a report shows."""

    sides: tuple[ReportSide, ...]
    """One, or two side by side."""
    scenarios: Mapping[str, Scenario] = field(default_factory=dict)
    """The bank's scenarios by id; ids that the bank does not know are missing."""
    comparison: Comparison | None = None
    """The comparison of the two sides; ``None`` for one side."""
    notes: tuple[str, ...] = ()
    """What a reader should know, one sentence each."""
    quality: QualityReport | None = None
    """How well the judge judges, where that is to be shown."""

    @property
    def asked(self) -> tuple[str, ...]:
        """Ids of the scenarios, in the order of the first side."""
        return tuple(dict.fromkeys(s for side in self.sides for s in side.answers))

    @property
    def title(self) -> str:
        """The names of the sides."""
        return " and ".join(side.name for side in self.sides)


def outcomes(answer: AnswerGrade) -> dict[str, Outcome]:
    """The outcome of each property by id, from the program that decides about the answer."""
    if not answer.alternatives:
        return {}
    return {v.property: v.outcome for v in answer.deciding.grade.verdicts}


def tally_in_words(tally: OutcomeTally) -> str:
    """``14 code right, 9 code wrong``."""
    counts = ((getattr(tally, name), words) for name, words in WORDS.items())
    return ", ".join(f"{count} {words}" for count, words in counts if count) or "no answers"
