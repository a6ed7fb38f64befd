"""What a library's loop does that a program only configures: no line of it is the author's."""

import ast
import re

from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace
from harness.properties.accumulation.accumulation_equals_large_batch import ID
from harness.syntax import tree_of, walk

CONFIGURES = re.compile(r"\bTrainingArguments\(")
"""How a program shows that transformers' Trainer has the loop."""

LEFT_TO_IT = (
    "the loop is that of transformers' Trainer, which leaves the division to some models; whether they "
    "divide hangs on its version"
)


def left_to_a_trainer(trace: Trace) -> tuple[PropertyRule, ...]:
    """How losses are divided is the Trainer's matter where a program has no loss, Trainer or model of
    its own; functions that prepare data or count hits are none, and layers that replace others.
    """
    sources = {probe.program.source for probe in trace.probes}
    if not sources or not all(CONFIGURES.search(s) and not _computes_losses(s) for s in sources):
        return ()
    return (PropertyRule(id=ID, level="allowed", reason=LEFT_TO_IT),)


def _computes_losses(source: str) -> bool:
    try:
        nodes = [*walk(tree_of(source))]
    except SyntaxError:
        return True
    forwards = (n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "forward")
    bases = [ast.unparse(b) for n in nodes if isinstance(n, ast.ClassDef) for b in n.bases]
    own = any(map(_makes_a_loss, forwards)) or any(base.endswith("Trainer") for base in bases)
    return own or "compute_loss" in source


def _makes_a_loss(forward: ast.FunctionDef) -> bool:
    """A model's, to which a Trainer gives labels; a head's or a layer's makes none."""
    arguments = forward.args
    named = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
    return bool(arguments.kwarg) or "labels" in named or "loss" in ast.unparse(forward)
