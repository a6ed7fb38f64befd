"""``doctor`` and ``names``: what this machine offers, and what names of posted code stand for."""

import json
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path

import typer

from harness.cli.app import LOCAL, EngineOption, JsonOption, PlainOption, app, cluster
from harness.domain.errors import CannotExecuteHere, HarnessFault
from harness.domain.machine import Have, Machine, Offer
from harness.domain.packages import how_to_get
from harness.report.console import Output

_OPTIONAL = {
    "lightning": "what trains with it is not run",
    "accelerate": "what trains with it is not run",
    "transformers": "what trains with it is not run",
    "inspect_ai": "there are no tasks for Inspect",
    "openai": "openai:MODEL cannot be asked",
    "zstandard": "archived Inspect logs (.eval) cannot be read",
    "ray": "programs run on this machine only",
}
"""Packages of extras, and what is missing without them."""


@app.command(epilog="Example: harness doctor")
def doctor(
    context: typer.Context,
    *,
    engine: EngineOption = LOCAL,
    as_json: JsonOption = False,
    plain: PlainOption = False,
) -> None:
    """Say what this machine offers: torch, the guards of the sandbox, a key, optional packages.
    With --engine, what each node of a cluster offers.
    """
    from harness.report.machine import render_machine

    offers = (*_basics(), *_sandbox(), *_extras()) if engine == LOCAL else _nodes(context, engine)
    machine = Machine(offers=offers)
    output = Output(plain=plain)
    if as_json:
        output.text(machine.model_dump_json(indent=2))
    else:
        output.show(render_machine(machine))
    raise typer.Exit(0 if machine.can_execute else 1)


@app.command(epilog="Example: harness names")
def names(*, as_json: JsonOption = False) -> None:
    """List the names that a posted program may use, and what each of them stands for."""
    from harness.sandbox.names.table import sections

    if as_json:
        sys.stdout.write(json.dumps(sections(), indent=2) + "\n")
        return
    for kind, roles in sections().items():
        sys.stdout.write(f"{kind}\n")
        for role, spellings in roles.items():
            said = ", ".join(spelling.replace(" ", "_") for spelling in spellings)
            text = textwrap.fill(said, 76, initial_indent="      ", subsequent_indent="      ")
            sys.stdout.write(f"  {role}\n{text}\n")


def _basics() -> Iterator[Offer]:
    said = f"{platform.python_version()} at {sys.executable}"
    yield Offer(name="python", have="yes" if sys.version_info >= (3, 11) else "no", detail=said)
    linux = sys.platform == "linux"
    without = "stored runs can be judged, compared and reported; programs run on Linux only"
    said = platform.release() if linux else without
    yield Offer(name="linux", have="yes" if linux else "no", detail=said)
    yield Offer(name="cores", have="yes", detail=str(os.cpu_count() or 1))
    yield from _foreign()
    yield _package("torch", without="nothing can be executed", needed=True)


def _foreign() -> Iterator[Offer]:
    """Another distribution's module called ``harness``, or its command before ours in PATH."""
    others = sorted({*packages_distributions().get("harness", ())} - {"gradient-skill-harness"})
    if others:
        said = (
            f"{', '.join(others)} installs a module `harness` too: keep the two apart, each in an"
        )
        yield Offer(name="harness", have="no", detail=f"{said} environment of its own")
    command = shutil.which("harness")
    if command is not None and not _is_ours(Path(command)):
        said = f"{command} is another program: say gradient-skill-harness, or python -m harness"
        yield Offer(name="harness", have="no", detail=said)


def _is_ours(command: Path) -> bool:
    """Whether a command is the one that this distribution installs; one that may not be read is not."""
    try:
        with command.open("rb") as file:
            return b"harness.__main__" in file.read(4096)
    except OSError:
        return False


def _sandbox() -> Iterator[Offer]:
    from harness.sandbox.executor import JailedExecutor

    try:
        with JailedExecutor(parallel=1) as executor:
            guards = executor.machine().guards
    except (CannotExecuteHere, HarnessFault) as error:
        said = str(error).strip().splitlines()[-1]
        yield Offer(name="sandbox", have="no", detail=said)
        return
    whole = all(guard.on for guard in guards)
    said = "every guard holds" if whole else "programs run, with fewer guards around them"
    yield Offer(name="sandbox", have="yes" if whole else "partly", detail=said)
    for guard in guards:
        yield Offer(name=f"  {guard.name}", have="yes" if guard.on else "no", detail=guard.detail)


def _nodes(context: typer.Context, engine: str) -> tuple[Offer, ...]:
    """The cluster, and below it each node."""
    found = []
    for node, said in cluster(context, engine, None).welcomes():
        refusal = said if isinstance(said, str) else said.refusal
        notes = () if isinstance(said, str) else said.notes
        detail = refusal or "; ".join(notes) or f"{node.cores} cores; every guard holds"
        have: Have = "no" if refusal else "partly" if notes else "yes"
        found.append(Offer(name=f"  {node.host}", have=have, detail=detail))
    can = [offer for offer in found if offer.have != "no"]
    whole: Have = "no" if not can else "yes" if len(can) == len(found) else "partly"
    said = f"{len(can)} of {len(found)} nodes take programs"
    return (Offer(name="cluster", have=whole, detail=said), *found)


def _extras() -> Iterator[Offer]:
    key = bool(os.environ.get("ANTHROPIC_API_KEY"))
    said = "set" if key else "ANTHROPIC_API_KEY is not set: models cannot be asked; all else works"
    yield Offer(name="key", have="yes" if key else "no", detail=said)
    for package, without in _OPTIONAL.items():
        yield _package(package, without=f"{without}: {how_to_get([package])}")


def _package(name: str, without: str, *, needed: bool = False) -> Offer:
    if find_spec(name) is not None:
        return Offer(name=name, have="yes", detail=version(name))
    said = f"not installed: {without}"
    return Offer(name=name, have="no" if needed else "partly", detail=said)
