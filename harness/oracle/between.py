"""What moved trained parameters outside of every update, and whether programs honestly do that.

The parameters that an update left have to be those that the next one found, and those of the end. What
changed them in between is told by the numbers: a state they have been in before (a checkpoint), a mean
of such states (an average), a bound, a decay or norm of their rows, a mask, another element type.
"""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import nnls

from harness.domain.event import Backward, Finished
from harness.domain.update import Unfollowed
from harness.oracle.facts import Array, Parameters, RankRun
from harness.oracle.gradient import norm
from harness.oracle.tensors import is_rounded, same_bits

ROUNDING = 1e-6
"""A change of this part of a parameter is what moving it away and back leaves."""

CLOSE = 1e-5
"""How far a multiple of a parameter may be from one, relative to it."""

MEAN = 1e-3
"""The same for a mean of states, relative to the change."""

FEWEST = 3
"""With fewer elements any value is a multiple, or a bound."""

A_TRAINING = 3
"""Updates of one optimizer that make a training of their own."""

MOST_STATES, MOST_ELEMENTS = 400, 4096
"""What a mean is looked for in; of more a part."""


def unfollowed(run: RankRun) -> tuple[Unfollowed, ...]:
    """Each move of trained parameters that nothing known made; of a place the farthest one."""
    trained = {name for u in run.updates for name, g in u.gradients.items() if np.any(g)}
    places = (place for place in range(-1, len(run.updates)) if not _begins_anew(place, run))
    found = (_farthest(place, run, trained) for place in places)
    return tuple(move for move in found if move is not None)


def found_by_next(place: int, run: RankRun) -> Parameters:
    """What the next update found, or the end. An optimizer that calls its closure several times moves
    parameters in between: it found those of its first evaluation.
    """
    if place + 1 >= len(run.updates):
        return run.final
    later = run.updates[place + 1]
    searches = any(step.closures > 1 for step in later.steps)
    return later.flows[0].forward.parameters if searches and later.flows else later.before


def is_bounded(left: Array, now: Array) -> bool:
    """Whether elements were held within two values, and nothing else; some were left as they were."""
    if now.size < FEWEST or now.shape != left.shape or not (now == left).any():
        return False
    return np.array_equal(now, np.clip(left, now.min(), now.max()))


def _farthest(place: int, run: RankRun, trained: set[str]) -> Unfollowed | None:
    if place + 1 == len(run.updates) and not _ended(run):
        return None
    left, now = _left(place, run), found_by_next(place, run)
    if left is now:
        return None
    moved = [n for n in left.keys() & now.keys() & trained if _is_moved(left[n], now[n])]
    if not moved:
        return None
    before = run.updates[place].before if place >= 0 else left
    states = [run.initial, *_states(place, run), before]
    rest = {
        n: (_elements(left[n], run), _elements(now[n], run))
        for n in moved
        if not _is_known(left[n], now[n], [s[n] for s in states if n in s])
        and not _is_held(before.get(n), left[n], now[n])
        and not _is_shaped(_elements(left[n], run), _elements(now[n], run))
    }
    if not rest or _is_mean(rest, [left, *states], run):
        return None
    away = {n: norm((b - a).ravel()) / (norm(a.ravel()) or 1.0) for n, (a, b) in rest.items()}
    name = max(away, key=lambda n: away[n])
    return Unfollowed(after=place, parameter=name, by=away[name])


def _begins_anew(place: int, run: RankRun) -> bool:
    """Whether another training begins behind an update, with another optimizer, and this one's is over:
    a head is drawn anew for it, and what was trained so far is given.
    """
    so_far, later = run.updates[: place + 1], run.updates[place + 1 :]
    if min(len(so_far), len(later)) < A_TRAINING:
        return False
    stepped, steps = ({s.optimizer for u in part for s in u.steps} for part in (so_far, later))
    around = (*so_far[-A_TRAINING:], *later[:A_TRAINING])
    return stepped.isdisjoint(steps) and len({s.optimizer for u in around for s in u.steps}) == 2


def _ended(run: RankRun) -> bool:
    """Whether the program came to its end, and was not cut off in the midst of an update."""
    end = run.events[-1] if run.events else None
    if not isinstance(end, Finished) or end.broken_off:
        return False
    return end.outcome in ("returned", "exited")


def _left(place: int, run: RankRun) -> Parameters:
    """What an update left; before all of them, what the first backward found: until then parameters are
    made, not trained.
    """
    if place >= 0:
        return run.updates[place].after
    first = next((i for i, e in enumerate(run.events) if isinstance(e, Backward)), -1)
    ahead = [p for p in run.forwards.values() if p.position < first]
    return ahead[-1].parameters if ahead and run.updates else {}


def _states(place: int, run: RankRun) -> Iterator[Parameters]:
    """States of up to then, each once."""
    last = run.updates[place].position if place >= 0 else -1
    end = run.updates[place + 1].position if place + 1 < len(run.updates) else len(run.events)
    yield from (p.parameters for p in run.forwards.values() if p.position < max(last, 0))
    for update in run.updates[:place]:
        if update.position < end:
            yield update.before
            yield update.after


def _is_moved(left: Array, now: Array) -> bool:
    if left is now or left.shape != now.shape or same_bits(left, now):
        return False
    a, b = left.astype(np.float64).ravel(), now.astype(np.float64).ravel()
    finite = bool(np.isfinite(a).all() and np.isfinite(b).all())
    return finite and norm(b - a) > ROUNDING * max(norm(a), norm(b))


def _elements(value: Array, run: RankRun) -> Array:
    """In double precision; of samples without the norm that stands before them."""
    whole = value.astype(np.float64)
    return whole.ravel()[1:] if run.sampled and whole.size > 1 else whole


def _is_known(left: Array, now: Array, states: list[Array]) -> bool:
    """Whether it is a state of before, or the same in fewer digits, or in more."""
    if any(s.shape == now.shape and np.allclose(s, now, ROUNDING, ROUNDING) for s in states):
        return True
    return is_rounded(now, left) or is_rounded(left, now)


def _is_held(before: Array | None, left: Array, now: Array) -> bool:
    """Whether a number or two were held on the way, as a temperature that has a bound."""
    if before is None or not before.shape == left.shape == now.shape or now.size >= FEWEST:
        return False
    low, high = np.minimum(before, left), np.maximum(before, left)
    return bool(((low <= now) & (now <= high)).all())


def _is_shaped(left: Array, now: Array) -> bool:
    """Whether it was bounded, masked, or multiplied as a whole, by rows or by columns; also around the
    mean.
    """
    changed = now != left
    if not now[changed].any():
        return True
    if now.size < FEWEST:
        return False
    if is_bounded(left, now) or _lies_at_bounds(left, now):
        return True
    ways = [left.reshape(1, -1), left - left.mean()]
    return any(
        _are_multiples(one.reshape(rows), now.reshape(rows))
        for one in ways
        for rows in _rows(left.shape)
    ) or (left.ndim > 1 and _are_multiples(_flat(left).T, _flat(now).T))


def _lies_at_bounds(left: Array, now: Array) -> bool:
    """Whether every element was beyond one bound or its negative, and is there now."""
    bound = now.max()
    return bool(bound > 0.0) and np.array_equal(now, np.clip(left, -bound, bound))


def _rows(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    whole = (1, -1)
    return [whole, (shape[0], -1)] if len(shape) > 1 else [whole]


def _flat(value: Array) -> Array:
    return value.reshape(value.shape[0], -1)


def _are_multiples(left: Array, now: Array) -> bool:
    if left.shape[1] < FEWEST:
        return False
    squares = (left * left).sum(axis=1)
    factors = np.maximum((left * now).sum(axis=1) / np.where(squares > 0.0, squares, 1.0), 0.0)
    return norm((now - factors[:, None] * left).ravel()) <= CLOSE * norm(now.ravel())


def _is_mean(rest: dict[str, tuple[Array, Array]], states: list[Parameters], run: RankRun) -> bool:
    """Whether what is left is one mean of states that the parameters have been in."""
    shared = [
        s for s in states if all(n in s and s[n].size >= a.size for n, (a, _) in rest.items())
    ]
    shared = shared[:: max(1, -(-len(shared) // MOST_STATES))]
    left, now = (np.concatenate([pair[i].ravel() for pair in rest.values()]) for i in (0, 1))
    picked = slice(None, None, max(1, -(-now.size // MOST_ELEMENTS)))
    columns = [
        np.concatenate([_elements(s[n], run).ravel() for n in rest])[picked] - left[picked]
        for s in shared
    ]
    wanted = (now - left)[picked]
    columns = [c for c in columns if c.any() and np.isfinite(c).all()]
    if not columns or wanted.size < FEWEST:
        return False
    size = norm(wanted)
    try:
        parts, away = nnls(np.stack(columns, axis=1) / size, wanted / size)
    except RuntimeError:  # it did not come to an end: nothing is known
        return False
    rounding = ROUNDING * norm(now) / size
    return bool(away <= MEAN + rounding and parts.sum() <= 1.0 + MEAN)
