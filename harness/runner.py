"""The pipeline, written once. ``_Pipeline._grade`` takes one answer from question to grade:

    ask  ->  extract, execute, measure, judge  ->  assess

``harness/proposing.py`` and ``harness/trial.py`` are the middle; ``docs/architecture.md`` draws all of
it with its files; ``harness/workbench.py`` works on many answers at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from types import MappingProxyType

from harness import __version__
from harness.agents.agent import Agent, Unanswered
from harness.agents.given import GivenAnswers, RefusedFile
from harness.agents.scripted import BUGGY, REFERENCE
from harness.agents.turns import has_second_turn, natural_part
from harness.domain.answer import AnswerGrade, AskedTurn, Batch, Tally
from harness.domain.errors import UsageError, UserError
from harness.domain.instruments import OpenInstruments
from harness.domain.listing import NotRun
from harness.domain.outcome import BankOutcome, Fault
from harness.domain.own import OWN_SCENARIO, asked_as
from harness.domain.proposal import AnswerToJudge, Proposal
from harness.domain.run import Run, ScenarioResult
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer, StoredAnswer
from harness.domain.trace import Trace
from harness.domain.transcript import Transcript, skill_read
from harness.instruments import jail_and_oracle
from harness.proposing import WORDS, proposal_of
from harness.rubric import assess
from harness.scenarios.availability import runnable
from harness.trial import Probing
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
) -> BankOutcome:
    """Let the bank check itself: judge each scenario's faulty loop and its fix like any answer.

    Scenarios that need a package which is not installed are left out, and listed in ``not_run``.

    Raises:
        UserError: this machine cannot run candidates.
    """
    started = perf_counter()
    bank, not_run = runnable(bank)
    not_run += tuple(NotRun(scenario=s.id, why=WORDS) for s in bank.scenarios if s.in_words)
    with_code = tuple(s for s in bank.scenarios if not s.in_words)
    bank = bank.model_copy(update={"scenarios": with_code})
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
    return BankOutcome(record, tuple(pipeline.faults), ending.interrupted, tuple(pipeline.unstored))


def grade_answers(
    bank: Bank,
    answers: Iterable[GivenAnswers | RefusedFile],
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
        if isinstance(a, GivenAnswers)
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
        Task(f"{asked_as(scenario)}/{trial}", scenario, agent, trial)
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
        steps = TaskSteps(work=self._grade, failed=_failed, tell=self._take)
        return self._bench.work_through(map(self._unless_stored, tasks), steps, open_instruments)

    def _grade(self, task: Task) -> GradedAnswer:
        """One answer from question to grade."""
        try:
            transcript = self._ask(task)
        except Unanswered as unanswered:
            return _unanswered(task, unanswered)
        proposal = self._judge_all(natural_part(transcript), task, turn="first")
        if has_second_turn(transcript) and proposal.code != "right":
            proposal = proposal.or_second(self._judge_all(transcript, task, turn="second"))
        return self._assess(task, transcript, proposal)

    def _ask(self, task: Task) -> Transcript:
        """What the agent answers.

        Raises:
            Unanswered: there is no answer to this question.
            UserError: nothing more is to be asked.
        """
        if self.unstored and self._settings.asking:
            raise UserError(f"{self.unstored[0]}; nothing more was asked")  # it may cost money
        try:
            return task.agent.ask(task.scenario, task.trial)
        except Unanswered as unanswered:
            if unanswered.why.in_vain and unanswered.why.kind != "interrupted":
                raise UserError(f"{task.agent.name}: {unanswered.why.sentence}") from unanswered
            raise

    def _judge_all(self, transcript: Transcript, task: Task, turn: AskedTurn) -> Proposal:
        """Every program that an answer proposes, judged here or elsewhere."""
        tools, seed = self._bench.tools, self._settings.seed
        asked = AnswerToJudge(transcript, turn, task.called, task.agent.name, seed)
        if tools.elsewhere is not None:
            return tools.elsewhere(asked, task.scenario)
        return proposal_of(asked, task.scenario, Probing(tools, self._bench.probes, seed))

    def _assess(self, task: Task, transcript: Transcript, proposal: Proposal) -> GradedAnswer:
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
            in_words=task.scenario.in_words,
            turn=proposal.turn,
            reading=transcript.notes,
            skill_triggered=skill_read(transcript.facts),
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


def _refused(refused: RefusedFile) -> GradedAnswer:
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
