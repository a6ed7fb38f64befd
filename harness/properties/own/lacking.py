"""The one thing that keeps a program inconclusive, and what to add."""

import re
from collections.abc import Sequence

from harness.domain.branch import in_none
from harness.domain.own import lent
from harness.domain.trace import ProbeTrace, Program, Trace
from harness.domain.verdict import Verdict
from harness.properties.completion import in_one_line
from harness.properties.evidence.figures import count
from harness.properties.evidence.windows import of_probe
from harness.properties.learning.every_parameter_learns import lends_a_step
from harness.properties.own.untrained import why_untrained

UNDEFINED = re.compile(r"name '(?P<name>\w+)' is not defined")
UNBOUND = re.compile(r"^`(?P<name>[\w.]+)` (?P<why>.+)$", re.DOTALL)
MISSING = re.compile(r"^needs |^is a package |not here$")
FILE = re.compile(r"^is a file that is not here")
"""What no definition in the program brings: packages and files."""

UNREAD = re.compile(r"cannot be read: ")
BROKEN = re.compile(r"is not valid Python: (?P<what>.+) \(<candidate>, line (?P<line>\d+)\)")

IMPORTS = {
    "inf": "from torch import inf",
    "nan": "from torch import nan",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "np": "import numpy as np",
    "dist": "import torch.distributed as dist",
    "DDP": "from torch.nn.parallel import DistributedDataParallel as DDP",
    "Path": "from pathlib import Path",
    "partial": "from functools import partial",
    "tqdm": "from tqdm import tqdm",
    **{name: f"import {name}" for name in ("torch", "math", "os", "sys", "time", "json", "random")},
}
"""What brings the names that programs use without defining them."""


def lacking(trace: Trace, verdicts: Sequence[Verdict]) -> str:
    """Why it is inconclusive, in one sentence with the one thing to add."""
    stopped = next(filter(None, map(_stopped, trace.probes)), None)
    if stopped is not None:
        return stopped
    if not any(of_probe(probe) for probe in trace.probes):
        return _never_trained(trace)
    if all(map(lends_a_step, trace.probes)):
        return "It steps, and shows no loss that goes backward; show the loop around the step."
    open_ = [v for v in verdicts if v.level == "required" and v.outcome == "inconclusive"]
    return f"{open_[0].property}: {open_[0].sentence}" if open_ else "Nothing could be judged."


def _stopped(probe: ProbeTrace) -> str | None:
    """What ended the program before it was through; ``None`` where it ran to its end."""
    program = probe.program
    said = in_one_line(program.message or "no message")
    line = f"line {program.line}: " if program.line else ""
    if program.outcome == "unbound":
        return _unbound(said)
    if program.outcome == "not-completed":
        return f"It did not come to its end: {said.removesuffix('.')}."
    if program.outcome != "raised":
        return None
    if found := UNDEFINED.search(said):
        return f"{line}{define(found['name'])}."
    if name := _lent_there(program):
        return f"{line}{define(name)}: what was lent for it does not fit ({said})."
    return f"{line}it raised {program.exception} ({said}); repair that."


def _lent_there(program: Program) -> str:
    """A name on the line that raised for which something was lent; empty where there is none."""
    lines = program.source.splitlines()
    if not program.line or program.line > len(lines):
        return ""
    used = re.findall(r"\w+", lines[program.line - 1])
    roles = dict(note.partition(": ")[::2] for note in lent(program.bound))
    return next(
        (name for name in used if roles.get(name, "").strip() and "library" not in roles[name]), ""
    )


def _unbound(said: str) -> str:
    found = UNBOUND.match(said)
    if found is None:
        return f"It could not be started: {said}."
    if broken := BROKEN.search(said):
        return f"line {broken['line']}: it is not valid Python ({broken['what']}); repair that."
    if UNREAD.match(found["why"]):
        return f"It {found['why']}; put what is long or deep into a file of its own."
    if FILE.match(found["why"]):
        return f"`{found['name']}` {found['why']}; put it where the program looks for it."
    if MISSING.search(found["why"]):
        return f"`{found['name']}` {found['why']}."
    return f"{define(found['name'])}: it {found['why']}."


def define(name: str) -> str:
    """What to add for a name that nothing defines."""
    how = IMPORTS.get(name)
    return f"define `{name}`: `{how}`" if how else f"define `{name}`"


def _never_trained(trace: Trace) -> str:
    backwards = sum(len(rank.backwards) for probe in trace.probes for rank in probe.ranks)
    calls = [call for probe in trace.probes for call in probe.program.calls]
    if backwards:
        missed = in_none([probe.program.unentered for probe in trace.probes]) or ()
        if step := next((b for b in missed if b.written and "step" in b.touches), None):
            return (
                f"Gradients were computed, and line {step.first}, which steps, was never reached; "
                "see under which condition it runs."
            )
        return (
            f"Gradients were computed {count(backwards, 'time')}, and no parameter of a "
            "torch.nn.Module was seen to be updated; hold them in one, or step with an optimizer of "
            "torch."
        )
    if calls:
        return f"`{calls[0]}` made no optimizer step; show the loop that steps."
    program = next((p.program.source for p in trace.probes if p.program.source.strip()), None)
    return "It is empty; add the loop that trains." if program is None else why_untrained(program)
