"""Shares of a model's parameters, one for each of several optimizers."""

import re
from itertools import accumulate

from torch import nn

from harness.sandbox.names.table import words
from harness.sandbox.unbound import Unbound

FRONT = re.compile(r"enc|back|body|base|trunk|embed|emb|feat|bottom|first|front|pre")
BACK = re.compile(r"dec|head|class|cls|clf|top|fc|out|last|final|proj")
"""Words of what lies in front in a model, and of what lies behind."""


def shares(model: nn.Module, names: tuple[str, ...]) -> list[list[nn.Parameter]]:
    """The parameters that each of the named optimizers trains: every one in one share.

    Names that mean a part of the model get it; the rest is dealt out module by module, to those that
    are left or else to the last. Raises ``Unbound`` for a model that has too few.
    """
    named = [_part(model, name) for name in names]
    if len({id(part) for part in named if part is not None}) < sum(p is not None for p in named):
        named = [None for _ in names]
    found = [[] if part is None else [*part.parameters()] for part in named]
    left = _left(model, {id(p) for share in found for p in share})
    order = sorted(
        (i for i, part in enumerate(named) if part is None), key=lambda i: _depth(names[i])
    )
    for place, share in zip(order or [len(names) - 1], _dealt(left, len(order) or 1), strict=True):
        found[place] += share
    if not all(found):
        raise Unbound(names[0], "is one of more optimizers than the model has parts for")
    return found


def _part(model: nn.Module, name: str) -> nn.Module | None:
    """The part of the model that a name means: ``head_opt`` the head."""
    words = [word for word in words_of(name) if len(word) > 2]
    for child, part in model.named_children():
        lower = child.lower()
        if any(lower.startswith(w) or w.startswith(lower) for w in words) and [*part.parameters()]:
            return part
    return None


def _left(model: nn.Module, taken: set[int]) -> list[list[nn.Parameter]]:
    """Parameters that nobody has, module by module; those that two modules share once."""
    left: list[list[nn.Parameter]] = []
    for module in model.modules():
        left.append([p for p in module.parameters(recurse=False) if id(p) not in taken])
        taken |= {id(p) for p in left[-1]}
    return [group for group in left if group]


def _depth(name: str) -> int:
    words = words_of(name)
    return any(map(BACK.match, words)) - any(map(FRONT.match, words))


def _dealt(groups: list[list[nn.Parameter]], count: int) -> list[list[nn.Parameter]]:
    """Groups in ``count`` stretches of about as many groups each."""
    sizes = [len(groups) // count + (i < len(groups) % count) for i in range(count)]
    ends = [*accumulate(sizes)]
    return [
        [p for group in groups[end - size : end] for p in group]
        for size, end in zip(sizes, ends, strict=True)
    ]


def words_of(name: str) -> set[str]:
    """Words of a name that tell one optimizer from another."""
    return {*words(name)} - PLAIN


PLAIN = frozenset({"opt", "optim", "optimizer", "sched", "scheduler", "lr", "net", "model", "step"})
"""Words that the name of every optimizer may have."""
