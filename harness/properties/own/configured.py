"""What a library's loop does that a program only configures: no line of it is the author's."""

import ast
import re

from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace
from harness.properties.accumulation.accumulation_equals_large_batch import ID

CONFIGURES = re.compile(r"\bTrainingArguments\(")

LEFT_TO_IT = (
    "the loop is that of transformers' Trainer, which leaves the division to some models; whether they "
    "divide hangs on its version"
)


def left_to_a_trainer(trace: Trace) -> tuple[PropertyRule, ...]:
    """How losses are divided is the Trainer's matter where a program gives it no loss, class or
    function of its own.
    """
    sources = {probe.program.source for probe in trace.probes}
    if not sources or not all(CONFIGURES.search(s) and not _defines(s) for s in sources):
        return ()
    return (PropertyRule(id=ID, level="allowed", reason=LEFT_TO_IT),)


def _defines(source: str) -> bool:
    if "compute_loss" in source:
        return True
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return True
    return any(isinstance(n, ast.ClassDef | ast.FunctionDef) for n in body)
