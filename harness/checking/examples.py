"""One example from its parts to a result: complete, execute, gather evidence, decide."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter

from harness.checking.announced import announced, marked, printed, prints_otherwise, prints_so
from harness.checking.completing import (
    fitted,
    forgets_backward,
    in_a_turn,
    leaves_clearing_out,
    prepared,
    shortened,
    trained,
    with_losses,
    without_gaps,
)
from harness.checking.driving import DRIVERS, NoReport, run_driver, run_whole
from harness.checking.errors import (
    BACKENDS,
    authors_error,
    goes_back_from,
    has_gaps,
    is_closed,
    lent_names,
)
from harness.checking.evidence import Decision, Evidence, Finding, decide
from harness.checking.function_evidence import evidence_of, together
from harness.checking.loop_evidence import loop_evidence, stopped
from harness.checking.named_faults import acquittal, behind_what_runs, names_a_fault, no_error
from harness.checking.proven import proven
from harness.checking.running import BlockRun, in_other_worlds, run_block, run_measurement
from harness.checking.session import BlockInContext, Session, is_here, names_from, packages_of
from harness.checking.signatures import refusal
from harness.checking.statements import statements_about, statements_about_modules
from harness.domain.check import BlockResult, Observation, PartResult
from harness.domain.event import ENOUGH
from harness.domain.instruments import Instruments
from harness.domain.own import RANKS, misfits
from harness.domain.skill import Example, Part
from harness.domain.trace import Program as Ended
from harness.domain.wording import plainly
from harness.extraction.names import bound_names, statements
from harness.sandbox.absent.watching import STOOD_IN
from harness.sandbox.names.table import table
from harness.skills.claims import expects_failure, warns
from harness.skills.kinds import NO_OPTIMIZER, uses
from harness.syntax import dotted, tree_of, walk

TRAINING = ("training-loop", "measurement", "update-function")
IN_A_ROW = ("module", "initialisation")
"""What a driver puts into a row of many, which nobody who claims nothing has said."""


def check_example(
    example: Example,
    session: Session,
    tools: Instruments,
    seconds: float | None,
    refused: Mapping[str, str],
) -> BlockResult:
    """Execute a block's parts, each at most so many seconds a run. Thread-safe.

    ``refused``: calls of libraries that these refuse, with what they say.
    """
    return BlockResult(
        file=example.file,
        position=example.position,
        line=example.line,
        end=example.end,
        digest=example.digest,
        headings=example.headings,
        parts=tuple(
            _check(_One(part, example, session, tools, seconds, refused)) for part in example.parts
        ),
    )


@dataclass(frozen=True, slots=True)
class _One:
    """A part, and what it takes to execute it."""

    part: Part
    example: Example
    session: Session
    tools: Instruments
    seconds: float | None
    refused: Mapping[str, str]

    @property
    def origin(self) -> str:
        return f"{self.example.file}:{self.part.line}"


def _check(one: _One) -> PartResult:
    started, part = perf_counter(), one.part
    decision, program, ended = _decide(one)
    idle = decision.status == "cannot-be-run"
    missing = missing_packages(program, decision.sentence, ended) if idle else ()
    return PartResult(
        line=part.line,
        kind=part.kind,
        mark=part.mark,
        status=decision.status,
        sentence=f"It needs {', '.join(missing)} (not installed)."
        if missing
        else plainly(decision.sentence),
        numbers=decision.numbers,
        observations=tuple(
            seen.model_copy(update={"sentence": plainly(seen.sentence)})
            for seen in decision.observations
        ),
        needs=missing,
        trains=part.kind in TRAINING,
        taken=program.own if program is not None else 0,
        seconds=perf_counter() - started,
    )


def missing_packages(
    program: BlockInContext | None, reason: str, ended: Ended | None = None
) -> tuple[str, ...]:
    """Packages that a program or its page imports, that are not installed, and that kept it from
    running: the reason names them, or the line where it ended uses what they have made. Something
    stands in for others (matplotlib).
    """
    if program is None:
        return ()
    absent = {p for p in packages_of(program.tree) if not is_here(p)}
    named = {p for p in absent if re.search(rf"\b{re.escape(p)}\b", reason)}
    named |= {*_EXTRAS.findall(reason), *(BACKENDS[d] for d in _OF_A_DEVICE.findall(reason))}
    line = ended.line if ended is not None else None
    at = {n.id for n in walk(program.tree) if isinstance(n, ast.Name) and n.lineno == line}
    at |= {*re.findall(r"`(\w+)", reason)}
    used = {p for p in absent - STOOD_IN if at & names_from(p, program.tree)}
    return tuple(sorted(named.union(used, *(program.lacking.get(name, ()) for name in at))))


_EXTRAS = re.compile(r"pip install [\"']?([\w.-]+\[[\w,-]+\])")
"""How a package that is installed says what it lacks: ``ray[train]``."""
_OF_A_DEVICE = re.compile(rf"(?:attribute '|'torch\.)({'|'.join(BACKENDS)})'")
"""How torch says that it does not know a device."""


def _decide(one: _One) -> tuple[Decision, BlockInContext | None, Ended | None]:
    part = one.part
    if part.kind == "pseudo-code":
        return Decision("pseudo-code", "There is nothing to run."), None, None
    if part.flaw is not None:
        is_script = one.example.file.endswith(".py")
        said = f"It is no Python: {part.flaw}."
        return Decision("fault" if is_script else "cannot-be-run", said), None, None
    program, seen, found = _run(one)
    evidence, tested = _evidence(one, program, seen)
    prints = _prints(one, program, seen)
    shown = tuple(proven(program, seen.program))
    evidence = replace(
        evidence,
        faults=(*evidence.faults, *shown),
        not_run=None if shown else evidence.not_run,
        merits=(*evidence.merits, *(Finding(p.sentence, p.numbers) for p in prints if p.holds)),
    )
    error = refusal(one.refused, program) or found or _error_at_its_end(one, program, seen)
    if _is_announced(program, seen):
        told = (
            Finding(
                f"It raises, as line {program.place(seen.program.line or 0)} says: "
                f"{stopped(seen.program).rstrip('.:')}."
            ),
        )
        wrong = part.mark is not None and part.mark.polarity in ("wrong", "suboptimal")
        evidence = replace(
            evidence,
            faults=told * wrong + evidence.faults,
            merits=told * (not wrong) + evidence.merits,
            not_run=None,
        )
    elif error is not None:
        evidence = replace(
            evidence,
            faults=(Finding(f"It does not run: {error.rstrip('.:')}."), *evidence.faults),
            not_run=None,
        )
    elif evidence.not_run is None and evidence.acquittal is None and is_closed(program):
        evidence = replace(evidence, acquittal=no_error(part, seen.program))
    warned = one.example.warned or any(map(warns, part.comments))
    if error is not None and "raises AssertionError" in error:
        words = (one.example.before, *one.example.headings[1:], *part.comments)
        warned = any(map(expects_failure, words))
    decision = decide(part.mark, evidence, warned=warned)
    return _with_statements(decision, (*prints, *tested)), program, seen.program


def _is_announced(program: BlockInContext, seen: BlockRun) -> bool:
    """Whether the line that raised says so itself."""
    if not program.is_own(seen.program.line):
        return False
    said = behind_what_runs(program.text).get(seen.program.line or 0, "")
    return seen.program.outcome == "raised" and warns(said)


def _error(one: _One, program: BlockInContext, seen: BlockRun) -> str | None:
    """What its author got wrong, so that it does not come to its end."""
    return authors_error(seen.program, program, lambda: _elsewhere(one, program, seen))


def _prints(one: _One, program: BlockInContext, seen: BlockRun) -> tuple[Observation, ...]:
    """What it says that its lines print, and what they do; where these differ, whatever the seed."""
    found = printed(program, seen.program.texts)
    wrong = [p for p in found if p.agrees is False and is_closed(program)]
    others = _elsewhere(one, marked(program), seen) if wrong else ()
    elsewhere = [printed(program, ended.texts) for ended in others]
    kept = [w for w in wrong if elsewhere and all(w in texts for texts in elsewhere)]
    right = [one for one in found if one.agrees]
    return tuple(map(prints_otherwise, kept)) + tuple(map(prints_so, right))


def _elsewhere(one: _One, program: BlockInContext, seen: BlockRun) -> tuple[Ended, ...]:
    return in_other_worlds(program.text, seen.place, one.origin, one.tools, seconds=one.seconds)


def _error_at_its_end(one: _One, program: BlockInContext, seen: BlockRun) -> str | None:
    """The error of a program that lends nothing and whose loops were cut, where it runs through."""
    if not _is_cut(one, program, seen.program) or not is_closed(program):
        return None
    try:
        whole = run_whole(program.text, one.tools)
        return authors_error(whole, program, lambda: (whole,))
    except NoReport:
        return None


def _is_cut(one: _One, program: BlockInContext, ended: Ended) -> bool:
    """Whether it came to an end before its author's: we ran fewer turns than it shows."""
    stopped_early = ended.outcome == "exited" and (ended.message or "").startswith(ENOUGH)
    return stopped_early or (ended.outcome == "returned" and _short(one, program) != program)


def _run(one: _One) -> tuple[BlockInContext, BlockRun, str | None]:
    """Run a block with what its page defines; where that comes to nothing, with a model, data and an
    optimizer of ours. With its author's error, if there is one.
    """
    program = prepared(with_losses(one.session.program(one.example, one.part)))
    if names_a_fault(one.part):
        program = trained(program)
    seen = _seen(one, program)
    error = _error(one, program, seen)
    if error is not None or _came_to_its_end(one.part, seen):
        return program, seen, error
    if seen.program.outcome == "not-completed":
        return program, seen, None  # nor would it with what is lent
    lent = with_losses(one.session.program(one.example, one.part, lend=True))
    asked = {other.text: other for other in (fitted(program), lent, in_a_turn(lent))}
    asked.pop(program.text, None)
    anywhere = lent if one.part.kind == "training-loop" else program
    fits = anywhere.text == program.text and not misfits(seen.trace.probes[0])
    if _shows_a_step(one.part) and not fits:
        asked[anywhere.text] = anywhere
    tried = [(program, seen)]
    for other in asked.values():
        again = _seen(one, other, anywhere=other is anywhere)
        error = _error(one, other, again)
        if error is not None or _came_to_its_end(one.part, again):
            return other, again, error
        tried.append((other, again))
    return *max(tried, key=lambda one: one[1].trains), None


def _seen(one: _One, program: BlockInContext, *, anywhere: bool = False) -> BlockRun:
    if one.part.kind == "measurement" and uses(program.tree).clips:
        return run_measurement(program.text, one.origin, one.tools)
    shown = marked(program) if announced(program) else _short(one, program)
    text = without_gaps(shown)
    return run_block(text, one.origin, one.tools, seconds=one.seconds, anywhere=anywhere)


def _short(one: _One, program: BlockInContext) -> BlockInContext:
    return program if one.seconds is None else shortened(program)


_HOOKS = re.compile(r"def (?:training_step|configure_optimizers|\w+_epoch_end)\(self")
"""How a block shows a module of Lightning, whatever it is derived from."""


def _came_to_its_end(part: Part, seen: BlockRun) -> bool:
    used = uses(tree_of(part.code))
    trains = used.clips or "Trainer" in used.calls or "LightningModule" in part.code
    if _HOOKS.search(part.code):
        return seen.trains  # a module of Lightning
    if part.kind in ("training-loop", "update-function") and seen.program.outcome == "raised":
        return False  # such as where it counts what it got right
    if part.kind == "training-loop" and (trains or _shows_a_step(part)):
        return seen.trains
    return seen.trains or seen.program.outcome in ("returned", "exited")


def _evidence(
    one: _One, program: BlockInContext, seen: BlockRun
) -> tuple[Evidence, tuple[Observation, ...]]:
    """What a run has shown, and what the driver of its kind shows beside it."""
    part = one.part
    of_loop = loop_evidence(
        seen,
        steps=_shows_a_step(part),
        cut=_is_cut(one, program, seen.program),
        clears=part.mark is not None or not leaves_clearing_out(program),
        ranks=RANKS.search(part.code) is not None,
        fits=_is_of_one_hand(program),
    )
    foreign = _goes_back_from_anothers(part, program) or _gathers_as_another_says(part, program)
    if not _steps_itself(part) or program.is_completed or foreign or has_gaps(program):
        of_loop = replace(of_loop, faults=(), costs=(*of_loop.faults, *of_loop.costs))
    if part.kind in ("training-loop", "measurement"):
        merits = (*of_loop.merits, *_assertions(part, seen))
        of_loop = replace(of_loop, merits=merits, acquittal=acquittal(part, seen))
        return of_loop, statements_about(part, seen)
    found, tested = _driven(one, program) if part.kind in DRIVERS else (Evidence(), ())
    tested = (*tested, *statements_about(part, seen))
    ours = (part.mark is None and part.kind in IN_A_ROW) or (
        part.kind == "loss" and not _is_about_stability(part)
    )
    if ours:  # nobody claims anything of what a driver does with it
        found = replace(found, faults=(), costs=(*found.faults, *found.costs))
    if seen.trains or of_loop.faults:
        found = of_loop if found.is_silent else together([found, of_loop], None)
        return replace(found, acquittal=acquittal(part, seen)), tested
    if seen.program.outcome not in ("returned", "exited") and found.is_silent:
        return Evidence(not_run=stopped(seen.program)), tested
    return replace(found, merits=(*found.merits, *_assertions(part, seen)), not_run=None), tested


def _goes_back_from_anothers(part: Part, program: BlockInContext) -> bool:
    """Whether it makes a model or an optimizer, and goes back from a loss that it does not compute: what
    is lent for that hangs on another model.
    """
    made = bound_names(statements(tree_of(part.code)))
    makes = any(table().role(name, "objects") in ("model", "optimizer") for name in made)
    return makes and goes_back_from(walk(program.tree), lent_names(program))


def _is_of_one_hand(program: BlockInContext) -> bool:
    """Whether a page brings its optimizer with its model; a lent one may hold another."""
    lent, bound = lent_names(program), bound_names(statements(program.tree))
    roles = [{table().role(name, "objects") for name in names} for names in (lent, bound)]
    return not ("optimizer" in roles[0] and "model" in roles[1])


def _gathers_as_another_says(part: Part, program: BlockInContext) -> bool:
    """Whether an Accelerator of another block gathers micro-batches, and the part says nothing of it."""
    says = "gradient_accumulation_steps"
    here = says in part.code or "accumulate" in uses(tree_of(part.code)).calls
    return says in program.text and not here


def _steps_itself(part: Part) -> bool:
    """Whether a block shows who goes back and steps: what others do around its lines is no fault of its
    own. A step that calls the closure that it is handed makes windows which nobody here can read.
    """
    calls = uses(tree_of(part.code)).calls
    if "LBFGS" in calls:
        return False
    shows_all = "step" in calls and bool(calls & {"backward", "manual_backward", "grad"})
    shows_all = shows_all or forgets_backward(tree_of(part.code))
    shows_all = shows_all or "accumulate_grad_batches" in part.code  # it is about the whole window
    shows_all = shows_all or "estimated_stepping_batches" in part.code  # about all updates
    return shows_all or bool(calls & {"fit", "train", "launch"})


def _shows_a_step(part: Part) -> bool:
    """Whether an optimizer steps in it, or a trainer trains."""
    tree = tree_of(part.code)
    calls = uses(tree).calls
    stepping = [
        dotted(node.func.value)
        for node in walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "step"
    ]
    others = (_SCHEDULE, NO_OPTIMIZER)
    steps = any(
        table().role(name) != "scheduler" and not any(one.search(name) for one in others)
        for name in stepping
    )
    return steps or bool(calls & {"fit", "launch"}) or {"train", "Trainer"} <= calls


_SCHEDULE = re.compile(r"sched|plateau|cosine|warm", re.IGNORECASE)


_STABLE = re.compile(r"stab|safe|nan\b|\binf|overflow|underflow|negative", re.IGNORECASE)


def _is_about_stability(part: Part) -> bool:
    """Whether it is said to hold at the edges: not every loss is made for all of them."""
    said = [part.mark.text] if part.mark is not None else []
    return any(map(_STABLE.search, (*said, *part.comments)))


def _assertions(part: Part, seen: BlockRun) -> Iterator[Finding]:
    """What a block asserts at its top level, and has been found true by coming to its end."""
    held = [n for n in walk(tree_of(part.code)) if isinstance(n, ast.Assert)]
    inside = [
        n
        for d in walk(tree_of(part.code))
        if isinstance(d, ast.FunctionDef | ast.ClassDef)
        for n in walk(d)
    ]
    count = len([n for n in held if n not in inside])
    if count and seen.program.outcome == "returned":
        yield Finding(f"Its {count} assertion{'s' * (count != 1)} hold{'s' * (count == 1)}.")


def _driven(one: _One, program: BlockInContext) -> tuple[Evidence, tuple[Observation, ...]]:
    part = one.part
    try:
        report = run_driver(
            program.text, part.code, part.kind, one.origin, one.tools, seconds=one.seconds
        )
    except NoReport as reason:
        return Evidence(not_run=str(reason)), ()
    return evidence_of(report), statements_about_modules(part, report)


def _with_statements(decision: Decision, tested: tuple[Observation, ...]) -> Decision:
    """The decision, turned into a failure where a statement in a comment was refuted."""
    refuted = [one for one in tested if one.holds is False]
    observations = (*tested, *decision.observations)
    if not refuted or decision.status in ("fails", "cannot-be-run"):
        return Decision(decision.status, decision.sentence, decision.numbers, observations)
    return Decision("fails", refuted[0].sentence, refuted[0].numbers, observations)
