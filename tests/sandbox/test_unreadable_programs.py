"""No program can make the harness fail: one that cannot be made ready is inconclusive."""

from types import SimpleNamespace
from typing import Any

import pytest

from harness.domain.event import Finished
from harness.domain.workload import WorkloadSpec
from harness.sandbox import worker, world
from harness.sandbox.order import WorkOrder
from harness.sandbox.pool import Job

ORDER = WorkOrder(workload=WorkloadSpec.model_validate({"name": "mlp", "parameters": {}}))


class FakeRecord:
    """A recorder that only keeps how the program ended."""

    def __init__(self) -> None:
        self.assembled = None
        self.steps = SimpleNamespace(given=())
        self.ended: list[Finished] = []

    def inject(self, *_: Any) -> None: ...
    def batch(self, *_: Any, **__: Any) -> None: ...
    def track(self, *_: Any, **__: Any) -> None: ...
    def start(self, *_: Any) -> None: ...
    def note(self, *_: Any, **__: Any) -> None: ...

    def finish(self, finished: Finished, *_: Any) -> None:
        self.ended.append(finished)


def ended(program: str) -> Finished:
    record: Any = FakeRecord()
    job = Job(program=program, payload_json=ORDER.model_dump_json(), world_size=1, seed=0)
    worker.work_on(record, job, rank=0, world_size=1)
    return record.ended[0]


def test_a_program_that_trips_the_reading_is_unbound_and_no_fault_of_ours(monkeypatch):
    def trips(*_, **__):
        raise IndexError

    monkeypatch.setattr(world, "bind", trips)
    found = ended("x = 1")

    assert found.outcome == "unbound"
    assert "it could not be made ready to run (IndexError in " in (found.message or "")


@pytest.mark.parametrize("error", [MemoryError(), OSError(28, "no space")])
def test_what_the_machine_lacks_stays_a_fault_of_ours(monkeypatch, error):
    def lacks(*_, **__):
        raise error

    monkeypatch.setattr(world, "bind", lacks)
    with pytest.raises(type(error)):
        ended("x = 1")
