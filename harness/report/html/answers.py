"""Each answer as the page shows it: what it came to, why, pictures, and what was said."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.domain.answer import Alternative
from harness.domain.scenario import Objective, Scenario
from harness.domain.stored import StoredAnswer
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.report.html.transcript import MessageView, transcript_view
from harness.report.pictures import Picture, pictures_of
from harness.report.reported import Report, ReportSide

_ANY: tuple[Objective, ...] = ("micro-batch-mean", "sample-mean", "as-computed")


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One property's judgement."""

    verdict: Verdict
    """With its sentence and numbers."""
    level: str
    """``advisory`` where it flips nothing; else empty."""


@dataclass(frozen=True, slots=True)
class ProgramView:
    """One of the programs that an answer proposes."""

    alternative: Alternative
    """The program, its grade and what happened."""
    telling: tuple[VerdictView, ...]
    """What fails, then what is inconclusive."""
    passing: tuple[VerdictView, ...]
    """The rest."""
    pictures: tuple[Picture, ...]
    """None where none were drawn."""


@dataclass(frozen=True, slots=True)
class SameView:
    """A further trial with the same programs: only what was said may differ."""

    anchor: str
    """Its id on the page."""
    number: int
    """Of the trial."""
    messages: tuple[MessageView, ...]
    """What was said."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """One answer."""

    anchor: str
    """Its id on the page."""
    number: int
    """Of the trial."""
    stored: StoredAnswer
    """All that was stored."""
    outcome: str
    """What it came to; a key of ``WORDS``."""
    programs: tuple[ProgramView, ...]
    """What it proposes."""
    messages: tuple[MessageView, ...]
    """What was said."""
    same: tuple["SameView", ...] = ()
    """Further trials with the same programs and the same verdicts."""

    @property
    def count(self) -> int:
        """How many answers it stands for."""
        return 1 + len(self.same)

    @property
    def numbers(self) -> str:
        """``trial 1``, ``trials 1, 3, 4``."""
        numbers = [self.number, *(one.number for one in self.same)]
        return f"{'trials' if self.same else 'trial'} {', '.join(map(str, numbers))}"

    @property
    def name(self) -> str:
        """What tells it apart from its neighbours."""
        stored = self.stored
        return stored.answer.file if stored.answer.file != stored.key else stored.agent


@dataclass(frozen=True, slots=True)
class ScenarioView:
    """One scenario with its answers, side by side."""

    anchor: str
    """Its id on the page."""
    name: str
    """Its id in the bank."""
    scenario: Scenario | None
    """What the bank says about it, where it knows it."""
    sides: tuple[tuple[str, tuple[AnswerView, ...]], ...]
    """Name of each side, and its answers."""


class Drawing:
    """Pictures for as many programs as may have one, those of wrong answers first."""

    def __init__(self, report: Report, most: int) -> None:
        """``most``: programs with pictures."""
        self._report = report
        answers = [stored for side in report.sides for stored in side.all]
        answers.sort(key=lambda stored: stored.outcome != "wrong")  # stable: else their order
        programs = [
            (id(stored), number)
            for stored in answers
            for number in range(len(stored.answer.alternatives))
        ]
        self._chosen = frozenset(programs[:most])
        self.left_out = max(0, len(programs) - most)

    def of(self, side: ReportSide, stored: StoredAnswer) -> list[tuple[Picture, ...]]:
        """Pictures of each alternative of an answer; empty where none are drawn."""
        count = len(stored.answer.alternatives)
        chosen = [(id(stored), number) in self._chosen for number in range(count)]
        traces = side.traces(stored) if any(chosen) else ()
        if len(traces) != count:
            return [()] * count
        scenario = self._report.scenarios.get(stored.answer.scenario or "")
        return [
            tuple(_drawn(trace, scenario)) if wanted else ()
            for trace, wanted in zip(traces, chosen, strict=True)
        ]


def scenario_views(report: Report, drawing: Drawing) -> Iterator[ScenarioView]:
    """One scenario after the other: a page of many answers is long, memory need not be."""
    for place, name in enumerate(report.asked):
        sides = tuple(
            (side.name, tuple(_answers(side, name, f"answer-{place}-{column}", drawing)))
            for column, side in enumerate(report.sides)
        )
        yield ScenarioView(f"scenario-{place}", name, report.scenarios.get(name), sides)


def _answers(
    side: ReportSide, scenario: str, anchor: str, drawing: Drawing
) -> Iterator[AnswerView]:
    for number, stored, same in _grouped(side.trials(scenario)):
        alternatives = stored.answer.alternatives
        pictures = drawing.of(side, stored)
        yield AnswerView(
            anchor=f"{anchor}-{number}",
            number=number,
            stored=stored,
            outcome=stored.outcome,
            programs=tuple(map(_program, alternatives, pictures)),
            messages=_said(stored),
            same=tuple(SameView(f"{anchor}-{n}", n, _said(one)) for n, one in same),
        )


def _grouped(
    trials: Mapping[int, StoredAnswer],
) -> Iterator[tuple[int, StoredAnswer, list[tuple[int, StoredAnswer]]]]:
    """Each answer with the later ones that are like it. One without a program is like no other."""
    groups: dict[object, list[tuple[int, StoredAnswer]]] = {}
    for number, stored in trials.items():
        programs = tuple(one.program for one in stored.answer.alternatives)
        alike = (stored.agent, programs, stored.outcome, stored.answer.failed, _met(stored))
        groups.setdefault(alike if programs else number, []).append((number, stored))
    for (number, stored), *same in groups.values():
        yield number, stored, same


def _met(stored: StoredAnswer) -> tuple[tuple[str, str], ...]:
    return tuple((name, one.state) for name, one in stored.answer.criteria.items())


def _said(stored: StoredAnswer) -> tuple[MessageView, ...]:
    talk = stored.transcript
    return transcript_view(talk, stored.answer.alternatives) if talk is not None else ()


def _program(alternative: Alternative, pictures: tuple[Picture, ...]) -> ProgramView:
    grade = alternative.grade
    views = [
        VerdictView(verdict, "advisory" if verdict.property in grade.advisory else "")
        for verdict in grade.verdicts
    ]
    order = {"fail": 0, "inconclusive": 1}
    telling = sorted(
        (view for view in views if view.verdict.outcome != "pass"),
        key=lambda view: (order[view.verdict.outcome], view.level),
    )
    passing = tuple(view for view in views if view.verdict.outcome == "pass")
    return ProgramView(alternative, tuple(telling), passing, pictures)


def _drawn(trace: Trace, scenario: Scenario | None) -> Iterator[Picture]:
    objectives = (*scenario.expectations.objectives, *_ANY) if scenario else _ANY
    threshold = scenario.expectations.max_norm if scenario else None
    for probe in trace.probes:
        yield from pictures_of(probe, objectives, threshold)
