"""Whether new parameters follow from the old ones and the consumed gradient by torch's optimizers."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from harness.domain.event import Clip, OptimizerStep
from harness.oracle import uncompiled
from harness.oracle.between import found_by_next, is_bounded
from harness.oracle.facts import Array, Consumed, Parameters, RankRun
from harness.oracle.gradient import end_to_end, norm, sums

CLOSE = 1e-4
"""Relative difference that fused kernels and another order of operations may cause over a few steps."""

ALONG = 0.5
"""Cosine from which on a change goes down the gradient: part of it may have been left out."""

AGAINST = 0.999
"""The same for a change that takes an update back: a bound on weights does so for some of them."""

FEWEST = 6
"""Updates from which on a rule of all of them is one."""

SAME = 2e-3
"""What single precision loses of a change of parameters, relative to it."""

SPREAD = 1.2
"""How much more a clip has to take in one update than in another."""

ALIKE, TINY = 0.99, 1e-300

SEMANTIC = frozenset({"nesterov", "amsgrad", "maximize", "centered", "decoupled_weight_decay"})
"""Flags that change the result; all others choose between implementations."""


def overwritten(index: int, run: RankRun) -> float:
    """How far parameters with a gradient were moved between an update and the next one, relative to the
    update itself. Those without one are an average of others, as a momentum encoder is; what only holds
    them within bounds trains nothing.
    """
    update = run.updates[index]
    now = found_by_next(index, run)
    if now is update.after:
        return 0.0
    trained = update.gradients.keys() or update.after.keys()
    before, after, now = (
        {n: v for n, v in of.items() if n in trained} for of in (update.before, update.after, now)
    )
    free = {n: v for n, v in now.items() if n in after and not is_bounded(after[n], v)}
    by_others, by_update = _distance(after, free), _distance(before, after)
    if not math.isfinite(by_others) or not math.isfinite(by_update) or not by_others:
        return 0.0
    return by_others / by_update if by_update else math.inf


def trained_behind(index: int, run: RankRun) -> float:
    """How far the parameters were moved on along the gradient, or back along it, between an update and
    the next one, relative to the update itself: a part of the update that no optimizer made.
    """
    update = run.updates[index]
    now = found_by_next(index, run)
    if now is update.after:
        return 0.0
    shared = [
        n
        for n in update.after.keys() & now.keys() & update.gradients.keys()
        if update.after[n].shape == now[n].shape == update.gradients[n].shape
    ]
    if not shared:
        return 0.0
    change, gradient = (
        end_to_end([*values])
        for values in (
            [now[n].astype(np.float64) - update.after[n] for n in shared],
            [update.gradients[n] for n in shared],
        )
    )
    sizes = norm(change) * norm(gradient)
    if not sizes or not math.isfinite(sizes):
        return 0.0
    along = float(change @ gradient) / sizes
    is_part = along < -ALONG or along > AGAINST
    return overwritten(index, run) if is_part else 0.0


def behind_the_gradient(run: RankRun) -> str | None:
    """What optimizers made of all that they consumed, where that undoes what the program did to it."""
    if len(run.updates) < FEWEST or any(u.skipped or not _is_finite(u) for u in run.updates):
        return None
    if _never_forgets(run.updates):
        return (
            "each update holds all of the one before it beside the new gradient, so the optimizer "
            "forgets none, and clearing gradients has no effect."
        )
    if _gives_back(run.updates):
        return (
            "each update was larger by what the clip had taken, so the clip has no effect on what "
            "was trained."
        )
    return None


def _is_finite(update: Consumed) -> bool:
    known = (*update.gradients.values(), *update.before.values(), *update.after.values())
    return all(np.isfinite(array).all() for array in known)


def _never_forgets(updates: list[Consumed]) -> bool:
    """Whether a part of 1 of the change before is in each change, at the same rate, beside a multiple
    of the gradient.
    """
    for earlier, update in pairwise(updates):
        names = _stepped_alike(earlier, update)
        if not names:
            return False
        change, before = _change(update, names), _change(earlier, names)
        gradient = end_to_end([update.gradients[n] for n in names])
        columns = np.stack([gradient, before], axis=1)
        sizes = np.maximum(np.linalg.norm(columns, axis=0), TINY)
        if abs(float(gradient @ before)) > ALIKE * sizes[0] * sizes[1]:
            return False  # nothing tells them apart
        solved, *_ = np.linalg.lstsq(columns / sizes, change, rcond=None)
        if norm(change - columns / sizes @ solved) > SAME * norm(change):
            return False
        if not abs(float(solved[1] / sizes[1]) - 1.0) <= SAME:
            return False
    return True


def _gives_back(updates: list[Consumed]) -> bool:
    """Whether the multiple of the gradient by which parameters moved grows as the clip shrinks it."""
    products: list[float] = []
    taken: list[float] = []
    for update in updates:
        share = _left_by_clip(update)
        names = _stepped_alike(update, update)
        if share is None or not names:
            return False
        change, gradient = _change(update, names), end_to_end([update.gradients[n] for n in names])
        multiple = float(change @ gradient) / (float(gradient @ gradient) or 1.0)
        if not multiple or norm(change - multiple * gradient) > SAME * norm(change):
            return False
        products.append(multiple * share)
        taken.append(share)
    spread = max(taken) / min(taken)
    return spread > SPREAD and np.ptp(products) <= SAME * abs(products[0])


def _left_by_clip(update: Consumed) -> float | None:
    """The share that the one clip by norm left; ``None`` where another number of them ran."""
    match update.clips:
        case [Clip(threshold=float(most), returned=float(found))] if most > 0.0 and found > 0.0:
            return min(1.0, most / found)
    return None


def _stepped_alike(one: Consumed, other: Consumed) -> list[str]:
    """Parameters that both moved and had a gradient for, at the same rate."""
    rates = {g.numbers.get("lr") for u in (one, other) for s in u.steps for g in s.groups}
    if one is not other and len(rates) != 1:
        return []
    known = [of.keys() for u in (one, other) for of in (u.before, u.after, u.gradients)]
    return sorted(
        n
        for n in set.intersection(*map(set, known))
        if one.before[n].shape == other.before[n].shape == other.gradients[n].shape
    )


def _change(update: Consumed, names: list[str]) -> Array:
    """By how much parameters went, end to end."""
    return end_to_end([update.after[n].astype(np.float64) - update.before[n] for n in names])


def moved(update: Consumed) -> float:
    """How far an update moved the parameters, relative to their norm; 0 where they are the same."""
    size = norm(end_to_end([*update.before.values()]))
    return _distance(update.before, update.after) / (size or 1.0)


def _distance(one: Parameters, other: Parameters) -> float:
    names = [
        n
        for n in one.keys() & other.keys()
        if one[n] is not other[n] and one[n].shape == other[n].shape
    ]
    return norm(end_to_end([one[n] for n in names]) - end_to_end([other[n] for n in names]))


TORCHS_OWN = {
    f"{cls.__module__}.{cls.__qualname__}": cls
    for cls in (
        torch.optim.Adadelta, torch.optim.Adagrad, torch.optim.Adam, torch.optim.AdamW,
        torch.optim.Adamax, torch.optim.ASGD, torch.optim.NAdam, torch.optim.RAdam,
        torch.optim.RMSprop, torch.optim.Rprop, torch.optim.SGD,
    )
}  # fmt: skip
"""The optimizers that are stepped here, by qualified name: a record names one, and nothing else that
it names is ever looked up or called. ``LBFGS`` cannot step without a closure, ``SparseAdam`` not with
the dense gradients on record.
"""


class Follower:
    """Steps torch's own optimizers on the recorded gradients, to compare the results."""

    def __init__(self) -> None:
        """No optimizer is known yet."""
        self._shadows: dict[int, tuple[torch.optim.Optimizer, dict[str, nn.Parameter]]] = {}
        self._lost: set[int] = set()
        """Those that took a step which their shadow could not: its state is behind from there on."""

    def follows(self, update: Consumed) -> bool | None:
        """Whether the recorded parameters follow; ``None`` for an optimizer that is not torch's, or
        one that searches with its closure.
        """
        if update.skipped:
            return _close(update.after, update.before, list(update.after))
        names: list[str] = []
        for step in update.steps:
            if step.fused_skip:
                return None
            if step.optimizer in self._lost or not self._step(step, update):
                self._lost |= {other.optimizer for other in update.steps}
                return None
            names += [n for g in step.groups for n in g.parameters]
        shadow = {
            name: _array(value)
            for _, parameters in self._shadows.values()
            for name, value in parameters.items()
        }
        return _close(shadow, update.after, names)

    def _step(self, step: OptimizerStep, update: Consumed) -> bool:
        cls = TORCHS_OWN.get(step.type)
        known = all(n in update.before for g in step.groups for n in g.parameters)
        if cls is None or step.closures > 1 or not known:
            return False
        if step.optimizer not in self._shadows:
            cast = torch.bfloat16 if _in_bfloat16(update) else None
            parameters = {
                n: nn.Parameter(torch.tensor(update.before[n]).to(cast))
                for g in step.groups
                for n in g.parameters
            }
            groups = [{"params": [parameters[n] for n in g.parameters]} for g in step.groups]
            self._shadows[step.optimizer] = cls(groups, lr=1e-3), parameters
        optimizer, parameters = self._shadows[step.optimizer]
        if len(optimizer.param_groups) != len(step.groups):
            return False
        for ours, theirs in zip(optimizer.param_groups, step.groups, strict=True):
            ours.update({k: v for k, v in theirs.numbers.items() if k in ours})
            ours.update({k: v for k, v in theirs.flags.items() if k in ours and k in SEMANTIC})
            if "beta1" in theirs.numbers:
                ours["betas"] = (theirs.numbers["beta1"], theirs.numbers["beta2"])
        for name, parameter in parameters.items():
            parameter.detach().copy_(torch.tensor(update.before[name]))
            gradient = update.gradients.get(name)
            parameter.grad = (
                None if gradient is None else torch.tensor(gradient, dtype=parameter.dtype)
            )
        uncompiled.step(optimizer)
        return True


def _array(value: nn.Parameter) -> Array:
    found = value.detach()
    return (found.float() if found.dtype == torch.bfloat16 else found).numpy()


def _in_bfloat16(update: Consumed) -> bool:
    """Whether all that the update moved, before and after it, are numbers of that type."""
    values = [v for n, v in update.before.items() if n in update.after]
    values += [update.after[n] for n in update.before if n in update.after]
    cut = (v.dtype == np.float32 and not (v.view(np.uint32) & 0xFFFF).any() for v in values)
    return bool(values) and all(cut)


def _close(ours: Parameters, theirs: Parameters, names: list[str]) -> bool:
    sizes = tuple(theirs[name].size for name in names)
    a, b = (end_to_end([values[name] for name in names]) for values in (ours, theirs))
    away, whole = (np.sqrt(sums(x * x, sizes)) for x in (a - b, b))
    far = away > CLOSE * (whole + 1e-12)
    return not bool((far & np.isfinite(whole)).any())
