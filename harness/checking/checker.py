"""The story of a check: read, look at the format, execute every example, compare."""

import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

from harness.checking.against import compare
from harness.checking.examples import check_example
from harness.checking.folder import load_skill
from harness.checking.format import check_format
from harness.checking.pairs import weigh_alternatives
from harness.domain.check import BlockResult, CheckFault, CheckReport
from harness.domain.errors import UserError
from harness.domain.instruments import OpenInstruments
from harness.domain.progress import Progress
from harness.domain.scenario import Bank
from harness.domain.skill import Example


def check_skill(
    folder: Path,
    open_instruments: OpenInstruments,
    *,
    against: Path | None = None,
    bank: Bank | None = None,
    jobs: int = 2,
    watch: Callable[[Progress], None] = lambda _: None,
) -> CheckReport:
    """Check a skill: ``folder`` holds SKILL.md, or is one Markdown file, of a skill or of anything else.

    ``against``: an older version, to tell what differs; ``bank`` tells which scenarios exercise that.

    Raises:
        UserError: a folder cannot be read, or this machine cannot run candidates.
    """
    started = perf_counter()
    skill = load_skill(folder)
    older = load_skill(against) if against is not None else None
    examples = _distinct((*skill.examples, *(older.examples if older else ())))
    results, faults, notes = _check_all(examples, open_instruments, jobs, watch)
    blocks = _placed(skill.examples, results)
    return CheckReport(
        skill=str(folder),
        is_page=skill.is_page,
        format=check_format(skill),
        blocks=blocks,
        comparison=compare(
            skill, blocks, older, _placed(older.examples, results), str(against), bank
        )
        if older
        else None,
        faults=faults,
        machine_notes=notes,
        seconds=perf_counter() - started,
    )


_Key = tuple[str, tuple[str, ...], str]
_Results = dict[_Key, BlockResult]


def _key(example: Example) -> _Key:
    """What a result depends on: an unchanged block of an older version is not run twice."""
    return example.digest, example.headings, example.before


def _distinct(examples: Sequence[Example]) -> tuple[Example, ...]:
    return tuple({_key(example): example for example in reversed(examples)}.values())[::-1]


def _check_all(
    examples: Sequence[Example],
    open_instruments: OpenInstruments,
    jobs: int,
    watch: Callable[[Progress], None],
) -> tuple[_Results, tuple[CheckFault, ...], tuple[str, ...]]:
    """Every example once: results, faults of ours, and what this machine lacks."""
    if not examples:
        return {}, (), ()
    pool = ThreadPoolExecutor(2 * jobs, "example")
    with pool:  # left last: its threads end once the instruments are closed
        try:
            with open_instruments(jobs) as tools:
                futures = [(e, pool.submit(check_example, e, tools)) for e in examples]
                return (*_collect(futures, watch), tools.machine_notes)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _collect(
    futures: Sequence[tuple[Example, "Future[BlockResult]"]], watch: Callable[[Progress], None]
) -> tuple[_Results, tuple[CheckFault, ...]]:
    results: _Results = {}
    faults: list[CheckFault] = []
    for done, (example, future) in enumerate(futures):
        place = f"{example.file}:{example.line}"
        watch(Progress(done, len(futures), (place,)))
        try:
            results[_key(example)] = weigh_alternatives(future.result())
        except UserError:
            raise  # the machine: nothing else would run either
        except Exception as error:  # noqa: BLE001 - ours, whatever it is; it is told with its place
            trace = traceback.format_exception_only(error)[-1].strip()
            faults.append(CheckFault(place=place, sentence=trace))
    return results, tuple(faults)


def _placed(examples: Sequence[Example], results: _Results) -> tuple[BlockResult, ...]:
    """Results at the places of these examples: the same block may stand elsewhere in another version."""
    found = []
    for example in examples:
        result = results.get(_key(example))
        if result is not None:
            found.append(_moved(result, example))
    return tuple(found)


def _moved(result: BlockResult, example: Example) -> BlockResult:
    by = example.line - result.line
    parts = tuple(part.model_copy(update={"line": part.line + by}) for part in result.parts)
    return result.model_copy(
        update={
            "file": example.file, "position": example.position, "line": example.line,
            "end": example.end, "parts": parts,
        }
    )  # fmt: skip
