"""What a diagnostic could truthfully have printed about gradients during a run."""

from collections.abc import Iterator, Sequence

from harness.oracle.facts import Flow, RankRun
from harness.oracle.gradient import Gradient, total
from harness.oracle.replay import Replay


def printable_norms(run: RankRun, replay: Replay) -> dict[str, tuple[float, ...]]:
    """Norms of every parameter, and of every layer as ``layer.*``: after each backward, of what it
    added and of each window as far as it had come.
    """
    windows = [u.flows for u in run.updates] + ([run.open_flows] if run.open_flows else [])
    found: dict[str, dict[float, None]] = {}
    for gradient in (gradient for flows in windows for gradient in _within(flows, replay)):
        _note(found, gradient)
    return {name: tuple(values) for name, values in found.items()}


def _within(flows: Sequence[Flow], replay: Replay) -> Iterator[Gradient]:
    done: list[Gradient] = []
    for flow in flows:
        done.append(replay.flow(flow).gradient)
        yield done[-1]
        if len(done) > 1:
            yield total(done)


def _note(found: dict[str, dict[float, None]], gradient: Gradient) -> None:
    layers: dict[str, float] = {}
    for name, size in zip(gradient.names, gradient.norms, strict=True):
        found.setdefault(name, {})[size] = None
        layer = name.rpartition(".")[0]
        layers[layer] = layers.get(layer, 0.0) + size**2
    for layer, square in layers.items():
        found.setdefault(f"{layer}.*", {})[square**0.5] = None
