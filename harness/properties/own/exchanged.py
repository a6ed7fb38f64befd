"""A model that the program exchanges beside an optimizer that it was lent: the reader may build that
afterwards, so that what it does not hold is no fault of the program's.
"""

import ast
import contextlib

from harness.domain.own import lent
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties.learning.every_parameter_learns import ID as LEARNS
from harness.syntax import tree_of, walk

AROUND = frozenset({
    "DistributedDataParallel", "DDP", "DataParallel", "FullyShardedDataParallel", "FSDP", "compile",
    "prepare", "setup", "setup_module", "fully_shard",
})  # fmt: skip
"""Calls that return a model with the parameters that they were given."""

BUILT_WHEN = "It changes the model; show where the optimizer is built, before or after that."


def beside_a_lent_optimizer(verdicts: tuple[Verdict, ...], trace: Trace) -> tuple[Verdict, ...]:
    """The verdicts, without a failure of parameters that a lent optimizer may not hold."""
    if not any(v.property == LEARNS and v.outcome == "fail" for v in verdicts):
        return verdicts
    return tuple(map(_not_of_the_lent, verdicts)) if exchanges_its_model(trace) else verdicts


def exchanges_its_model(trace: Trace) -> bool:
    """Whether the program was lent an optimizer, and exchanges the model that it was lent, or a part of
    it: ``model.head = nn.Linear(8, 2)``, ``prepared = prepare_qat(model)``; the last also of a model
    that it makes.
    """
    for program in (probe.program for probe in trace.probes):
        roles = dict(note.partition(": ")[::2] for note in lent(program.bound))
        models = {name for name, role in roles.items() if role == "model"}
        if "optimizer" in roles.values():
            with contextlib.suppress(SyntaxError):
                nodes = list(walk(tree_of(program.source)))
                calls = (n.func for n in nodes if isinstance(n, ast.Call))
                called = {f.id for f in calls if isinstance(f, ast.Name)}
                return any(_exchanges(node, models, _made(nodes), called) for node in nodes)
    return False


def _made(nodes: list[ast.AST]) -> set[str]:
    """Names of what the program makes by a call."""
    made = (n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call))
    return {t.id for n in made for t in n.targets if isinstance(t, ast.Name)}


def _exchanges(node: ast.AST, models: set[str], made: set[str], run: set[str]) -> bool:
    """Whether something else is put in the place of a model or of its part, or another one is made of
    it and ``run``; what a model returns of itself (``model.to(device)``) and what is put around it
    (``DDP(model)``) have its parameters.
    """
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return False
    called = ast.unparse(node.value.func)
    if called.partition(".")[0] in models or called.rpartition(".")[2] in AROUND:
        return False
    target = node.targets[0]
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    name = getattr(target, "id", "")
    given = {a.id for a in node.value.args if isinstance(a, ast.Name)}
    return name in models or (name in run and bool((models | made) & given))


def _not_of_the_lent(verdict: Verdict) -> Verdict:
    if verdict.property != LEARNS or verdict.outcome != "fail":
        return verdict
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": BUILT_WHEN})
