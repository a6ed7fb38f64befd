"""What runs inside the jail: attach the probes, bind the program, run it, say how it ended."""

import atexit
import contextlib
import dis
import functools
import traceback
from collections.abc import Callable, Mapping
from types import TracebackType

import torch

from harness.beside import unpacked
from harness.domain.event import Finished
from harness.domain.workload import WorkloadSpec
from harness.extensions import load_where_told
from harness.sandbox import world
from harness.sandbox.absent import standins
from harness.sandbox.channel import Channel
from harness.sandbox.derivatives import enlarged, untrue, untrue_loss
from harness.sandbox.job import Job
from harness.sandbox.leader import Work
from harness.sandbox.machine.spellings import install_spellings
from harness.sandbox.order import SCOUTS, WorkOrder
from harness.sandbox.own import program as own_program
from harness.sandbox.own.resuming import run_twice
from harness.sandbox.ready import ReadyProgram
from harness.sandbox.recorder import Recorder, clips, collectives
from harness.sandbox.stage import program as staging
from harness.sandbox.tested.run import test_program
from harness.workloads import build

WARMING = """
for i, (x, y) in enumerate(train_loader):
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
"""A loop that is bound once in the zygote, so that no candidate pays for what is lazy in the way
there.
"""


LONGEST = 1000
"""Characters of a message that are kept."""


def warm_up() -> None:
    """Called in the zygote before it forks: what every child would do again is done once."""
    load_where_told()
    install_spellings()
    collectives.operations()
    for name in clips.FUNCTIONS:
        clips.signature_of(getattr(torch.nn.utils, name))
    standins.load_all()
    workload = build(WorkloadSpec.model_validate({"name": "mlp", "parameters": {}}))
    world.bind(
        WARMING,
        workload,
        rank=0,
        world_size=1,
        on_batch=lambda *_: None,
        tracked=lambda model, *_, **__: model,
        known={},
        rehearses=True,
    )


def begin(channel: Channel) -> Work:
    """Attach the probes, which needs no job; the rest is done with one."""
    recorder = Recorder(channel)
    install_spellings()
    recorder.install()
    return functools.partial(work_on, recorder)


def work_on(recorder: Recorder, job: Job, rank: int, world_size: int) -> None:
    """Run one candidate on one rank and send what happened. Returns whatever the candidate does."""
    order = WorkOrder.model_validate_json(job.payload_json)
    if order.tests:
        test_on(recorder, job.program, order)
        return
    recorder.inject(order.injection, rank)
    try:
        ready = _ready(recorder, job.program, order, rank, world_size)
    except (OSError, MemoryError):
        raise  # the machine's, whatever the program
    except (Exception, world.NameScouted) as error:  # noqa: BLE001 - no program may make us fail
        recorder.start(())
        recorder.finish(_not_begun(error, order.known))
        return
    recorder.schedulers.passes = ready.passes
    ready.patience.said = lambda: recorder.tape.sent
    recorder.start(tuple(ready.journal), ready.source, ready.calls)
    recorder.tape.is_silent = order.resumes  # what it took up is all that is told
    with recorder.recording(ready.module, world_size):
        run = functools.partial(run_twice, ready, job.seed) if order.resumes else ready.run
        finished = _ended(run, order.known)
    recorder.tape.is_silent = False
    examine = functools.partial(_untrue, recorder, own_world=order.own_world)
    recorder.finish(finished.model_copy(update=_afterwards(ready)), examine)


def test_on(recorder: Recorder, program: str, order: WorkOrder) -> None:
    """Have a pytest file judge a program, and send what each of its tests said."""
    recorder.start((), program)
    finished, tampered = test_program(program, order.tests, order.posted, recorder.tape.write)
    if tampered is not None:
        recorder.note("tampered", what=tampered)
    recorder.finish(finished)


def _ready(
    recorder: Recorder, program: str, order: WorkOrder, rank: int, world_size: int
) -> ReadyProgram:
    """The program with the names that it is lent, or as it is in a world of its own."""
    if order.own_world:
        own = own_program.prepare(program, rank, world_size, recorder.batch, order)
        recorder.own_world(whole=not unpacked(program).modules)
        return own
    if order.alone:
        recorder.look_at_graphs()
    workload = build(order.workload)
    stage = workload.stage(rank, world_size, recorder.note)
    if stage is not None:
        staged = staging.prepare(program, stage, rank, world_size, recorder.note)
        for model in staged.models:
            recorder.track(model)
        recorder.steps.given = staged.optimizers
        return staged
    bound = world.bind(
        program,
        workload,
        rank=rank,
        world_size=world_size,
        on_batch=recorder.batch,
        tracked=recorder.track,
        known=order.known,
        alone=order.alone,
    )
    if order.brief:
        bound.patience.hurry()
    recorder.steps.given = bound.optimizers
    recorder.losses.shapes_are_its_own = bound.is_told_shapes
    return bound


def _not_begun(error: BaseException, known: Mapping[str, str]) -> Finished:
    """Why a program could not be made ready."""
    if isinstance(error, world.NameScouted):
        return _scouted(error, known)
    if isinstance(error, world.Unbound):
        return Finished(outcome="unbound", message=str(error))
    trace = _innermost(error.__traceback__)
    place = trace.tb_frame.f_globals.get("__name__", "?") if trace is not None else "?"
    said = f"it could not be made ready to run ({type(error).__name__} in {place})"
    return Finished(outcome="unbound", message=said)


def _afterwards(ran: ReadyProgram) -> dict[str, object]:
    """What is asked of a program once it has run: what it changed cannot make us fail."""
    try:
        return {**ran.after(), "unentered": ran.untaken()}
    except Exception:  # noqa: BLE001 - what the program left behind may raise anything
        return {"unentered": None}


def _untrue(recorder: Recorder, *, own_world: bool) -> str | None:
    """Which of its own models or losses gives untrue gradients; one that cannot be asked gives none.
    In its own world a model may well have others than its derivatives, as a straight-through one does.
    """
    asked = enlarged if own_world else untrue
    found = None
    with contextlib.suppress(Exception):  # what the program wrote may raise anything
        found = asked(recorder.forwards.first_calls.values())
    with contextlib.suppress(Exception):
        found = found or untrue_loss(recorder.functions.first_calls.items())
    return found or recorder.steps.memories.rewritten


def _ended(run: Callable[[], None], known: Mapping[str, str]) -> Finished:
    """How a program ended."""
    try:
        _to_its_exit(run)
    except world.Unbound as unbound:
        return Finished(outcome="unbound", message=str(unbound))
    except world.NameScouted as scouted:
        return _scouted(scouted, known)
    except SystemExit as exit_:
        return Finished(outcome="exited", exception="SystemExit", message=_said(exit_.code))
    except BaseException as error:
        if _is_ours(error):
            raise
        return Finished(
            outcome="raised",
            exception=type(error).__name__[:LONGEST],
            message=_said(error),
            line=_line(error.__traceback__),
            during=_during(error.__traceback__),
        )
    return Finished(outcome="returned")


def _to_its_exit(run: Callable[[], None]) -> None:
    """Run a program, and then what it registered to be called at its end: no interpreter ends here."""
    atexit._clear()
    try:
        run()
    finally:
        atexit._run_exitfuncs()


def _said(value: object) -> str:
    """What the program's own object says of itself, if it can."""
    try:
        return str(value)[:LONGEST]
    except BaseException:  # noqa: BLE001 - it is the program's code that runs here
        return f"{type(value).__name__}, which cannot be shown"


def _scouted(found: world.NameScouted, known: Mapping[str, str]) -> Finished:
    """A scout's end: what one name of the program is, unless that did not help before."""
    if found.name in known or not found.role or len(known) >= SCOUTS:
        said = f"`{found.name}` is used in no way that tells what it is"
        return Finished(outcome="unbound", message=said)
    return Finished(outcome="scouted", exception=found.role, message=found.name)


def _line(trace: TracebackType | None) -> int | None:
    lines = [f.lineno for f in traceback.extract_tb(trace) if f.filename == world.FILENAME]
    return lines[-1] if lines else None


def _is_ours(error: BaseException) -> bool:
    """Whether the innermost frame is the harness's: a probe that breaks must not look like a broken
    loop.
    """
    trace = _innermost(error.__traceback__)
    return trace is not None and _of_a_probe(trace) and not _handed_on(trace)


def _handed_on(trace: TracebackType) -> bool:
    """Whether it broke in what a probe hands on: what is written in C has no frame of its own, and
    what refuses its arguments raises in the frame of the caller, which is the probe.
    """
    calls = (i for i in dis.get_instructions(trace.tb_frame.f_code) if i.argval == "original")
    return trace.tb_lineno in {i.positions.lineno for i in calls if i.positions is not None}


def _of_a_probe(trace: TracebackType) -> bool:
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.startswith("harness.sandbox.recorder")


def _innermost(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _during(trace: TracebackType | None) -> str | None:
    """What broke, outside of the program; a probe that hands on a call stands for nothing."""
    last, at = None, trace
    while at is not None:
        last, at = at if not _of_a_probe(at) else last, at.tb_next
    if last is None or last.tb_frame.f_code.co_filename == world.FILENAME:
        return None
    module = last.tb_frame.f_globals.get("__name__", "?")
    return f"{module}.{last.tb_frame.f_code.co_qualname}"[:LONGEST]
