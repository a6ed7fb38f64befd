"""The steps of a check: read, look at the format, execute every example, compare."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from harness.checking.against import compare
from harness.checking.examples import check_example
from harness.checking.folder import load_skill
from harness.checking.format import check_format
from harness.checking.kept import KeptResults, result_key
from harness.checking.running import SECONDS
from harness.checking.session import Session
from harness.checking.signatures import refused_calls
from harness.domain.check import (
    BlockResult,
    ChangedSince,
    CheckFault,
    CheckReport,
    Observation,
    SkillComparison,
)
from harness.domain.errors import UserError
from harness.domain.instruments import Instruments, OpenInstruments
from harness.domain.progress import Progress
from harness.domain.scenario import Bank
from harness.domain.skill import Example, Skill
from harness.untrusted import in_time


def check_skill(  # noqa: PLR0913 - each is an option of the command
    folder: Path,
    open_instruments: OpenInstruments,
    *,
    against: Path | None = None,
    bank: Bank | None = None,
    jobs: int = 2,
    thorough: bool = False,
    claims_only: bool = False,
    kept: KeptResults | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
) -> CheckReport:
    """Check a skill, or until Ctrl-C a part of it.

    ``folder`` holds SKILL.md, or is one Markdown file, of a skill or of anything else. ``against``: an
    older version, to tell what differs; ``bank`` tells which scenarios exercise that; ``kept``: what
    was found before, and is not run again.

    Raises:
        UserError: a folder cannot be read, or this machine cannot run candidates.
    """
    started = perf_counter()
    skill = _read(folder)
    older = _read(against) if against is not None else None
    examples = _distinct((*skill.examples, *(older.examples if older else ())))
    work = _Work(_sessions(skill, older), None if thorough else SECONDS, kept)
    known = work.known(examples)
    left = [example for example in examples if _key(example) not in known]
    found = _check_all(left, open_instruments, work.begin, jobs, watch)
    ran = len(_placed(skill.examples, found.results))
    found.results |= known
    since_last = _since_last(folder, _placed(skill.examples, found.results), kept, found)
    if claims_only:
        found.results = {key: _only_claims(block) for key, block in found.results.items()}
    return CheckReport(
        skill=str(folder),
        is_page=skill.is_page,
        format=check_format(skill),
        blocks=_placed(skill.examples, found.results),
        comparison=_compared(skill, older, found, str(against), bank),
        since_last=since_last,
        ran=ran,
        faults=tuple(found.faults),
        machine_notes=found.machine_notes,
        interrupted=found.interrupted,
        seconds=perf_counter() - started,
    )


class OneByOne:
    """A skill whose examples are checked one at a time."""

    def __init__(self, skill: Skill) -> None:
        """Nothing is run yet."""
        self._work = _Work(_sessions(skill, None), SECONDS, None)

    def check(self, example: Example, tools: Instruments) -> BlockResult:
        """Execute an example of this skill, and hold it against what it claims."""
        return self._work.begin([example], tools)(example)


def _read(folder: Path) -> Skill:
    with in_time(folder):
        return load_skill(folder)


def _compared(
    skill: Skill, older: Skill | None, found: "_Checked", named: str, bank: Bank | None
) -> SkillComparison | None:
    if older is None or found.interrupted:  # a block that was not run differs in nothing
        return None
    now, before = (_placed(one.examples, found.results) for one in (skill, older))
    return compare(skill, now, older, before, named, bank)


def _sessions(*skills: Skill | None) -> Mapping[int, Session]:
    """The session of each example, by its identity."""
    pages = [page for skill in skills if skill is not None for page in skill.pages]
    sessions = [(page, Session(page.examples)) for page in pages]
    return {id(example): session for page, session in sessions for example in page.examples}


@dataclass(frozen=True, slots=True)
class _Work:
    """What it takes to check examples."""

    sessions: Mapping[int, Session]
    seconds: float | None
    kept: KeptResults | None

    def known(self, examples: Sequence[Example]) -> "_Results":
        """Results that were found before."""
        if self.kept is None:
            return {}
        found = ((e, self.kept.result(e, self._kept_as(e))) for e in examples)
        return {_key(example): result for example, result in found if result is not None}

    def begin(self, examples: Sequence[Example], tools: Instruments) -> "_Check":
        """Ask the libraries what they take; what checks one of these examples."""
        programs = [
            self.sessions[id(example)].program(example, part)
            for example in examples
            for part in example.parts
            if part.flaw is None
        ]
        refused = refused_calls(programs, tools)

        def check(example: Example) -> BlockResult:
            session = self.sessions[id(example)]
            found = check_example(example, session, tools, self.seconds, refused)
            if self.kept is not None:
                self.kept.keep(self._kept_as(example), found)
            return found

        return check

    def _kept_as(self, example: Example) -> str:
        return result_key(example, self.sessions[id(example)], seconds=self.seconds)


def _since_last(
    folder: Path, blocks: Sequence[BlockResult], kept: "KeptResults | None", found: "_Checked"
) -> tuple[ChangedSince, ...] | None:
    whole = not (found.interrupted or found.faults)
    return kept.since_last(folder, blocks) if kept is not None and whole else None


def _only_claims(block: BlockResult) -> BlockResult:
    """The block, with faults of parts that claim nothing as mere remarks."""
    parts = tuple(
        part.model_copy(
            update={
                "status": "runs",
                "observations": (
                    Observation(sentence=part.sentence, fault=True, numbers=part.numbers),
                    *part.observations,
                ),
            }
        )
        if part.status == "fault"
        else part
        for part in block.parts
    )
    return block.model_copy(update={"parts": parts})


_Key = tuple[str, tuple[str, ...], str]
_Results = dict[_Key, BlockResult]
_Check = Callable[[Example], BlockResult]
_Running = tuple[Example, "Future[BlockResult]"]


def _key(example: Example) -> _Key:
    """What a result depends on: an unchanged block of an older version is not run twice."""
    return example.digest, example.headings, example.before


def _distinct(examples: Sequence[Example]) -> tuple[Example, ...]:
    return tuple({_key(example): example for example in reversed(examples)}.values())[::-1]


@dataclass(slots=True)
class _Checked:
    """What is known of the examples."""

    results: _Results = field(default_factory=dict)
    faults: list[CheckFault] = field(default_factory=list)
    machine_notes: tuple[str, ...] = ()
    interrupted: bool = False


def _check_all(
    examples: Sequence[Example],
    open_instruments: OpenInstruments,
    begin: Callable[[Sequence[Example], Instruments], "_Check"],
    jobs: int,
    watch: Callable[[Progress], None],
) -> _Checked:
    """Every example once, or until Ctrl-C."""
    found = _Checked()
    if not examples:
        return found
    pool = ThreadPoolExecutor(2 * jobs, "example")
    done: list[_Running] = []
    with pool:  # left last: its threads end once the instruments are closed
        try:
            with open_instruments(jobs) as tools:
                found.machine_notes = tools.machine_notes
                check = begin(examples, tools)
                futures = [(e, pool.submit(check, e)) for e in examples]
                try:
                    _wait_for(futures, watch)
                finally:  # what ends once the instruments are closed says nothing of its example
                    done = [(example, future) for example, future in futures if future.done()]
        except KeyboardInterrupt:
            found.interrupted = True
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    _note(done, found)
    return found


def _wait_for(futures: Sequence[_Running], watch: Callable[[Progress], None]) -> None:
    for done, (example, future) in enumerate(futures):
        watch(Progress(done, len(futures), (f"{example.file}:{example.line}",)))
        error = future.exception()
        if isinstance(error, UserError):
            raise error  # the machine: nothing else would run either


def _note(done: Sequence[_Running], found: _Checked) -> None:
    for example, future in done:
        try:
            found.results[_key(example)] = future.result()
        except Exception as error:  # noqa: BLE001 - ours, whatever it is; it is told with its place
            trace = traceback.format_exception_only(error)[-1].strip()
            place = f"{example.file}:{example.line}"
            found.faults.append(CheckFault(place=place, sentence=trace))


def _placed(examples: Sequence[Example], results: _Results) -> tuple[BlockResult, ...]:
    """Results at the places of these examples: the same block may stand elsewhere in another version."""
    found = []
    for example in examples:
        result = results.get(_key(example))
        if result is not None:
            found.append(result.moved_to(example))
    return tuple(found)
