"""What training achieved, by the workload's own objective at recorded parameters."""

from functools import lru_cache

import numpy as np
import torch

from harness.domain.injection import Injection
from harness.domain.trace import Learning
from harness.oracle import uncompiled
from harness.oracle.facts import Array, Parameters, RankRun
from harness.oracle.gradient import norm
from harness.oracle.parts import passed_on
from harness.oracle.printable import moments_of, norms_at, statistics_at
from harness.oracle.replay import Replay

FOREIGN = 0.05
"""A run whose learning rates are all below this part of the workload's was tuned for another model."""


LOOKED_AT = 3
"""Updates whose batches tell who makes them."""


def measure_learning(
    run: RankRun, replay: Replay, injection: Injection, *, compare: bool
) -> Learning | None:
    """The loss before and after; with ``compare`` also the plain loop's parameters and every
    printable norm. ``injection``: what was done to the gradients of the run.
    """
    if not replay.fits(run.initial) or not replay.fits(run.final):
        return None
    moments = moments_of(run, replay) if compare else ()
    return Learning(
        before=replay.loss(run.initial),
        after=replay.loss(run.final),
        parameters_identical=(
            _same_as_plain(run, replay, injection.factor)
            if compare and _comparable(run, replay, injection)
            else None
        ),
        own_optimizer=_own_way(run, replay) or foreign_rate(run, replay),
        moved={n: _moved(_at_first(run)[n], run.final[n]) for n in _used(run, replay)},
        printed_norms=norms_at(moments),
        printed_statistics=statistics_at(moments, run.final),
    )


def foreign_rate(run: RankRun, replay: Replay) -> bool:
    """Whether the program sets a learning rate that was chosen for another model than the workload's."""
    groups = [g for update in run.updates for step in update.steps for g in step.groups]
    rate = max((group.numbers.get("lr", 0.0) for group in groups), default=0.0)
    return 0.0 < rate < FOREIGN * replay.workload.parameters.learning_rate


def _used(run: RankRun, replay: Replay) -> list[str]:
    """Parameters of the model; of one in parts, those of the parts that the program has a loss for."""
    windows = [u.flows for u in run.updates] + [run.open_flows]
    meant = {f.forward.model for flows in windows for f in flows if not passed_on(f, flows)}
    unused = tuple(f"{part}." for part in replay.parts if part not in meant)
    return [name for name in replay.names if not name.startswith(unused)]


def _at_first(run: RankRun) -> Parameters:
    """The parameters that training began with: a program may set some of them before."""
    return {**run.initial, **(run.updates[0].before if run.updates else {})}


def _moved(first: Array, last: Array) -> float:
    return norm(last.astype(np.float64) - first) / (norm(first) or 1.0)


def _own_optimizer(run: RankRun) -> bool:
    return any(step.own for update in run.updates for step in update.steps)


def _own_way(run: RankRun, replay: Replay) -> bool:
    """Whether the program brings an optimizer, or makes other batches of the samples than the loader."""
    return _own_optimizer(run) or _own_batches(run, replay)


def _own_batches(run: RankRun, replay: Replay) -> bool:
    """Whether what entered a forward in one of the first updates was more than one batch's samples."""
    places = {s: place for place, batch in enumerate(replay.batches) for s in batch.samples}
    flows = (flow for update in run.updates[:LOOKED_AT] for flow in update.flows)
    entered = (replay.index.recognise(flow.forward.inputs) or () for flow in flows)
    return any(len({places.get(s) for s in samples}) > 1 for samples in entered)


def _comparable(run: RankRun, replay: Replay, injection: Injection) -> bool:
    """Whether the plain loop is what the program would be without its additions."""
    if injection.by_window or injection.passes:
        return False
    reduced = any(f.forward.autocast is not None for u in run.updates for f in u.flows)
    return not reduced and not _own_way(run, replay)


def _same_as_plain(run: RankRun, replay: Replay, factor: float) -> bool:
    """Whether the final parameters are, bit for bit, those of as many plain updates."""
    plain = _plain(replay, len(run.updates) or len(replay.batches), factor)
    return all(np.array_equal(value, run.final[name]) for name, value in plain.items())


@lru_cache(maxsize=64)
def _plain(replay: Replay, updates: int, factor: float) -> dict[str, Array]:
    """The parameters after so many plain updates, batch by batch; ``factor``: on every gradient."""
    model = replay.workload.model()
    optimizer = replay.workload.optimizer(model.parameters())
    criterion = replay.workload.criterion()
    for number in range(updates):
        batch = replay.batches[number % len(replay.batches)]
        optimizer.zero_grad()
        criterion(model(batch.inputs), batch.target).backward(torch.tensor(factor))
        uncompiled.step(optimizer)
    return {name: p.detach().numpy() for name, p in model.named_parameters()}
