"""Traces by hand: typed builders with honest defaults; a test says what is special about it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from harness.domain.scenario import Expectations, Objective, PropertyRule, Scenario
from harness.domain.trace import (
    BackwardSeen,
    Learning,
    Match,
    MicroBatch,
    ParameterMatch,
    ProbeTrace,
    Program,
    RankTrace,
    ScalerSeen,
    SegmentSeen,
    Trace,
    Update,
)
from harness.domain.workload import WorkloadSpec

TOLERANCE = 4e-6
"""What rounding can cause in a small network in single precision."""

OBJECTIVES: tuple[Objective, ...] = ("as-computed", "sample-mean", "micro-batch-mean")


def match(
    objective: Objective = "micro-batch-mean",
    *,
    true: float = 3.0,
    consumed: float | None = None,
    turned: float = 0.0,
    parameters: Sequence[ParameterMatch] | None = None,
) -> Match:
    """Consumed beside true; ``turned`` is the direction error. By default they are equal."""
    got = true if consumed is None else consumed
    cosine = 1.0 - turned**2 / 2.0 if got else 0.0
    error = math.sqrt(max(0.0, true**2 + got**2 - 2 * true * got * cosine)) / true if true else 0.0
    half = math.sqrt(0.5)
    return Match(
        objective=objective,
        expected_norm=true,
        consumed_norm=got,
        cosine=cosine,
        relative_error=error,
        direction_error=turned,
        parameters=tuple(parameters)
        if parameters is not None
        else tuple(
            parameter(name, true * half, got * half) for name in ("net.0.weight", "net.2.weight")
        ),
    )


def parameter(name: str, true: float, consumed: float | None) -> ParameterMatch:
    """One parameter whose gradient kept its direction; ``None`` when there was none."""
    dot = true * (consumed or 0.0)
    return ParameterMatch(name=name, expected_norm=true, consumed_norm=consumed, dot=dot)


def micro_batch(forward: int, **fields: Any) -> MicroBatch:
    """One micro-batch that arrived in full, with a quarter of the weight."""
    defaults: dict[str, Any] = {
        "rank": 0,
        "samples": (6 * forward, 6 * forward + 1),
        "real_samples": 6,
        "in_window": True,
        "coefficient": 1.0,
        "weight": 0.25,
        "objective_error": 0.0,
        "loss_scale": 1.0,
        "autocast": None,
    }
    return MicroBatch(forward=forward, **{**defaults, **fields})


def update(
    index: int = 0,
    *,
    true: float = 3.0,
    consumed: float | None = None,
    turned: float = 0.0,
    coefficients: Sequence[float | None] = (1.0, 1.0, 1.0, 1.0),
    stale: Sequence[float | None] = (),
    matches: Sequence[Match] | None = None,
    scale: float = 1.0,
    **fields: Any,
) -> Update:
    """One update of four micro-batches that consumed the true gradient."""
    got = true if consumed is None else consumed
    if matches and consumed is None:
        got = matches[0].consumed_norm
    first = 4 * index
    window = [
        micro_batch(first + i, coefficient=c, loss_scale=scale) for i, c in enumerate(coefficients)
    ]
    older = [
        micro_batch(first - 1 - i, coefficient=c, in_window=False) for i, c in enumerate(stale)
    ]
    found = (
        [match(o, true=true, consumed=got, turned=turned) for o in OBJECTIVES]
        if matches is None
        else matches
    )
    defaults: dict[str, Any] = {
        "skipped": False,
        "micro_batches": (*window, *older),
        "window_size": len(coefficients),
        "short": False,
        "matches": tuple(found),
        "consumed_norm": got,
        "consumed_finite": True,
        "unexplained": 0.0,
        "unexplained_by_parameter": turned,
        "changed_after_step": None,
        "tolerance": TOLERANCE,
        "loss_scale": scale,
        "learning_rates": (0.1,),
        "optimizer": "SGD",
        "parameters_followed": True,
        "parameters_finite": True,
        "rounds": 0.0,
        "scheduler_steps": 0,
        "clip_calls": (),
    }
    return Update(index=index, **{**defaults, **fields})


def skipped(index: int, *, scale: float = 65536.0) -> Update:
    """An update that a GradScaler left out because the gradient overflowed."""
    return update(
        index, scale=scale, skipped=True, matches=(), consumed_norm=math.inf, consumed_finite=False
    )


def norms(low: float, count: int = 4) -> list[float]:
    """True norms that differ from update to update."""
    return [low * (1.0 + 0.3 * i) for i in range(count)]


def backward(
    loss: float | None = 0.5, *, finite: bool = True, after: int = 0, in_vain: bool = False
) -> BackwardSeen:
    """One backward with finite gradients."""
    return BackwardSeen(loss=loss, gradients_finite=finite, after_update=after, in_vain=in_vain)


def call(
    method: Literal["scale", "unscale_", "step", "update"], after: int = 0, **fields: Any
) -> ScalerSeen:
    """One call on an enabled GradScaler."""
    defaults: dict[str, Any] = {
        "enabled": True,
        "scale_before": 65536.0,
        "scale_after": 65536.0,
        "skipped": False if method == "step" else None,
        "raised": None,
    }
    return ScalerSeen(method=method, after_update=after, **{**defaults, **fields})


def program(outcome: str = "returned", **fields: Any) -> Program:
    """A program that ran through and said nothing."""
    defaults: dict[str, Any] = {
        "exception": None,
        "message": None,
        "line": None,
        "during": None,
        "ours": False,
        "texts": (),
        "reported_before_backward": None,
    }
    return Program.model_validate({"outcome": outcome, **defaults, **fields})


def rank(updates: Sequence[Update] = (), number: int = 0, **fields: Any) -> RankTrace:
    """One rank that lost nothing; one backward with a finite loss for each micro-batch."""
    seen = tuple(
        backward(0.5 / (1 + u.index), after=u.index) for u in updates for _ in range(u.window_size)
    )
    defaults: dict[str, Any] = {
        "backwards": seen,
        "scaler": (),
        "batches_yielded": len(seen),
        "batches_lost": 0,
        "lost_at_end": 0,
        "implicit_updates": 0,
    }
    return RankTrace(rank=number, updates=tuple(updates), **{**defaults, **fields})


def learning(before: float = 2.0, after: float = 1.0, **fields: Any) -> Learning:
    """A loss that halved; every parameter moved; nothing was compared."""
    defaults: dict[str, Any] = {
        "parameters_identical": None,
        "own_optimizer": False,
        "moved": {"net.0.weight": 0.1, "net.2.weight": 0.2},
        "printed_norms": {},
    }
    return Learning(before=before, after=after, **{**defaults, **fields})


def segment(
    forwards: int = 0,
    backwards: int = 0,
    clips: int = 0,
    steps: int = 0,
    *,
    gradients: int | None = None,
    batches: int = 0,
) -> SegmentSeen:
    """What ran between two clock reads; each clip had four gradients."""
    return SegmentSeen(
        forwards=forwards,
        backwards=backwards,
        clips=clips,
        clipped_gradients=4 * clips if gradients is None else gradients,
        steps=steps,
        batches=batches,
    )


def probe(
    name: str = "plain", *updates: Update, ranks: Sequence[RankTrace] | None = None, **fields: Any
) -> ProbeTrace:
    """One probe on one rank with these updates."""
    who = tuple(ranks) if ranks is not None else (rank(updates),)
    defaults: dict[str, Any] = {
        "world_size": len(who),
        "workload": "mlp",
        "program": program(),
        "ranks_disagree": None if len(who) < 2 else 0.0,
        "segments": (),
        "learning": learning(),
    }
    return ProbeTrace(probe=name, ranks=who, **{**defaults, **fields})


def trace(*probes: ProbeTrace) -> Trace:
    """Several probes of one candidate."""
    return Trace(probes=probes)


def quiet_and_loud(*, threshold: float = 1.0) -> Trace:
    """A right loop: untouched far below the threshold, clipped to it far above."""
    return trace(
        probe("quiet", *(update(i, true=n) for i, n in enumerate(norms(0.1 * threshold)))),
        probe(
            "loud",
            *(update(i, true=n, consumed=threshold) for i, n in enumerate(norms(10 * threshold))),
        ),
    )


def expect(**fields: Any) -> Expectations:
    """Clipping at 1 and windows of several micro-batches."""
    usual = {"max_norm": 1.0, "accumulates": True, "loss_falls_to": 0.9}
    return Expectations(**{**usual, **fields})


def scenario(
    rules: Sequence[str | PropertyRule], expectations: Expectations | None = None
) -> Scenario:
    """A scenario that judges by these properties; ids alone are required."""
    workload: Mapping[str, Any] = {"name": "mlp", "parameters": {}}
    return Scenario(
        id="by-hand",
        title="By hand",
        suite="tests",
        source="none",
        pressure="none",
        prompt="",
        buggy="",
        reference="",
        workload=WorkloadSpec.model_validate(workload),
        probes=(),
        expectations=expectations or expect(),
        properties=tuple(r if isinstance(r, PropertyRule) else PropertyRule(id=r) for r in rules),
        buggy_fails=(),
        rubric=(),
        rationalizations=(),
    )
