"""A verdict as a script of its own: plain torch, nothing of the harness, for whoever disputes it."""

import re
import textwrap
from collections.abc import Iterator
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from harness.domain.answer import Alternative, reasons_of
from harness.domain.errors import UsageError
from harness.domain.further import further_probes
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import ProbeTrace, Program, Trace
from harness.domain.wording import placed, plainly
from harness.domain.workload import WORKLOADS, WorkloadSpec

_NOTE = re.compile(r"(?P<name>[A-Za-z_]\w*): (?P<role>.+)")
_OURS = re.compile(
    r"^(?:from harness[.\w]* import (?:\([^)]*\)|[^\n(]*)|from (?:__future__|pydantic) [^\n]*)\n",
    re.MULTILINE,
)
_EXPRESSIONS = {
    "model": "MODEL",
    "model in DDP": "DistributedDataParallel(MODEL)",
    "criterion": "WORKLOAD.criterion()",
    "optimizer": "OPTIMIZER",
    "scaler": "torch.amp.GradScaler()",
    "scheduler": "torch.optim.lr_scheduler.LambdaLR(OPTIMIZER, lambda _: 1.0)",
    "parameters": "list(MODEL.parameters())",
    "logger": "Quiet()",
    "ignored": "Quiet()",
    "nothing": "None",
    "device": '"cpu"',
    "device type": '"cuda"',
    "cpu": '"cpu"',
    "rank": "RANK",
    "local rank": "RANK",
    "world size": "WORLD_SIZE",
    "main process": "RANK == 0",
    "accumulation": "SPEC.parameters.accumulation_steps",
    "max norm": "1.0",
    "clip value": "1.0",
    "epochs": "SPEC.parameters.epochs",
    "lr": "SPEC.parameters.learning_rate",
    "batch size": "SPEC.parameters.batch_size",
    "steps per epoch": "SPEC.parameters.batches",
    "flag on": "True",
    "flag off": "False",
    "interval": "10",
    "seed": "0",
    "dtype": "torch.float16",
}
"""What a name of each role stands for in the script."""

_PART = re.compile(r"(?:(?P<role>optimizer|scheduler|parameters) of )?the (?P<part>\w+)")
_PART_EXPRESSIONS = {
    None: "MODEL.{part}",
    "optimizer": "WORKLOAD.optimizer(MODEL.{part}.parameters())",
    "parameters": "list(MODEL.{part}.parameters())",
    "scheduler": "Quiet()",
}
"""The same for parts of the model that are trained against each other."""

_EACH_BATCH = frozenset({"input", "target", "mask", "count", "index"})


def render_script(
    name: str, alternative: Alternative, trace: Trace, scenario: Scenario, seed: int
) -> str:
    """The script for the execution that the first failure speaks of, else for the first one.

    ``name``: what the script's file will be called.

    Raises:
        UsageError: the program takes something for granted that a plain script cannot supply.
    """
    probe = _telling(trace, alternative)
    known = [*scenario.probes, *further_probes(scenario, alternative.program, trace.probes)]
    declared = next(p for p in known if p.name == probe.probe)
    usual = scenario.workload_of(declared, seed)
    spec = WorkloadSpec(name=probe.workload, parameters=probe.parameters, seed=usual.seed)
    names = list(_names(probe))
    page = Environment(
        loader=PackageLoader("harness.report"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    ).get_template("script.py.j2")
    return page.render(
        title=_harmless(f"{scenario.id}, {alternative.origin}: code {alternative.grade.code}."),
        lines=_story(alternative, declared),
        name=_harmless(name),
        world_size=probe.world_size,
        sources=_sources(spec),
        schema=WORKLOADS[spec.name].__name__,
        spec=spec,
        parameters=spec.parameters.model_dump(),
        injection=declared.injection,
        passes=[(o.at, o.every, o.rank, o.times, o.row) for o in declared.injection.passes],
        needs_optimizer=any("OPTIMIZER" in expression for _, expression in names),
        each_batch={n: role for n, role in _roles(probe) if role in _EACH_BATCH},
        names=names,
        program=_literal(probe.program.source),
        calls=probe.program.calls,
        judged=_judged(probe),
        ended=_ended(probe),
    )


def _telling(trace: Trace, alternative: Alternative) -> ProbeTrace:
    """The execution that the first failure speaks of, else the first one."""
    ran = {probe.probe: probe for probe in trace.everything if probe.program.source}
    if not ran:
        why = trace.probes[0].program.message
        said = f"the program did not run: {why}" if why else "no line of the program ran"
        raise UsageError(f"there is nothing to reproduce: {said}")
    why = alternative.grade.reason
    if why is not None and not any(probe.updates for probe in ran.values()):
        raise UsageError(f"there is nothing to reproduce, for no update was seen: {plainly(why)}")
    named = (
        number.where.partition(",")[0]
        for verdict in alternative.grade.verdicts
        if verdict.outcome == "fail"
        for number in verdict.numbers
    )
    return next((ran[name] for name in named if name in ran), next(iter(ran.values())))


_SUPPLIED = {
    r"__later__": "what belongs to a model that the program builds",
    r"__turns__": "the loop around code that is written for one batch",
    r"__(?:drawn|cross_entropy|loss_of_classes|same)__": "what stood in for its own data or loss",
    r"\b(?:TrainingArguments|LightningModule)\b": "what a Trainer does by itself",
}
"""What the harness supplies while a program runs, by how the program that ran shows it."""


def _refuse(program: Program) -> None:
    """Raises ``UsageError`` for a program that ran with what a plain script does not have."""
    for shown, what in _SUPPLIED.items():
        if re.search(shown, program.source):
            raise UsageError(_cannot(what))


def _cannot(what: str) -> str:
    shown = "harness grade --show-program prints what was run"
    return f"a plain script cannot supply {what}; {shown}"


def _names(probe: ProbeTrace) -> Iterator[tuple[str, str]]:
    """Each free name of the program, and the expression that the script sets it to.

    Raises:
        UsageError: as ``render_script``.
    """
    _refuse(probe.program)
    for name, role in _roles(probe):
        if role.startswith(("loader of ", "validation of ")):
            yield name, f"Loader({role.partition(' of ')[2]!r})"
        elif role.startswith("library "):
            yield name, f"looked_up({role.removeprefix('library ')!r})"
        elif role == "the workload's own":
            yield name, f"WORKLOAD.extra_names()[{name!r}]"
        elif role in _EXPRESSIONS:
            yield name, _EXPRESSIONS[role]
        elif found := _PART.fullmatch(role):
            yield name, _PART_EXPRESSIONS[found["role"]].format(part=found["part"])
        elif role not in _EACH_BATCH:
            raise UsageError(_cannot(f"{name} (taken for: {role})"))


def _roles(probe: ProbeTrace) -> Iterator[tuple[str, str]]:
    for note in probe.program.bound:
        if found := _NOTE.fullmatch(note):
            yield found["name"], found["role"]


def _story(alternative: Alternative, probe: Probe) -> list[str]:
    """Sentences for a docstring, which nothing in them may end."""
    where, lifts = placed(probe.name), " ".join(probe.lifts.split())
    reasons = reasons_of(alternative.grade)
    told = [*reasons, f"{where[0].upper()}{where[1:]}: {lifts}"]
    lines = [line for sentence in told for line in textwrap.wrap(sentence, 98)]
    return [_harmless(line) for line in lines]


def _harmless(line: str) -> str:
    return "".join(c for c in line.replace("\\", "/").replace('"', "'") if c.isprintable())


def _sources(spec: WorkloadSpec) -> list[str]:
    """The modules that make the workload, without what they import from the harness."""
    package = files("harness.workloads")
    names = ("workload", spec.name.replace("-", "_"))
    texts = [(package / f"{name}.py").read_text(encoding="utf-8") for name in names]
    return [_OURS.sub("", text).strip() for text in texts]


def _literal(program: str) -> str:
    if "'''" in program or "\\" in program:
        return repr(program)
    return f"r'''\n{program}\n'''"


def _judged(probe: ProbeTrace) -> list[str]:
    """Consumed norms of the first rank, as text: some are no numbers."""
    updates = probe.ranks[0].updates if probe.ranks else ()
    return [f"{update.consumed_norm:.6g}" for update in updates if not update.skipped]


def _ended(probe: ProbeTrace) -> str:
    program = probe.program
    if program.exception is None:
        return program.outcome
    said = f"{program.outcome} {program.exception}: {program.message}"[:200]
    return re.sub(r"[^\w .,:;()'-]", " ", said).replace("'", "`")
