"""Updates by hand, read as the steps of an optimizer where it is certain what they consumed.

How a change of parameters divides into a gradient and a rate is not in the numbers alone, for a rate
may be anything. The change has to be a multiple of the gradient (or that with decay and momentum), and
the rate has to be a number that the program had at hand. Where one change of a run is something else,
none of them is read.
"""

import re
from collections.abc import Iterator

import numpy as np

from harness.domain.event import ByHand, Finished, Forward, OptimizerStep, ParameterGroup
from harness.domain.recording import Recorded, TensorBytes
from harness.oracle.facts import Array
from harness.oracle.hand_changes import CLOSE, GradientFactor, HandChange, changes_of

_WORD = r"(?:lr|lrate|learning_?rate)"
RATES = (
    re.compile(rf"_*(?:base_|init(?:ial)?_|cur(?:rent)?_)?{_WORD}_?(?:t|now|\d)?", re.IGNORECASE),
    re.compile(r"eta|alpha|rate|step_?size", re.IGNORECASE),
)
"""Names of rates; the second ones count where there are none of the first."""


def read_by_hand(recorded: tuple[Recorded, ...]) -> tuple[Recorded, ...]:
    """The same events, with steps in place of changes by hand if all of these are updates. Else a
    change is told by the forward or the step that found it, as where nobody had looked before.
    """
    if not any(isinstance(item.event, ByHand) for item in recorded):
        return recorded
    if any(isinstance(item.event, OptimizerStep) for item in recorded):
        return tuple(_told_later(recorded))
    changes = changes_of(recorded)
    read = _read(changes)
    if read is None:
        return tuple(_told_later(recorded))
    alone = all(c.after.keys() & changes[0].after.keys() for c in changes)
    steps = {
        c.position: _step(recorded[c.position], c, (*c.after, *(c.still if alone else ())), *how)
        for c, how in zip(changes, read, strict=True)
    }
    return tuple(steps.get(at, item) for at, item in enumerate(recorded))


def _told_later(recorded: tuple[Recorded, ...]) -> Iterator[Recorded]:
    waiting: dict[str, TensorBytes] = {}
    for item in recorded:
        own = {blob.name: blob for blob in item.tensors if blob.name.startswith("param:")}
        match item.event:
            case ByHand():
                waiting |= own
            case Forward() | Finished():
                late = (blob for name, blob in waiting.items() if name not in own)
                yield Recorded(item.event, (*item.tensors, *late))
                waiting = {}
            case OptimizerStep():
                found = (
                    blob._replace(name=name.replace("param:", "was:", 1))
                    for name, blob in waiting.items()
                )
                yield Recorded(item.event, (*item.tensors, *found))
                waiting = {}
            case _:
                waiting = {name: blob for name, blob in waiting.items() if name not in own}
                yield item


def _read(changes: list[HandChange]) -> list[tuple[GradientFactor | None, float]] | None:
    """Factor and rate of each; ``None`` where one of them is no update that could be read."""
    found: list[tuple[GradientFactor | None, float | None]] = []
    for change in changes:
        factor = change.factor() if change.is_finite else None
        if change.is_finite and (factor is None or factor.value <= 0.0):
            return None
        if factor is None or not factor.is_known:
            found.append((None, None))
            continue
        rate = _rate(factor, change)
        if rate is None:
            return None
        found.append((factor, rate))
    pairs = zip(changes, found, strict=True)
    known = [(change, rate) for change, (_, rate) in pairs if rate is not None]
    if not known or _divided(known):
        return None
    return [(factor, known[0][1] if rate is None else rate) for factor, rate in found]


def _rate(factor: GradientFactor, change: HandChange) -> float | None:
    """The rate that a factor contains: itself, or the only one that the program names where what is
    left is a division or a clip. A schedule could leave anything.
    """
    rates = _rates(change)
    at_hand = {n for _, n in change.numbers if n > 0.0}
    if not factor.by_name:
        here = [n for n in rates or at_hand if factor.near(n)]
        if here:
            return min(here, key=lambda n: abs(n - factor.value))
    if len(rates) != 1 or factor.remembers or np.isfinite(factor.limit):
        return None
    (rate,) = rates
    return rate if _is_scaled(factor, rate, change, at_hand) else None


def _is_scaled(
    factor: GradientFactor, rate: float, change: HandChange, at_hand: set[float]
) -> bool:
    """Whether a gradient was divided by a number at hand, or clipped at one, on its way."""
    if not factor.by_name:
        share, size = factor.value / rate, change.size(change.gradients)
        if _is_any(share * size, at_hand):
            return True
        return not any(map(factor.near, at_hand)) and _is_any(1.0 / share, at_hand)
    shares = ((n, each / rate) for n, each in factor.by_name.items())
    return all(_is_any(s, {1.0}) or _is_any(s * change.size([n]), at_hand) for n, s in shares)


def _is_any(value: float, numbers: set[float]) -> bool:
    return any(abs(value - number) <= CLOSE * number for number in numbers)


def _rates(change: HandChange) -> set[float]:
    for pattern in RATES:
        found = {n for name, n in change.numbers if n > 0.0 and pattern.fullmatch(name)}
        if found:
            return found
    return set()


def _divided(known: list[tuple[HandChange, float]]) -> bool:
    """Whether the rate is always the same whole part of another: divided instead of the gradient, or
    another rate. Who can tell.
    """
    parts = [
        {round(n / rate) for n in _rates(c) if abs(n / rate - round(n / rate)) < CLOSE}
        for c, rate in known
    ]
    numbers = {n for c, _ in known for _, n in c.numbers}
    return any(k > 1 and k in numbers for k in set.intersection(*parts))


def _step(
    item: Recorded,
    change: HandChange,
    names: tuple[str, ...],
    factor: GradientFactor | None,
    rate: float,
) -> Recorded:
    group = ParameterGroup(parameters=names, numbers={"lr": rate}, flags={})
    event = OptimizerStep(optimizer=0, type="by_hand.Update", groups=(group,), own=True)
    consumed = (
        _blob(f"grad:{n}", _consumed(change.gradients[n], n, factor, rate))
        for n in names
        if n in change.gradients
    )
    kept = (blob for blob in item.tensors if blob.name.startswith("param:"))
    return Recorded(event, (*consumed, *kept))


def _consumed(gradient: Array, name: str, factor: GradientFactor | None, rate: float) -> Array:
    """What was applied of a gradient."""
    if factor is None:
        return gradient
    near = not factor.by_name and factor.near(rate)
    share = 1.0 if near else factor.by_name.get(name, factor.value) / rate
    return np.asarray(np.clip(gradient * share, -factor.limit, factor.limit))


def _blob(name: str, array: Array) -> TensorBytes:
    return TensorBytes(name, "float64", array.shape, np.ascontiguousarray(array).tobytes())
