"""Money: what was spent, and a limit that is not exceeded."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from harness.domain.model import Unavailable
from harness.domain.transcript import Usage


class Reservation:
    """Room for one call. Settled with what it really cost; unsettled, it cost nothing."""

    def __init__(self, worst: float) -> None:
        """``worst``: the most that the call can cost, in US dollars."""
        self.worst = worst
        self.cost = 0.0

    def settle(self, cost: float) -> None:
        """Say what the call cost."""
        self.cost = cost


class CostMeter:
    """Counts tokens and dollars of all calls, from any thread.

    A call starts only when the limit holds even if it and everything under way cost the most they
    can. So the limit is never exceeded, and a little of it may stay unspent.
    """

    def __init__(self, limit: float | None = None) -> None:
        """``limit``: US dollars, or ``None`` for no limit."""
        self.limit = limit
        self._change = threading.Condition()
        self._spent = 0.0
        self._reserved: list[float] = []
        self._usage = Usage()
        self._unpriced = 0

    @property
    def spent(self) -> float:
        """US dollars so far, without calls whose price is not known."""
        with self._change:
            return self._spent

    @property
    def usage(self) -> Usage:
        """Tokens so far."""
        with self._change:
            return self._usage

    @property
    def unpriced(self) -> int:
        """Calls so far whose price is not known."""
        with self._change:
            return self._unpriced

    @contextmanager
    def room_for(self, worst: float) -> Iterator[Reservation]:
        """Room for a call that costs this at most; waits for calls under way when it has to.

        Raises:
            Unavailable: the call does not fit under the limit.
        """
        reservation = Reservation(worst)
        with self._change:
            self._change.wait_for(lambda: self._fits(worst) or not self._reserved)
            if not self._fits(worst):
                raise Unavailable("cost_limit", self._refusal(worst))
            self._reserved.append(worst)
        try:
            yield reservation
        finally:
            with self._change:
                self._reserved.remove(worst)
                self._spent += reservation.cost
                self._change.notify_all()

    def spend(self, cost: float) -> None:
        """Add what was paid without room for it: the results of a batch."""
        with self._change:
            self._spent += cost
            self._change.notify_all()

    def count(self, usage: Usage, *, priced: bool) -> None:
        """Add the tokens of one call."""
        with self._change:
            self._usage = add(self._usage, usage)
            self._unpriced += not priced

    def _fits(self, worst: float) -> bool:
        return self.limit is None or self._spent + sum(self._reserved) + worst <= self.limit

    def _refusal(self, worst: float) -> str:
        return (
            f"the limit of ${self.limit:.2f} does not hold another call: ${self._spent:.4f} is spent"
            f" and the next one could cost ${worst:.4f}"
        )


def add(one: Usage, other: Usage) -> Usage:
    """The tokens of both."""
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
    )
