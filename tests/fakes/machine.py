"""A machine whose processors others want too: time goes on when a test says so."""

from collections.abc import Sequence

from harness.sandbox.deadline import ProcessorUse


class Busy:
    """Each process of a run gets the same part of every second."""

    def __init__(self, ran: Sequence[float], queued: Sequence[float]) -> None:
        """``ran``, ``queued``: for each process, what of a second it runs and waits for a processor."""
        self._ran = ran
        self._queued = queued
        self._now = 0.0
        self.waited = 0.0
        """What was waited before the run."""
        self.asked = 0
        """How often ``use`` was called."""

    def clock(self) -> float:
        """Seconds that have gone by."""
        return self._now

    def go_on(self, seconds: float) -> None:
        """Let them go by."""
        self._now += seconds

    def use(self) -> ProcessorUse:
        """As the kernel would say it."""
        self.asked += 1
        queued = self.waited + self._now * sum(self._queued)
        return ProcessorUse(ran=self._now * max(self._ran), queued=queued)
