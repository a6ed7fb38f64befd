"""The judge, judged: every mutant, every alternative and every cheat of a bank."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from threading import Lock
from time import perf_counter
from typing import TypeVar

from harness import __version__
from harness.domain.errors import UserError
from harness.domain.grade import Grade
from harness.domain.instruments import Instruments, OpenInstruments
from harness.domain.progress import Progress
from harness.domain.quality import MutantResult, OperatorSeen, ProgramResult, QualityReport
from harness.domain.scenario import Bank, Scenario
from harness.quality.equivalence import EquivalenceCheck
from harness.quality.idle import idle_properties
from harness.quality.mutants import DEPTH, Mutant, derive
from harness.quality.operator import Operator
from harness.quality.operators import OPERATORS
from harness.quality.originals import Originals
from harness.quality.probing import said
from harness.quality.sources import NamedSource, read_sources
from harness.quality.trial import JudgedTrial, try_program
from harness.scenarios.availability import runnable

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class QualityPlan:
    """What is tried, and how."""

    folder: Path
    """Folder of the bank: alternatives and cheats lie beside their scenarios."""
    jobs: int = 2
    """Executions at the same time."""
    depth: int | None = DEPTH
    """On how many alternatives each operator is tried, of as many scenarios; ``None`` for all."""
    operators: Sequence[Operator] = OPERATORS
    """Ways to go wrong."""
    watch: Callable[[Progress], None] = lambda _: None
    """Told about every start and end, from any thread, one call at a time."""


def judge_the_judge(
    bank: Bank, plan: QualityPlan, open_instruments: OpenInstruments
) -> QualityReport:
    """Try every wrong loop, every right one and every cheat.

    Raises:
        UserError: this machine cannot run candidates, or a file beside a scenario is no program.
    """
    started = perf_counter()
    bank, not_run = runnable(bank)
    desk = _Desk(plan, _read(bank, plan))
    desk.run(open_instruments)
    mutants = tuple(desk.mutants[i] for i in sorted(desk.mutants))
    return QualityReport(
        harness_version=__version__,
        bank_digest=bank.digest,
        scenarios=tuple(s.id for s in bank.scenarios),
        not_run=not_run,
        thorough=plan.depth is None,
        operators=tuple(
            OperatorSeen(id=o.id, fault=o.fault, named_by=o.named_by) for o in plan.operators
        ),
        mutants=mutants,
        alternatives=tuple(desk.alternatives[i] for i in sorted(desk.alternatives)),
        cheats=tuple(desk.cheats[i] for i in sorted(desk.cheats)),
        idle=idle_properties(bank, mutants),
        faults=tuple(desk.faults),
        interrupted=desk.interrupted,
        seconds=perf_counter() - started,
    )


_Programs = list[tuple[Scenario, NamedSource]]
_Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Beside:
    """What lies beside the scenarios of a bank."""

    scenarios: tuple[Scenario, ...]
    alternatives: _Programs = field(default_factory=list)
    cheats: _Programs = field(default_factory=list)

    def derived(self, plan: QualityPlan) -> tuple[Mutant, ...]:
        """All mutants: some seconds of work for a large bank."""
        right: dict[str, list[NamedSource]] = {scenario.id: [] for scenario in self.scenarios}
        for scenario, source in self.alternatives:
            right[scenario.id].append(source)
        originals = [(scenario, right[scenario.id]) for scenario in self.scenarios]
        return derive(originals, plan.operators, plan.depth)


def _read(bank: Bank, plan: QualityPlan) -> _Beside:
    beside = _Beside(bank.scenarios)
    for scenario in bank.scenarios:
        right = read_sources(plan.folder, scenario.id, "alternatives")
        cheats = read_sources(plan.folder, scenario.id, "cheats")
        beside.alternatives.extend((scenario, one) for one in right)
        beside.cheats.extend((scenario, one) for one in cheats)
    return beside


class _Desk:
    """Keeps as many programs going as there are jobs, and stops them all at Ctrl-C."""

    tools: Instruments
    comparison: EquivalenceCheck
    originals: Originals

    def __init__(self, plan: QualityPlan, beside: _Beside) -> None:
        self.plan = plan
        self.beside = beside
        self.mutants: dict[int, MutantResult] = {}
        self.alternatives: dict[int, ProgramResult] = {}
        self.cheats: dict[int, ProgramResult] = {}
        self.faults: list[str] = []
        self.interrupted = False
        self._total = 0
        self._done = 0
        self._running: list[str] = []
        self._lock = Lock()

    def run(self, open_instruments: OpenInstruments) -> None:
        """Everything, or what was finished when Ctrl-C came.

        Mutants are derived while the instruments warm up and run the other programs.
        """
        with ExitStack() as stack:  # threads end once the instruments are closed
            # while some wait for the oracle, a package or a turn, the jail must not be idle
            threads = 2 * self.plan.jobs + 2
            pool = stack.enter_context(ThreadPoolExecutor(threads, "quality"))
            try:
                with open_instruments(self.plan.jobs) as self.tools:
                    self.comparison = EquivalenceCheck(self.tools)
                    self.originals = Originals(self.tools)
                    try:
                        asked = self._submit(pool, self._programs())
                        asked += self._submit(pool, self._mutants(self.beside.derived(self.plan)))
                        self._wait(asked)
                    except KeyboardInterrupt:
                        # before the instruments close under what still runs
                        self.interrupted = True
                    finally:
                        pool.shutdown(wait=False, cancel_futures=True)
            except KeyboardInterrupt:
                self.interrupted = True

    def _submit(self, pool: ThreadPoolExecutor, asked: list[_Work]) -> list[Future[None]]:
        """In no order: where those that are slow to measure came together, the jail stood still."""
        self._total += len(asked)
        return [pool.submit(work) for work in Random(0).sample(asked, len(asked))]

    def _programs(self) -> list[_Work]:
        return [
            partial(self._one, scenario, i, results, partial(judged, (scenario, one)))
            for programs, results, judged in (
                (self.beside.alternatives, self.alternatives, self._alternative),
                (self.beside.cheats, self.cheats, self._cheat),
            )
            for i, (scenario, one) in enumerate(programs)
        ]

    def _mutants(self, mutants: Sequence[Mutant]) -> list[_Work]:
        return [
            partial(self._one, m.scenario, i, self.mutants, partial(self._mutant, m))
            for i, m in enumerate(mutants)
        ]

    @staticmethod
    def _wait(futures: list[Future[None]]) -> None:
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()  # raises what the machine lacks

    def _one(
        self,
        scenario: Scenario,
        index: int,
        results: dict[int, Result],
        judged: Callable[[], Result],
    ) -> None:
        self._tell(scenario.id, begins=True)
        try:
            results[index] = judged()
        except UserError:
            raise  # the machine, not one program: nothing else would run either
        except Exception as error:  # noqa: BLE001 - ours whatever it is; the others are done first
            if not self.interrupted:
                self.faults.append(f"{scenario.id}: {type(error).__name__}: {error}")
        finally:
            self._tell(scenario.id, begins=False)

    def _mutant(self, mutant: Mutant) -> MutantResult:
        naming = mutant.operator.naming

        def enough(judged: JudgedTrial) -> bool:
            wrong = judged.grade.code == "wrong"  # by advice alone: a later probe may say more
            return wrong and not naming.isdisjoint(judged.grade.failed)

        first = mutant.operator.shows_in
        judged = try_program(mutant.scenario, mutant.text, self.tools, enough, first)
        new = judged.failed
        if (
            judged.grade.code != "wrong" and new
        ):  # only advisory ones: is the same told of the original?
            before = self.originals.told(mutant.scenario, mutant.source)
            new = tuple(name for name in new if judged.told[name] != before.get(name))
        return _described(mutant, judged, new, self._difference)

    def _difference(self, mutant: Mutant) -> str | None:
        """How it differs from its original in the second probe; ``None`` when it does not."""
        return self.comparison.difference(mutant.scenario, mutant.source.text, mutant.text)

    def _alternative(self, asked: tuple[Scenario, NamedSource]) -> ProgramResult:
        return _told(*asked, self.originals.judge(*asked).grade)

    def _cheat(self, asked: tuple[Scenario, NamedSource]) -> ProgramResult:
        scenario, cheat = asked
        tried = try_program(scenario, cheat.text, self.tools, lambda one: one.grade.code == "wrong")
        return _told(scenario, cheat, tried.grade)

    def _tell(self, scenario: str, *, begins: bool) -> None:
        with self._lock:
            if begins:
                self._running.append(scenario)
            else:
                self._running.remove(scenario)
                self._done += 1
            running = tuple(dict.fromkeys(self._running))
            self.plan.watch(Progress(self._done, self._total, running))


def _told(scenario: Scenario, source: NamedSource, grade: Grade) -> ProgramResult:
    ignored = {*grade.advisory, *(grade.guards if grade.code != "wrong" else ())}
    return ProgramResult(
        scenario=scenario.id,
        file=f"{source.name}.py",
        code=grade.code,
        sentences=tuple(
            f"{v.property} {v.outcome}: {v.sentence}"
            for v in grade.verdicts
            if v.outcome != "pass" and v.property not in ignored and v.explained_by is None
        ),
    )


def _described(
    mutant: Mutant,
    judged: JudgedTrial,
    killed_by: tuple[str, ...],
    difference: Callable[[Mutant], str | None],
) -> MutantResult:
    result = MutantResult(
        scenario=mutant.scenario.id,
        program=mutant.source.name,
        operator=mutant.operator.id,
        site=mutant.site,
        line=mutant.line,
        fate="killed",
        killed_by=killed_by,
        named=not mutant.operator.naming.isdisjoint(killed_by),
    )
    if judged.grade.code == "wrong" or result.named:
        return result
    if (raised := judged.only_raised) is not None:
        return result.model_copy(update={"fate": "not runnable", "reason": raised})
    differs = "what it says differs" if mutant.operator.observes else difference(mutant)
    if differs is None:
        why = f"every update is the same with {said(mutant.scenario, mutant.source.text)}"
        return result.model_copy(update={"fate": "equivalent", "reason": why})
    why = f"the code is {judged.grade.code}, but {differs}"
    return result.model_copy(update={"fate": "survived", "reason": why, "text": mutant.text})
