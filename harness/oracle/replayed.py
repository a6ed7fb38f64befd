"""One flow of gradient, recomputed: what everything else in the oracle compares and sums."""

from dataclasses import dataclass

from harness.oracle.facts import Array, Flow
from harness.oracle.gradient import Gradient


@dataclass(slots=True, eq=False)
class Replayed:
    """One flow of gradient, recomputed."""

    flow: Flow
    """The flow, as recorded."""
    samples: tuple[int, ...] | None
    """Samples that entered."""
    real_samples: int
    """How many of these carry weight; the number of rows when the samples are unknown."""
    gradient: Gradient
    """What its backward added to every parameter, loss scale taken out."""
    own: Gradient | None
    """Gradient of the workload's own loss, summed over the real samples; ``None`` if unknown."""
    weight: float | None
    """Total weight that the program's loss gave the samples; ``None`` if its loss is another."""
    objective_error: float | None
    """Relative distance of dL/dout from the nearest weighting of the samples' own losses."""
    breakdown: float = 0.0
    """Relative distance of the recorded output from the recomputed one under reduced precision."""
    recomputed: bool = True
    """Whether the oracle recomputed ``gradient``; ``False`` where the program has a model of its
    own and only the record is known.
    """
    differs: float = 0.0
    """Relative distance of the recorded output from the recomputed one, at any precision."""
    target: Array | None = None
    """What the samples are compared with; ``None`` if they are unknown. (n, ...)"""
    uneven: float = 0.0
    """How far dL/dout is from giving every real sample one weight, relative to it."""
    on_padding: float = 0.0
    """Part of dL/dout, relative to it, that lies on samples which carry no weight."""
