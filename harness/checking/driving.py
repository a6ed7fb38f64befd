"""Runs an example that is no loop: a driver goes into the jail with it and reports what it saw.

A driver is text here and program there. Both it and the example go in as strings, so that the
sandbox has nothing to lend or replace, and it prints one line of JSON. That line is data
from an untrusted process: it is validated, and a skill that forges it deceives its own author only.
"""

import ast
import json
import secrets
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pydantic import TypeAdapter, ValidationError

from harness.checking.facts import DriverReport
from harness.domain.candidate import Candidate
from harness.domain.errors import HarnessFault
from harness.domain.event import Finished, OptimizerStep, Printed
from harness.domain.instruments import Instruments
from harness.domain.recording import Recording
from harness.domain.scenario import Probe
from harness.domain.skill import ExampleKind
from harness.domain.trace import Program as Ended
from harness.domain.workload import WorkloadSpec
from harness.extraction.names import free_names, statements
from harness.syntax import tree_of

_READER: TypeAdapter[DriverReport] = TypeAdapter(DriverReport)
DRIVERS: dict[ExampleKind, str] = {
    "gradient-function": "gradient-function",
    "inspection": "inspection",
    "loss": "loss",
    "module": "module",
    "initialisation": "initialisation",
    "scheduler": "scheduler",
}
"""What is executed with a driver, and which."""


class NoReport(Exception):
    """The driver did not come to its end; the message says why."""


def run_driver(
    code: str,
    own: str,
    kind: ExampleKind,
    origin: str,
    tools: Instruments,
    *,
    seconds: float | None,
) -> DriverReport:
    """Execute an example with the driver of its kind; ``own``: what of its code is looked at.

    Raises:
        NoReport: the process ended, or printed something that no driver prints.
        HarnessFault: the sandbox itself failed.
    """
    marker = _marker()
    program = _program(code, own, DRIVERS[kind], marker)
    said = _printed(program, marker, origin, tools, seconds=seconds)
    return _read(said[0])


def ask(driver: str, facts: Mapping[str, object], tools: Instruments) -> tuple[str, ...]:
    """What a driver says, a line each, that needs these facts and no example.

    Raises:
        NoReport: it said nothing.
        HarnessFault: the sandbox itself failed.
    """
    marker = _marker()
    head = "".join(f"{name} = {value!r}\n" for name, value in {**facts, "MARKER": marker}.items())
    return _printed(_hidden(head + _text(driver)), marker, driver, tools)


def run_whole(code: str, tools: Instruments) -> Ended:
    """How a program ends that needs nothing lent, with nothing of its loops cut.

    Raises:
        NoReport: it did not come to any end in time.
        HarnessFault: the sandbox itself failed.
    """
    said = ask("whole", {"BLOCK": code}, tools)[0]
    nothing = {"during": None, "ours": False, "reported_before_backward": None}
    try:
        return Ended.model_validate({**json.loads(said), **nothing})
    except (ValueError, TypeError) as error:
        raise NoReport(f"the program printed something else than its report: {error}") from error


def _marker() -> str:
    return f"harness-check {secrets.token_hex(8)}: "


def _printed(
    program: str, marker: str, origin: str, tools: Instruments, *, seconds: float | None = None
) -> tuple[str, ...]:
    """What stands behind the marker."""
    workload = WorkloadSpec.model_validate({"name": "mlp", "parameters": {"batches": 1}})
    probe = Probe(name="example", lifts="", seconds=seconds)
    candidate = Candidate(program=program, origin=origin)
    return _said(executed(candidate, workload, probe, tools, to_its_end=True), marker)


def executed(
    candidate: Candidate,
    workload: WorkloadSpec,
    probe: Probe,
    tools: Instruments,
    *,
    to_its_end: bool = False,
) -> Recording:
    """What came of one execution; where it ran out of a short time before any update, or the machine
    did not give it that, of one with the sandbox's own limit. ``to_its_end``: whether its updates tell
    nothing by themselves, as those of a driver that reports at its end.

    Raises:
        HarnessFault: the sandbox itself failed.
    """
    recording = tools.executor.execute(candidate, workload, probe)
    tells = _updates(recording) and not (recording.ours or to_its_end)
    late = recording.timed_out and not tells
    if late and probe.seconds is not None:
        probe = probe.model_copy(update={"seconds": None})
        recording = tools.executor.execute(candidate, workload, probe)
    if recording.ours and not recording.timed_out:
        raise HarnessFault(recording.problem or "the sandbox failed")
    return recording


def _updates(recording: Recording) -> bool:
    return any(isinstance(e.event, OptimizerStep) for rank in recording.ranks for e in rank.events)


def _program(code: str, own: str, driver: str, marker: str) -> str:
    tree = tree_of(code)
    defined = [n.name for n in tree_of(own).body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    layers = sorted(n for n in free_names(statements(tree)) if n[:1].isupper() and n not in _KNOWN)
    facts = {
        "BLOCK": code, "MARKER": marker, "LOOSE": not defined, "OWN": defined, "LAYERS": layers
    }  # fmt: skip
    head = "".join(f"{name} = {value!r}\n" for name, value in facts.items())
    whole = head + _text("common") + "\n\n" + _text(driver)
    return _hidden(whole)


def _hidden(driver: str) -> str:
    return f"exec(compile({driver!r}, '<driver>', 'exec'), {{'__name__': '__main__'}})\n"


_KNOWN = frozenset({"F", "DataLoader", "GradScaler", "SGD", "Adam", "AdamW", "RMSprop"})


@cache
def _text(name: str) -> str:
    return files("harness.checking").joinpath("drivers", f"{name}.txt").read_text("utf-8")


def _said(recording: Recording, marker: str) -> tuple[str, ...]:
    if recording.problem:
        raise NoReport(recording.problem)
    found: list[str] = []
    for recorded in recording.ranks[0].events:
        event = recorded.event
        if isinstance(event, Printed) and (start := event.text.find(marker)) >= 0:
            found += event.text[start + len(marker) :].split(f"\n{marker}")
        if isinstance(event, Finished) and event.outcome != "returned" and not found:
            raise NoReport(f"{event.exception or event.outcome}: {event.message}")
    if not found:
        raise NoReport("the program ended without a word")
    return tuple(found)


def _read(line: str) -> DriverReport:
    try:
        return _READER.validate_python(json.loads(line.splitlines()[0]))
    except (ValueError, ValidationError, RecursionError) as error:
        raise NoReport(f"the program printed something else than its report: {error}") from error
