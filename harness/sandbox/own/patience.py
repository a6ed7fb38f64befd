"""Ends a program when enough of its training was seen: at the first backward after that."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from harness.domain.event import ENOUGH
from harness.sandbox.own.phases import PhaseOver, Phases

UPDATES = 12
"""Updates that are enough, where as many passes over a loader have begun as count."""

PASSES = 3
"""Passes over a loader that have begun: two of them whole, and a few updates of the next."""

LONG = 24
"""The same for a program that is to be seen in many short passes."""

MANY = 36
"""Updates that are enough without any pass: the program has no loader; twice as many within passes, and
fewer where several ranks train together.
"""

SECONDS = 5.0
"""After so many seconds of a processor a few updates are enough, if no other rank would wait."""

WAITED = 4 * SECONDS
"""The same for seconds of any kind: a program may wait for other processes, or sleep."""

PLENTY = 300 << 20
"""Bytes of a record after which so few are enough as well: a run that says twice as much is lost."""

FEW = 3
"""So many."""

IDLE = 3.0
"""For so long a program may do something else once a loop was ended, until it trains again."""

BACKWARDS = 120
"""Calls of backward that are enough where no optimizer steps."""

LENT = 1000
"""Updates, over all ranks, that are enough on lent data of the usual size."""

BRIEF = 100
"""The same where there is little time."""

_clock, _used = time.monotonic, time.process_time  # the program may put its own in their place


class SeenEnough(SystemExit):
    """Raised in the program when it was seen for long enough."""


class Patience:
    """Counts the updates and the passes of one run."""

    def __init__(
        self,
        ranks: int,
        phases: Phases | None = None,
        wanted: int = 0,
        *,
        many_passes: bool = False,
        again: bool = False,
    ) -> None:
        """``ranks``: how many train together; of several none may be ended by its own clock.

        ``wanted``: how many batches a probe wants of a program that is lent its data. ``many_passes``:
        whether it is to be seen in many passes. ``again``: whether it was seen as it is, and only what
        its clip does with other gradients is still to be seen.
        """
        self._wanted = LONG if many_passes else PASSES
        self._alone = ranks == 1
        self._few = max(FEW, wanted)
        self._many = max(wanted, LENT // ranks) if wanted else MANY * 2 // (1 + ranks)
        self._seconds = SECONDS / (1 + again)
        self._backwards_enough = max(BACKWARDS, LENT * bool(wanted))
        self._phases = phases if self._alone else None
        self._done = 0
        """Updates of the loops that were ended."""
        self._began, self._used = _clock(), _used()
        self._passes: dict[int, int] = {}
        self._backwards = self._at_pass = 0
        self.updates = 0
        self.said: Callable[[], int] = int
        """How many bytes the record of the run has."""

    def hurry(self) -> None:
        """There is little time."""
        self._many = min(self._many, max(self._few, BRIEF))

    def anew(self) -> None:
        """Another run of the same program begins."""
        self._passes, self._backwards, self._done, self._at_pass, self.updates = {}, 0, 0, 0, 0

    def began(self, loader: object) -> None:
        """A pass over a loader begins."""
        self._passes[id(loader)] = self._passes.get(id(loader), 0) + 1
        self._at_pass = self.updates

    @property
    def is_over(self) -> bool:
        """Whether enough was seen."""
        several = max(self._passes.values(), default=0) >= self._wanted
        several = several and self.updates - self._at_pass >= FEW  # a pass may begin by a thaw
        updates = self.updates - self._done
        # of passes the third may be another one
        most = self._many * (1 + bool(self._passes)) * self._wanted // PASSES
        if updates >= (UPDATES if several else most):
            return True
        if self._backwards >= self._backwards_enough * (1 + updates):
            return True
        return self._alone and self._is_late and updates >= self._few

    @property
    def _is_late(self) -> bool:
        slow = _used() - self._used > self._seconds or _clock() - self._began > WAITED
        return slow or self.said() > PLENTY

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count what runs inside, and end it in time."""
        hook = register_optimizer_step_post_hook(self._stepped)
        original, derive = torch.autograd.backward, torch.autograd.grad
        vars(torch.autograd).update(backward=self._before(original), grad=self._before(derive))
        self._began, self._used = _clock(), _used()
        if self._phases is not None:
            signal.signal(signal.SIGALRM, self._waited)
        try:
            yield
        except Exception as error:
            if self._phases is None or not self._phases.ended:
                raise
            raise self.enough from error  # a loop that was ended left something undone
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            hook.remove()
            vars(torch.autograd).update(backward=original, grad=derive)

    def _stepped(self, *_: Any) -> None:
        self.updates += 1

    def _before(self, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._backwards += 1
            if self._phases is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)
                self._phases.met()
            if self.is_over:
                self._end()
            return original(*args, **kwargs)

        call.__name__ = original.__name__
        return call

    def _end(self) -> None:
        """End the loop that runs, if something else may train after it, or else the program."""
        if self._phases is None or not self._phases.go_on or self._is_late:
            raise self.enough
        self._passes, self._backwards, self._done = {}, 0, self.updates
        signal.setitimer(signal.ITIMER_REAL, IDLE)
        raise PhaseOver

    @property
    def enough(self) -> SeenEnough:
        """What ends the program."""
        return SeenEnough(f"{ENOUGH} after {self.updates} updates")

    def _waited(self, *_: object) -> None:
        raise self.enough
