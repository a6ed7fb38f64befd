"""What a diagnostic could truthfully have printed about gradients during a run."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from harness.oracle.facts import Array, Flow, Parameters, RankRun
from harness.oracle.gradient import Gradient, norm, total
from harness.oracle.replay import Replay
from harness.oracle.replayed import Replayed

Moment = tuple[Flow, Gradient]
"""A backward, and the gradient that was there after it."""


def moments_of(run: RankRun, replay: Replay) -> tuple[Moment, ...]:
    """Each backward, and each window as far as it had come."""
    windows = [u.flows for u in run.updates] + ([run.open_flows] if run.open_flows else [])
    return tuple(moment for flows in windows for moment in _within(flows, replay))


def _within(flows: Sequence[Flow], replay: Replay) -> Iterator[Moment]:
    done: list[Replayed] = []
    for flow in flows:
        done.append(replay.flow(flow))
        yield flow, done[-1].gradient
        if len(done) > 1:
            yield flow, total(r.gradient for r in done)


def norms_at(moments: Iterable[Moment]) -> dict[str, tuple[float, ...]]:
    """Norms of every parameter, and of every layer as ``layer.*``, at each moment."""
    found: dict[str, dict[float, None]] = {}
    for _, gradient in moments:
        _note(found, gradient)
    return {name: tuple(values) for name, values in found.items()}


def statistics_at(
    moments: Sequence[Moment], final: Parameters
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Other statistics of the same gradients. Over the weights: over those of the forward, then over
    those that the next forward has, or that are ``final``.
    """
    found: dict[str, dict[str, list[float]]] = {"over-weights": {}}
    weights = [flow.forward.parameters for flow, _ in moments]
    later = [*weights, final][1:]
    for (_, gradient), before, after in zip(moments, weights, later, strict=True):
        if not {*gradient.names} <= before.keys() & after.keys():
            continue
        for name, part in gradient.parts():
            for kind, values in _of(part, before[name], after[name]).items():
                found.setdefault(kind, {}).setdefault(name, []).extend(values)
        _note_layers(found["over-weights"], gradient, before, after)
    return {
        kind: {name: tuple(values) for name, values in of.items()}
        for kind, of in found.items()
        if of
    }


def _of(part: Array, before: Array, after: Array) -> dict[str, tuple[float, ...]]:
    """The statistics of one parameter's gradient."""
    size = norm(part)
    return {
        "over-weights": (_over(size, norm(before)), _over(size, norm(after))),
        "rms": (float(size / np.sqrt(part.size)),),
        "mean-abs": (float(np.abs(part).mean()),),
        "max-abs": (float(np.abs(part).max()),),
        "std": (float(part.std(ddof=1)) if part.size > 1 else 0.0,),
    }


def _over(size: float, weight: float) -> float:
    return size / weight if weight else 0.0


def _note_layers(
    found: dict[str, list[float]], gradient: Gradient, before: Parameters, after: Parameters
) -> None:
    layers: dict[str, list[float]] = {}
    for name, part in gradient.parts():
        sums = layers.setdefault(f"{name.rpartition('.')[0]}.*", [0.0, 0.0, 0.0])
        for i, values in enumerate((part, before[name], after[name])):
            sums[i] += norm(values) ** 2
    for layer, (size, first, later) in layers.items():
        ratios = (_over(size**0.5, first**0.5), _over(size**0.5, later**0.5))
        found.setdefault(layer, []).extend(ratios)


def _note(found: dict[str, dict[float, None]], gradient: Gradient) -> None:
    layers: dict[str, float] = {}
    for name, size in zip(gradient.names, gradient.norms, strict=True):
        found.setdefault(name, {})[size] = None
        layer = name.rpartition(".")[0]
        layers[layer] = layers.get(layer, 0.0) + size**2
    for layer, square in layers.items():
        found.setdefault(f"{layer}.*", {})[square**0.5] = None
