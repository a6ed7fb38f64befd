"""What a program calls the norm of its gradient, and is another number: the sum of the norms of its
parts, or, where the message asks for the norm before a clip, what the clip left.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import PropertyRule
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.update import Update
from harness.domain.verdict import Verdict, failed
from harness.properties.diagnosis.measurement_is_fair import ID
from harness.properties.evidence.figures import close, count, number, show

SAME, APART = 2e-3, 0.05
"""Relative difference up to which two numbers are the same, and from which on they are not."""

ENOUGH = 2
"""In so many updates it is no accident."""

Told = tuple[Update, float, float]
"""An update, the number that the name stands for there, and the norm of the gradient."""

Other = Callable[[Update, float], float | None]
"""The true norm, where a number is another one; ``None`` where it is not."""


def misnamed_norm(trace: Trace, allowed: Sequence[PropertyRule] = ()) -> tuple[Verdict, ...]:
    """A fail for a name that stands for another number than it says, in each update that tells. Where
    no message asks for the norm, it is a number beside the training, and flips nothing.
    """
    found = None if ID in {rule.id for rule in allowed} else next(_misnamed(trace), None)
    if found is None:
        return ()
    wanted = trace.wishes.norm_logged or trace.wishes.norm_before_clip
    return (found.model_copy(update={"level": "required" if wanted else "advisory"}),)


def _misnamed(trace: Trace) -> Iterator[Verdict]:
    others = OTHERS if trace.wishes.norm_before_clip else OTHERS[:1]
    unknown = [probe for probe in trace.probes if not _knows_it(probe)]
    for (said, is_other), probe in product(others, unknown):
        for name in dict.fromkeys(n for u in probe.updates for n, _ in u.named_norms):
            found = list(_told(probe, name, is_other))
            if len(found) >= ENOUGH:
                yield _failed(name, said, probe, found)


def _failed(name: str, said: str, probe: ProbeTrace, found: Sequence[Told]) -> Verdict:
    update, value, true = found[0]
    where = f"{probe.probe}, update {update.index}"
    return failed(
        ID,
        f"In {where} `{name}` is {show(value)}, where the norm of the gradient is {show(true)}, and so "
        f"in {count(len(found), 'update')}: it is {said}",
        number(name, value, where),
        number("norm of the gradient", true, where),
    )


def _knows_it(probe: ProbeTrace) -> bool:
    """Whether something that it calls a norm is the norm itself in some update."""
    return any(
        close(said, true, SAME)
        for update in probe.updates
        for _, said in update.named_norms
        for true in _norms(update)
    )


def _told(probe: ProbeTrace, name: str, other: Other) -> Sequence[Told]:
    """Updates in which it is another number."""
    named = ((u, dict(u.named_norms).get(name)) for u in probe.updates if not u.skipped)
    known = ((u, said, other(u, said)) for u, said in named if said is not None)
    return [(u, said, true) for u, said, true in known if true is not None]


def _norms(update: Update) -> list[float]:
    """Norms of the gradient before any clip."""
    computed = update.match("as-computed")
    met = [call.returned for call in clip_calls(update) if call.returned is not None]
    return [*met, *([computed.expected_norm] if computed is not None else [])]


def _sum_of_parts(update: Update, said: float) -> float | None:
    computed = update.match("as-computed")
    if computed is None or len(computed.parameters) < ENOUGH:
        return None
    true, together = computed.expected_norm, sum(p.expected_norm for p in computed.parameters)
    apart = together > (1.0 + APART) * true
    return true if apart and close(said, together, SAME) else None


def _left_by_a_clip(update: Update, said: float) -> float | None:
    met = max((c.returned for c in clip_calls(update) if c.returned is not None), default=0.0)
    left = close(said, update.consumed_norm, SAME) and met > (1.0 + APART) * said
    return met if left else None


OTHERS = (
    ("the sum of the norms of its parts. Use torch.nn.utils.get_total_norm.", _sum_of_parts),
    ("what the clip left. Take what clip_grad_norm_ returns, or measure before.", _left_by_a_clip),
)
"""What it may be instead; the last one is a fault only where the norm before a clip is asked for."""
