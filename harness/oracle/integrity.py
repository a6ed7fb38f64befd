"""Whether a record can be true: its numbering, and what the ranks really sent to each other.

Recorder and candidate share a process, so a candidate can leave events out or write some of its own.
What left the process by another way tells: the loopback counts every byte that ranks exchange, and
nobody inside can take one back.
"""

from collections.abc import Sequence

from harness.domain.event import Backward, Collective, Forward
from harness.domain.injection import Injection
from harness.domain.recording import Recording
from harness.oracle.facts import RankRun
from harness.oracle.following import behind_the_gradient

AS_IT_IS = Injection()
"""Nothing was done to gradients."""

OVERHEAD = 1.3
"""What headers and acknowledgements add to the elements of a large message."""

EACH = 5_000
"""Bytes that a collective operation may take beyond its elements, for each pair of ranks."""

ASIDE = 32_000
"""Bytes for the rendezvous, and for groups that the program forms itself, for each pair of ranks."""


def contradiction(
    recording: Recording, runs: Sequence[RankRun], injection: Injection = AS_IT_IS
) -> str | None:
    """Why the record cannot be true; ``None`` where nothing contradicts it."""
    behind = (said for run in runs if (said := behind_the_gradient(run)) is not None)
    return (
        out_of_turn(runs)
        or otherwise(runs, injection)
        or unaccounted(recording, runs)
        or next(behind, None)
    )


def otherwise(runs: Sequence[RankRun], injection: Injection) -> str | None:
    """Why, if gradients were changed in other ways than the probe says. What starts inside of a model,
    and ``torch.autograd.grad``, may have been left as they were.
    """
    known = {None, *injection.passes}
    for event in (event for run in runs for event in run.events):
        match event:
            case Backward():
                left = event.injected == 1.0 and (event.function == "grad" or None in event.roots)
                right = left or event.injected in injection.factors
            case Forward():
                right = event.injected in known
            case _:
                continue
        if not right:
            return "gradients were changed in other ways than the probe says: they prove nothing."
    return None


def out_of_turn(runs: Sequence[RankRun]) -> str | None:
    """Why, if forwards are not numbered from 0 without a gap, as the recorder numbers them."""
    for run in runs:
        ids = [e.id for e in run.events if isinstance(e, Forward)]
        if ids != list(range(len(ids))):
            return "forwards are recorded twice or out of turn, so the record proves nothing."
    return None


def unaccounted(recording: Recording, runs: Sequence[RankRun]) -> str | None:
    """Why, if the ranks exchanged more bytes than the recorded collectives can have sent."""
    if recording.traffic_bytes is None or len(runs) < 2:
        return None
    allowed = most_traffic(runs)
    if recording.traffic_bytes <= allowed:
        return None
    return (
        f"the ranks sent each other {recording.traffic_bytes} bytes and the recorded collectives "
        f"account for {allowed:.0f} at most, so the record of synchronisation proves nothing."
    )


def most_traffic(runs: Sequence[RankRun]) -> float:
    """The most bytes that the recorded collectives can have sent: every element there and back once
    between neighbours on a ring.
    """
    pairs = len(runs) - 1
    calls = [[e for e in run.events if isinstance(e, Collective)] for run in runs]
    claimed = max(sum(c.size_bytes for c in of_rank) for of_rank in calls)
    return pairs * (2 * OVERHEAD * claimed + EACH * max(map(len, calls)) + ASIDE)
