"""One example from its parts to a result: complete, execute, gather evidence, decide."""

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter

from harness.checking.completing import complete
from harness.checking.driving import NoReport, run_driver
from harness.checking.evidence import Decision, Evidence, decide
from harness.checking.function_evidence import evidence_of
from harness.checking.listings import about_listing, listing_of
from harness.checking.loop_evidence import loop_evidence
from harness.checking.loops import run_loop, vanishing_norms
from harness.checking.named_faults import acquittal
from harness.checking.statements import (
    statements_about,
    statements_about_losses,
    statements_about_modules,
)
from harness.domain.check import BlockResult, Observation, PartResult
from harness.domain.instruments import Instruments
from harness.domain.skill import Example, Part

_BY_PROPERTIES = ("training-loop", "measurement")
_CALLABLE = ("update-function", "gradient-function", "inspection")


def check_example(example: Example, tools: Instruments) -> BlockResult:
    """Execute a block's parts. Thread-safe."""
    return BlockResult(
        file=example.file,
        position=example.position,
        line=example.line,
        end=example.end,
        digest=example.digest,
        headings=example.headings,
        parts=tuple(_check(part, example, tools) for part in example.parts),
    )


def _check(part: Part, example: Example, tools: Instruments) -> PartResult:
    started = perf_counter()
    decision, completed = _decide(part, example, tools)
    return PartResult(
        line=part.line,
        kind=part.kind,
        mark=part.mark,
        status=decision.status,
        sentence=decision.sentence,
        numbers=decision.numbers,
        observations=decision.observations,
        completed=completed,
        seconds=perf_counter() - started,
    )


def _decide(part: Part, example: Example, tools: Instruments) -> tuple[Decision, tuple[str, ...]]:
    if part.kind == "pseudo-code":
        return Decision("pseudo-code", "There is nothing to run."), ()
    if part.flaw is not None:
        return Decision("cannot-be-run", f"It is no Python: {part.flaw}."), ()
    if part.kind in _BY_PROPERTIES:
        return _loop(part, example, tools)
    evidence, tested = _driven(part, f"{example.file}:{part.line}", tools)
    if evidence.is_silent and part.kind in _CALLABLE:
        called = _loop(part, example, tools)  # the sandbox calls functions that nobody calls
        if called[0].status != "cannot-be-run" or evidence.not_run is not None:
            return called
    return _with_statements(decide(part.mark, evidence), tested), ()


def _loop(part: Part, example: Example, tools: Instruments) -> tuple[Decision, tuple[str, ...]]:
    origin = f"{example.file}:{part.line}"
    done = complete(part.code, accumulates=_speaks_of_windows(part, example))
    seen = run_loop(done.program, origin, tools)
    evidence = replace(loop_evidence(seen), acquittal=acquittal(part, seen))
    decision = decide(part.mark, evidence)
    tested = (*statements_about(part, seen), *_listed(part, example, done.program, tools))
    return _with_statements(decision, tested), done.added


def _listed(
    part: Part, example: Example, program: str, tools: Instruments
) -> Iterator[Observation]:
    listing = listing_of(part, example)
    if listing is not None:
        norms = vanishing_norms(program, f"{example.file}:{part.line}", tools)
        if seen := about_listing(listing, norms):
            yield seen


def _driven(
    part: Part, origin: str, tools: Instruments
) -> tuple[Evidence, tuple[Observation, ...]]:
    try:
        report = run_driver(part.code, part.kind, origin, tools)
    except NoReport as reason:
        return Evidence(not_run=str(reason)), ()
    tested = (*statements_about_losses(part, report), *statements_about_modules(part, report))
    return evidence_of(report), tested


def _with_statements(decision: Decision, tested: tuple[Observation, ...]) -> Decision:
    """The decision, turned into a failure where a statement in a comment was refuted."""
    refuted = [one for one in tested if one.holds is False]
    observations = (*tested, *decision.observations)
    if not refuted or decision.status in ("fails", "cannot-be-run"):
        return Decision(decision.status, decision.sentence, decision.numbers, observations)
    return Decision("fails", refuted[0].sentence, refuted[0].numbers, observations)


def _speaks_of_windows(part: Part, example: Example) -> bool:
    text = " ".join((part.code, example.before, *example.headings)).lower()
    return "accumulat" in text
