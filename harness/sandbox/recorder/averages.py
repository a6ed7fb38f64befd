"""Averages of parameters, where they are made: by how much each follows the weights, and whether it is a
copy at all.
"""

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from harness.sandbox.recorder.tape import Tape
from harness.sandbox.recorder.transforms import outside, unwrapped

ROUNDING = 1e-6
"""By how much two shares of an average may miss 1."""

NEARLY_ALL = 0.9
"""An average of which the newest weights make up this part is none."""

MOST = 0.5
"""A smaller part is not looked at: an optimizer's own averages of gradients have one."""

ALIKE = 1e-3
"""By how much equal shares may differ, where they are read off the values."""

GROWTH = 0.1
"""By so much the newest part grows where it was to become small."""

OFTEN = 3
"""With fewer averages, equal shares may still be the beginning of a warm-up."""


AS_OFTEN = 0.8
"""Of windows of two micro-batches every second average is made again, but for a short end."""

HALVES = (torch.bfloat16, torch.float16)
"""Types with 8 and 11 binary digits."""


class WeightAverages:
    """Wraps ``lerp_``, ``copy_``, and ``add_`` after ``mul_``, of tensors."""

    def __init__(self, tape: Tape) -> None:
        """``tape`` knows the parameters."""
        self._tape = tape
        self._kept: tuple[int, float] | None = None
        self._shares: dict[int, list[float]] = {}
        self._writing = False
        self.with_themselves = 0
        """How often parameters were averaged with themselves: what was kept is their own memory."""
        self.rounded_away = 0
        """How often an average in half precision took a smaller part of the weights than it can hold."""
        self._steps = 0
        self._made = dict[int, int]()
        """How many steps had been made when an average was last made, by its memory."""
        self._again = Counter[bool]()

    def install(self) -> None:
        """Patch the class."""
        seen: dict[str, Callable[..., None]] = {
            "lerp_": self._lerp, "mul_": self._mul, "add_": self._add, "copy_": self._copy,
        }  # fmt: skip
        for name, sees in seen.items():
            setattr(Tensor, name, _watched(getattr(Tensor, name), sees))
        updated = AveragedModel.update_parameters

        @wraps(updated)
        def update_parameters(average: AveragedModel, model: nn.Module) -> None:
            self._note(id(average))
            updated(average, model)

        setattr(AveragedModel, "update_parameters", update_parameters)  # noqa: B010 - as elsewhere

    def share_of_newest(self) -> float | None:
        """The part of the weights as they are in averages that are nearly copies of them, and stay so,
        or become so: a warm-up makes that part smaller. ``None`` where there are none, or others too.
        """
        if not self._shares:
            return None
        if all(len(s) >= OFTEN and s[-1] > s[0] + GROWTH for s in self._shares.values()):
            return min(s[-1] for s in self._shares.values())
        least, most = (which(min(s) for s in self._shares.values()) for which in (min, max))
        stays = all(len(s) >= OFTEN and s[-1] > s[0] - ALIKE for s in self._shares.values())
        nearly = NEARLY_ALL - ALIKE <= least <= most < 1.0 - ROUNDING
        return least if stays and nearly else None

    def at_step(self) -> None:
        """An optimizer steps."""
        self._steps += 1

    def made_again(self) -> int:
        """How often an average was made of weights that no step had changed since the last time, where
        that is the rule.
        """
        again, anew = self._again[True], self._again[False]
        return again if again > OFTEN and again >= AS_OFTEN * anew else 0

    def _note(self, where: int) -> None:
        if self._steps:
            self._again[self._made.get(where) == self._steps] += 1
            self._made[where] = self._steps

    def _mul(self, tensor: Tensor, by: object, *_: object, **__: object) -> None:
        self._kept = (tensor.data_ptr(), by) if isinstance(by, float) else None

    def _add(self, tensor: Tensor, other: object, *_: object, alpha: object = 1) -> None:
        kept, self._kept = self._kept, None
        if kept is None or kept[0] != tensor.data_ptr() or not isinstance(alpha, float):
            return
        if abs(kept[1] + alpha - 1) < ROUNDING:
            self._lerp(tensor, other, alpha)

    def _lerp(self, tensor: Tensor, other: object, weight: object) -> None:
        where = tensor.data_ptr()
        if not isinstance(other, Tensor) or where == 0:
            return
        if isinstance(weight, float) and self._rounds_away(tensor, weight):
            self.rounded_away += 1
        if other.data_ptr() == where:
            self.with_themselves += self._tape.has_at(where)
        elif isinstance(weight, float) and self._tape.has_at(other.data_ptr()):
            self._note(where)
            if weight > MOST:
                self._shares.setdefault(where, []).append(weight)

    def _rounds_away(self, average: Tensor, weight: float) -> bool:
        """Whether its dtype has too few digits for what is added: half of the distance between two
        numbers of it is more.
        """
        if average.dtype not in HALVES or not 0.0 < weight < torch.finfo(average.dtype).eps / 2:
            return False
        return next(self._tape.trained_like(average), None) is not None

    def _copy(self, tensor: Tensor, value: object, *_: object, **__: object) -> None:
        if self._writing or not isinstance(value, Tensor) or self._tape.large:
            return
        if not (_is_plain(tensor) and _is_plain(value)) or self._tape.has_at(value.data_ptr()):
            return
        if self._tape.is_shared and self._tape.has_at(tensor.data_ptr()):
            self.with_themselves += value.shape == tensor.shape and torch.allclose(value, tensor)
            return
        self._writing = True
        try:
            with outside(), torch.no_grad():
                for other in self._tape.trained_like(tensor):
                    share = _share(tensor, value, other)
                    if share is not None and share > MOST:
                        self._shares.setdefault(tensor.data_ptr(), []).append(share)
                        return
        finally:
            self._writing = False


def _is_plain(tensor: Tensor) -> bool:
    """Whether it can be reckoned with, as a mask or what a transform wraps cannot."""
    known = tensor.is_floating_point() and tensor.layout is torch.strided
    return known and tensor.device.type == "cpu" and unwrapped([tensor]) is not None


def _share(old: Tensor, new: Tensor, other: Tensor) -> float | None:
    """The part of ``other`` in ``new``, where that is a mean of it and of ``old``."""
    if new.shape != old.shape or new.dtype != old.dtype:
        return None
    way = (other - old).double().flatten()
    length = float(way.dot(way))
    if length == 0.0 or way.numel() < 2:
        return None
    gone = (new - old).double().flatten()
    share = float(way.dot(gone)) / length
    misses = float((gone - share * way).norm())
    return share if misses <= 1e-3 * float(gone.norm()) else None


def _watched(original: Callable[..., Any], sees: Callable[..., None]) -> Callable[..., Any]:
    @wraps(original)
    def watched(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        if args:
            sees(tensor, *args, **kwargs)
        return original(tensor, *args, **kwargs)

    return watched
