"""A program of many updates takes as many looks for each of them as a short one."""

from collections.abc import Iterator

import numpy as np

from harness.oracle.event_lines import event_lines
from harness.oracle.facts import Consumed, Flow, ForwardPass, RankRun
from harness.oracle.gradient import Gradient
from harness.oracle.replayed import Replayed
from harness.oracle.windows import windows_of
from tests.oracle.test_event_lines import BACKWARD, STEP, forward


class Counted(list):
    """A list that counts what is taken from it."""

    taken = 0

    def __iter__(self) -> Iterator:
        for item in super().__iter__():
            self.taken += 1
            yield item

    def __getitem__(self, at):
        found = super().__getitem__(at)
        self.taken += len(found) if isinstance(at, slice) else 1
        return found


class FakeReplay:
    """Knows no model; every flow carries a sample of its own."""

    def knows(self, _passed: ForwardPass) -> bool:
        return False

    def flows(self, _known: list[Flow]) -> list[Replayed]:
        return []

    def recorded(self, flow: Flow) -> Replayed:
        sample = (flow.forward.id,)
        return Replayed(flow, sample, 1, Gradient.of({"w": np.ones(1)}), None, None, None)


def of_updates(count: int) -> RankRun:
    """Two micro-batches to an update, and a pass."""
    flows = [
        Flow(ForwardPass(n, "model", (), (), {}, None, n, (n // 2, n % 2)), {}, backward=n)
        for n in range(2 * count)
    ]
    updates = Counted(
        Consumed(
            flows[2 * n : 2 * n + 2], {}, [STEP], {}, {}, False, 5 * n + 4, 1.0, last_batch=(n, 1)
        )
        for n in range(count)
    )
    events = Counted([forward(0), BACKWARD, forward(1), BACKWARD, STEP] * count)
    return RankRun(events, {}, {}, {}, updates, [], 0, sampled=False)


def looks_for_windows(count: int) -> float:
    run = of_updates(count)
    windows = windows_of(run, FakeReplay())

    assert [len(window) for window in windows] == [2] * count
    return run.updates.taken / count


def looks_for_stories(count: int) -> float:
    run = of_updates(count)
    for index in range(count):
        event_lines(run, index)
    return run.events.taken / count


def test_windows_look_at_an_update_as_often_however_many_there_are():
    assert looks_for_windows(300) == looks_for_windows(3)


def test_stories_look_at_the_events_of_their_own_window_alone():
    assert looks_for_stories(300) < 2 * looks_for_stories(3)
