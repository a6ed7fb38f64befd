"""The story of a run. ``_Pipeline._grade`` takes one answer from question to grade, stage by stage.

The stages are drawn in ``harness/__init__.py``; ``harness/workbench.py`` works on many answers at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from types import MappingProxyType

from harness import __version__
from harness.agents.agent import Agent, Unanswered
from harness.agents.given import Given, Refused
from harness.agents.scripted import BUGGY, REFERENCE
from harness.agents.turns import has_second_turn, natural_part
from harness.domain.answer import Alternative, AnswerGrade, Batch, Tally, Turn, code_of_alternatives
from harness.domain.candidate import Candidate, NoCandidate
from harness.domain.errors import UsageError, UserError
from harness.domain.grade import Code
from harness.domain.instruments import OpenInstruments
from harness.domain.outcome import Fault, Outcome
from harness.domain.own import OWN, OWN_SCENARIO, lent
from harness.domain.run import Run, ScenarioResult
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer, StoredAnswer
from harness.domain.trace import Trace
from harness.domain.transcript import Transcript
from harness.extraction import extract
from harness.instruments import jail_and_oracle
from harness.properties.judging.places import story_around
from harness.properties.own import own_settings
from harness.rubric import assess
from harness.scenarios.availability import runnable
from harness.trial import Trial
from harness.untrusted import TooLong, in_time
from harness.workbench import (
    Ending,
    Ready,
    Settings,
    Task,
    Tasks,
    TaskSteps,
    Workbench,
    torch_version,
)

__all__ = [
    "Settings",
    "ask_agent",
    "grade_answers",
    "run_bank",
    "torch_version",
]


NOTHING: Mapping[str, str] = MappingProxyType({})
"""Nothing may fail on purpose."""


def run_bank(
    bank: Bank,
    settings: Settings,
    open_instruments: OpenInstruments = jail_and_oracle,
) -> Outcome:
    """Let the bank check itself: judge each scenario's faulty loop and its fix like any answer.

    Scenarios that need a package which is not installed are left out, and listed in ``not_run``.

    Raises:
        UserError: this machine cannot run candidates.
    """
    started = perf_counter()
    bank, not_run = runnable(bank)
    found: dict[str, GradedAnswer] = {}
    tasks = [
        Task(f"{scenario.id}/{agent.name}", scenario, agent)
        for scenario in bank.scenarios
        for agent in (BUGGY, REFERENCE)
    ]

    def note(told: GradedAnswer) -> None:
        found[told.stored.key] = told
        settings.keep(told)

    pipeline = _Pipeline(replace(settings, keep=note))
    ending = pipeline.work_through(tasks, len(tasks), open_instruments)
    record = Run(
        harness_version=__version__,
        bank_digest=bank.digest,
        torch_version=torch_version(),
        seed=settings.seed,
        results=tuple(_results(bank, found)),
        not_run=not_run,
        machine_notes=ending.notes,
        seconds=perf_counter() - started,
    )
    return Outcome(record, tuple(pipeline.faults), ending.interrupted, tuple(pipeline.unstored))


def grade_answers(
    bank: Bank,
    answers: Iterable[Given | Refused],
    expected: int,
    settings: Settings,
    open_instruments: OpenInstruments = jail_and_oracle,
    *,
    allowed: Mapping[str, str] = NOTHING,
) -> Batch:
    """Grade answers that exist already, about ``expected`` of them. Raises as ``run_bank`` does.

    ``allowed``: ids of properties that may fail on purpose, with the reasons.
    """
    known = {s.id: s.allowing(allowed) for s in (*bank.scenarios, OWN_SCENARIO)}
    tasks = (
        Task(a.key, known[a.scenario], a, how=a.how, name=a.name)
        if isinstance(a, Given)
        else Ready(_refused(a))
        for a in answers
    )
    return _Pipeline(settings).batch(tasks, expected, open_instruments)


def ask_agent(
    bank: Bank,
    agent: Agent,
    trials: int,
    settings: Settings,
    open_instruments: OpenInstruments = jail_and_oracle,
) -> Batch:
    """Ask each question ``trials`` times, and grade the answers. Raises as ``run_bank`` does."""
    tasks = [
        Task(f"{scenario.id}/{trial}", scenario, agent, trial)
        for trial in range(1, trials + 1)
        for scenario in bank.scenarios
    ]
    return _Pipeline(settings).batch(tasks, len(tasks), open_instruments)


# ------------------------------------------------------------------------------------ the pipeline


class _Pipeline:
    """Gets the answer of each task, grades it, stores it and counts it."""

    def __init__(self, settings: Settings) -> None:
        self.faults: list[Fault] = []
        self.unstored: list[str] = []
        self._settings = settings
        self._tally = Tally()

    def batch(
        self, tasks: Tasks[GradedAnswer], expected: int, open_instruments: OpenInstruments
    ) -> Batch:
        ending = self.work_through(tasks, expected, open_instruments)
        return Batch(self._tally, tuple(self.faults), ending.interrupted, tuple(self.unstored))

    def work_through(
        self, tasks: Tasks[GradedAnswer], expected: int, open_instruments: OpenInstruments
    ) -> Ending:
        self._bench = Workbench(self._settings, expected)
        story = TaskSteps(work=self._grade, failed=_failed, tell=self._take)
        return self._bench.work_through(map(self._unless_stored, tasks), story, open_instruments)

    def _grade(self, task: Task) -> GradedAnswer:
        """One answer from question to grade."""
        if self.unstored and self._settings.asking:
            raise UserError(f"{self.unstored[0]}; nothing more was asked")  # it may cost money
        try:
            transcript = task.agent.ask(task.scenario, task.trial)
        except Unanswered as unanswered:
            if unanswered.why.in_vain and unanswered.why.kind != "interrupted":
                raise UserError(f"{task.agent.name}: {unanswered.why.sentence}") from unanswered
            return _unanswered(task, unanswered)
        proposal = self._judge_all(natural_part(transcript), task, turn="first")
        if has_second_turn(transcript) and proposal.code != "right":
            proposal = proposal.or_second(self._judge_all(transcript, task, turn="second"))
        return self._told(task, transcript, proposal)

    def _judge_all(self, transcript: Transcript, task: Task, turn: Turn) -> "_Proposal":
        """Every program that an answer proposes, or why there is none."""
        try:
            with in_time(task.called):
                proposed = extract(transcript, task.scenario)
        except TooLong as error:
            return _Proposal(turn, no_code=str(error))
        if isinstance(proposed, NoCandidate):
            return _Proposal(turn, no_code=proposed.reason)
        return _Proposal(turn, tuple(self._judge_one(candidate, task) for candidate in proposed))

    def _judge_one(self, candidate: Candidate, task: Task) -> "_Judged":
        """One program, executed, measured and judged."""
        own = task.scenario.id == OWN
        trial = Trial(candidate, task, self._bench)
        trace, grade = trial.alone() if own else trial.in_scenario()
        first = trace.probes[0].program
        alternative = Alternative(
            origin=candidate.origin,
            program=candidate.program,
            as_run=first.as_run,
            grade=grade,
            story=story_around(trace, grade.verdicts),
            settings=own_settings(trace) if own else None,
            lent=lent(first.bound) if own else (),
        )
        return _Judged(alternative, trace)

    def _told(self, task: Task, transcript: Transcript, proposal: "_Proposal") -> GradedAnswer:
        """The answer with its judged programs, held against the rubric."""
        alternatives = tuple(one.alternative for one in proposal.programs)
        verdicts = [alternative.grade.verdicts for alternative in alternatives]
        said = natural_part(transcript)
        criteria, excuses = assess(said, task.scenario, verdicts, self._settings.judge)
        answer = AnswerGrade(
            file=task.called,
            scenario=task.scenario.id,
            how=task.how,
            alternatives=alternatives,
            no_code=proposal.no_code,
            turn=proposal.turn,
            reading=transcript.notes,
            repaired_on_request=proposal.repaired,
            criteria=criteria,
            rationalizations=excuses,
        )
        faults = (fault for one in proposal.programs for fault in _our_failures(task, one.trace))
        stored = _stored(task, answer).model_copy(update={"transcript": transcript})
        return GradedAnswer(stored, tuple(one.trace for one in proposal.programs), tuple(faults))

    def _unless_stored(self, item: Task | Ready[GradedAnswer]) -> Task | Ready[GradedAnswer]:
        run = self._settings.run
        if run is None or isinstance(item, Ready) or item.key not in run:
            return item
        stored = run[item.key]
        return Ready(GradedAnswer(stored, is_stored=True)) if stored.is_final else item

    def _take(self, told: GradedAnswer) -> None:
        self.faults += told.faults
        self._tally.count(told.stored.answer)
        if self._settings.run is not None and told.is_worth_storing:
            try:
                self._settings.run.add(told)
            except UsageError as full:  # the answer is there, and is told
                self.unstored.append(str(full))
        self._settings.keep(told)


@dataclass(frozen=True, slots=True)
class _Judged:
    """One program that was judged, with its trace."""

    alternative: Alternative
    trace: Trace


@dataclass(frozen=True, slots=True)
class _Proposal:
    """The programs of an answer up to one of its turns, judged."""

    turn: Turn
    programs: tuple[_Judged, ...] = ()
    no_code: str | None = None
    repaired: bool = False

    @property
    def code(self) -> Code:
        return code_of_alternatives([one.alternative for one in self.programs])

    def or_second(self, second: "_Proposal") -> "_Proposal":
        """A wrong first turn stays wrong; one that could not be judged gives way to the second."""
        if self.code == "wrong":
            return replace(self, repaired=second.code == "right")
        return second if second.programs else self


def _stored(task: Task, answer: AnswerGrade) -> StoredAnswer:
    return StoredAnswer(key=task.key, agent=task.agent.name, trial=task.trial, answer=answer)


def _our_failures(task: Task, trace: Trace) -> Iterator[Fault]:
    for probe in trace.everything:
        if probe.program.ours:
            why = probe.program.message or "no reason was given"
            sentence = f"probe {probe.probe} did not complete: {why}"
            yield Fault(task.scenario.id, task.agent.name, sentence)


def _failed(task: Task, fault: Fault) -> GradedAnswer:
    error = f"a fault of the harness: {fault.sentence}"
    answer = AnswerGrade(file=task.called, scenario=task.scenario.id, error=error)
    return GradedAnswer(_stored(task, answer), faults=(fault,))


def _unanswered(task: Task, unanswered: Unanswered) -> GradedAnswer:
    error = f"no answer: {unanswered.why.sentence}"
    answer = AnswerGrade(file=task.called, scenario=task.scenario.id, error=error)
    return GradedAnswer(_stored(task, answer).model_copy(update={"no_answer": unanswered.why}))


def _refused(refused: Refused) -> GradedAnswer:
    answer = AnswerGrade(file=refused.name, error=refused.sentence)
    broken = (Fault("reading", refused.name, refused.sentence, refused.trace),)
    stored = StoredAnswer(key=refused.name, agent="", answer=answer)
    return GradedAnswer(stored, faults=broken if refused.trace else (), is_stored=True)


def _results(bank: Bank, found: dict[str, GradedAnswer]) -> Iterator[ScenarioResult]:
    """The scenarios both of whose programs were graded, in the bank's order."""
    for scenario in bank.scenarios:
        pair = [found.get(f"{scenario.id}/{agent.name}") for agent in (BUGGY, REFERENCE)]
        grades = [told.stored.answer.as_grade(scenario, told.stored.agent) for told in pair if told]
        if len(both := [grade for grade in grades if grade is not None]) == 2:
            yield ScenarioResult.of(scenario, *both)
