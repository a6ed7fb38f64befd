"""What several scenarios try on the same workload runs once: a tenth of all mutants."""

from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import replace
from threading import Lock

from harness.domain.candidate import Candidate
from harness.domain.injection import Injection
from harness.domain.instruments import Executor
from harness.domain.recording import Recording
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec

ROOM = 64
"""Recordings that are kept; about 200 KB each."""

_Asked = tuple[str, str, Injection, float | None]
"""Program, workload, injection, and how long the reference takes: all that an execution depends on."""


class Repeats:
    """Runs each program once on each workload, and hands out its recording again. Thread-safe."""

    def __init__(self, executor: Executor, room: int = ROOM) -> None:
        """``room``: recordings that are kept, the newest; whoever comes later runs anew."""
        self._executor = executor
        self._room = room
        self._known: OrderedDict[_Asked, Future[Recording]] = OrderedDict()
        self._lock = Lock()

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """What was recorded before or is being recorded, under this probe's name. Raises as the
        executor does.
        """
        asked = (
            candidate.program,
            workload.model_dump_json(),
            probe.injection,
            probe.reference_seconds,
        )
        with self._lock:
            first = asked not in self._known
            found = self._known.setdefault(asked, Future())
            while len(self._known) > self._room:
                self._known.popitem(last=False)
        if first:
            self._run(asked, found, candidate, workload, probe)
        return replace(found.result(), probe=probe.name)

    def _run(
        self,
        asked: _Asked,
        found: Future[Recording],
        candidate: Candidate,
        workload: WorkloadSpec,
        probe: Probe,
    ) -> None:
        try:
            recording = self._executor.execute(candidate, workload, probe)
        except BaseException as error:  # noqa: BLE001 - whoever waits for it is told, and so is this caller
            self._forget(asked)
            found.set_exception(error)
            return
        if recording.ours:  # the machine's fault is not the program's: the next one may have luck
            self._forget(asked)
        found.set_result(recording)

    def _forget(self, asked: _Asked) -> None:
        with self._lock:
            self._known.pop(asked, None)
