"""What a training loop uses, by its structure; and the scenario on which that can be judged.

Structure chooses the conditions only. What is right under them is decided by numbers.
"""

import ast
from dataclasses import dataclass

from pydantic import JsonValue

from harness.checking.shape import called
from harness.domain.injection import Injection, OnePass
from harness.domain.scenario import Expectations, Probe, PropertyRule, Scenario
from harness.domain.workload import WorkloadSpec
from harness.skills.kinds import uses

_QUIET = Injection(factor=0.15), 0.5
_LOUD = Injection(factor=3.0), 0.2
"""What is done to gradients, and the learning rate for that."""
_OVERFLOW = OnePass(at=5, times=1e5)
_POISONED: dict[str, JsonValue] = {"target_scale": 8.0, "poison_at": 5}


@dataclass(frozen=True, slots=True)
class Techniques:
    """Which techniques a loop uses."""

    ranks: bool
    """DistributedDataParallel, ``no_sync``."""
    scaler: bool
    """A GradScaler."""
    accumulates: bool
    """Windows of several micro-batches."""
    schedules: bool
    """A learning-rate scheduler."""
    clips_norm: bool
    """The norm of the whole gradient is clipped by torch's function or a trainer's argument."""
    other_clip: bool
    """Gradients are clipped by value, part by part, or by code of the program's own."""
    checks_loss: bool
    """The loss is tested for NaN or infinity."""
    masks: bool
    """Some targets do not count in the loss."""
    times: bool
    """It is a measurement: a clock is read, and clipping is switched on and off."""
    parts: bool
    """The model is made of a backbone and a head."""
    window: int
    """Micro-batches in a window, where it is written out; otherwise the workload's 4."""


def techniques(program: str) -> Techniques:
    """What a program uses."""
    tree = ast.parse(program)
    calls = uses(tree).calls
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    whole = _whole_model_clips(tree)
    clips = len(
        [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called(n).startswith("clip_")]
    )
    return Techniques(
        ranks=bool({"no_sync", "DDP", "DistributedDataParallel"} & (calls | names)),
        scaler="GradScaler" in calls or "scaler" in names,
        accumulates=_accumulates(tree, names),
        schedules="scheduler" in names and "step" in calls,
        clips_norm=whole > 0 or "gradient_clip_val" in _keywords(tree),
        other_clip=clips > whole or "clip_grad_value_" in calls,
        checks_loss=bool(calls & {"isnan", "isfinite", "isinf"}) and "custom_loss" in names,
        masks=_masks(tree),
        times=_times(tree, calls),
        parts={"backbone", "head"} <= names,
        window=_window(tree),
    )


def scenario_for(found: Techniques, threshold: float | None) -> Scenario:
    """Workload, probes and properties for a loop; ``threshold`` is the one that was seen in use."""
    if found.times:
        return _measurement()
    probes = _probes(found, threshold)
    rules = [PropertyRule(id=name) for name in _required(found, threshold)]
    return Scenario(
        id="example", title="", suite="check", source="", pressure="", prompt="", buggy="",
        reference="", workload=_workload(found), probes=probes,
        expectations=Expectations(
            objectives=("micro-batch-mean", "sample-mean"),
            max_norm=threshold,
            accumulates=found.accumulates,
            overflow_probe="overflow" if found.scaler else None,
            poisoned_probe="poisoned" if found.checks_loss else None,
        ),
        properties=tuple(rules), buggy_fails=(), rubric=(), rationalizations=(),
    )  # fmt: skip


def _measurement() -> Scenario:
    """A scenario whose gradients have norms of 10 to 40, so that a clip always has something to do."""
    parameters = {"learning_rate": 0.002, "batches": 2, "epochs": 1}
    lifts = "A cost in percent needs a size."
    return Scenario(
        id="example", title="", suite="check", source="", pressure="", prompt="", buggy="", reference="",
        workload=WorkloadSpec.model_validate({"name": "mlp", "parameters": parameters}),
        probes=(Probe(name="mlp", lifts=lifts, injection=Injection(factor=20.0)),),
        expectations=Expectations(
            objectives=("sample-mean",), max_norm_between=(0.1, 10.0), measures=True
        ),
        properties=(PropertyRule(id="measurement-is-fair"),),
        buggy_fails=(), rubric=(), rationalizations=(),
    )  # fmt: skip


def _workload(found: Techniques) -> WorkloadSpec:
    ranks = 2 if found.ranks else 1
    if found.masks:
        parameters: dict[str, object] = {"learning_rate": 0.5}
        name = "padded"
    elif found.parts:
        name = "two-part"
        parameters = {"batch_size": 12, "target_scale": 2.0, "learning_rate": 0.002, "epochs": 1}
    else:
        name, parameters = "mlp", {"features": 16, "hidden": 32, "batch_size": 12, "epochs": 1}
        # three full windows and a short one
        parameters["batches"] = 3 * found.window + 2 if found.accumulates else 8
    return WorkloadSpec.model_validate(
        {"name": name, "parameters": parameters, "world_size": ranks}
    )


def _probes(found: Techniques, threshold: float | None) -> tuple[Probe, ...]:
    if found.masks:
        return (Probe(name="unequal", lifts="Equal counts hide wrong weights."),)
    if found.parts:
        return (Probe(name="usual", lifts="Parts of equal size share one factor without harm."),)
    probes = [_at("quiet", "An active clip hides factors.", _QUIET, threshold)]
    if found.clips_norm or found.other_clip or threshold is not None:
        probes.append(_at("loud", "Below the threshold nothing clips.", _LOUD, threshold))
    if found.scaler:
        lifts, batches = "Without an overflow no step is skipped.", 32 if found.accumulates else 12
        loud = _at("overflow", lifts, _LOUD, None)
        probes.append(
            loud.model_copy(
                update={
                    "injection": loud.injection.model_copy(update={"passes": (_OVERFLOW,)}),
                    "parameters": {**loud.parameters, "batches": batches},
                }
            )
        )
    if found.checks_loss:
        lifts = "A sound loss need not be reported."
        probes.append(
            Probe(name="poisoned", lifts=lifts, workload="positive-loss", parameters=_POISONED)
        )
    return tuple(probes)


def _at(name: str, lifts: str, regime: tuple[Injection, float], threshold: float | None) -> Probe:
    """A probe for a clipping threshold: gradients are larger by as much, and step sizes smaller."""
    usual = threshold is None or 0.5 <= threshold <= 1.5
    times = 1.0 if usual or threshold is None else threshold
    injection, rate = regime
    return Probe(
        name=name,
        lifts=lifts,
        injection=Injection(factor=injection.factor * times),
        parameters={"learning_rate": rate / times},
    )


def _required(found: Techniques, threshold: float | None) -> list[str]:
    names = ["finite-loss", "params-stay-finite", "gradients-start-fresh", "every-parameter-learns"]
    if found.accumulates:
        names += [
            "accumulation-not-wiped",
            "accumulation-equals-large-batch",
            "one-update-per-window",
        ]
    if found.clips_norm and threshold is not None:
        names += [
            "clip-before-step",
            "clip-global-norm",
            "clip-once-per-update",
            "clip-inactive-when-small",
        ]
    if found.scaler:
        names += ["scaler-protocol", "unscaled-norm", "inf-steps-skipped"]
    if found.schedules:
        names += ["scheduler-per-update"]
    if found.ranks:
        names += ["ranks-agree", "single-allreduce"]
    if found.checks_loss:
        names += ["nan-reported-before-backward"]
    return [*names, "no-batch-lost"]


def _accumulates(tree: ast.Module, names: set[str]) -> bool:
    """A window: every so many turns, or slices of the loader."""
    if "no_sync" in names or "islice" in names:
        return True
    steps = any("accum" in name for name in names)
    window = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in ast.walk(tree))
    return steps and window


def _whole_model_clips(tree: ast.Module) -> int:
    """Calls of ``clip_grad_norm_`` on all parameters of one model."""
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) == "clip_grad_norm_" and node.args:
            text = ast.unparse(node.args[0])
            found += text in (
                "model.parameters()",
                "net.parameters()",
                "self.parameters()",
                "parameters",
                "params",
            )
    return found


def _times(tree: ast.Module, calls: frozenset[str]) -> bool:
    """Whether variants are timed: a clock is read, and a clip depends on a switch. A loop that only
    logs its time is none.
    """
    if calls & {"Timer", "timeit", "blocked_autorange"}:
        return True
    if not calls & {"perf_counter", "monotonic", "elapsed_time", "process_time"}:
        return False
    switches = [n for n in ast.walk(tree) if isinstance(n, ast.If)]
    return any(
        uses(n).clips and not any(isinstance(op, ast.Mod) for op in ast.walk(n.test))
        for n in switches
    )


def _window(tree: ast.Module) -> int:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and "accum" in node.targets[0].id
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, int)
        ):
            return min(max(node.value.value, 2), 32)
    return 4


def _masks(tree: ast.Module) -> bool:
    numbers = {ast.unparse(n) for n in ast.walk(tree) if isinstance(n, ast.UnaryOp)}
    return "-100" in numbers or "ignore_index" in _keywords(tree)


def _keywords(tree: ast.Module) -> set[str]:
    return {k.arg or "" for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords}
