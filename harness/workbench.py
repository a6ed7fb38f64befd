"""Keeps as many executions going as there are jobs, and passes results on: in the order of the tasks,
or, where other machines work on them, as they come.

To *tell* a result is to pass it on. Tasks are taken from an iterator as there is room, and a result
that was told is not kept: ten thousand answers need no more memory than a hundred.
"""

import errno
import os
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from queue import SimpleQueue
from typing import Generic, TypeVar

from harness.agents.agent import Agent
from harness.domain.errors import UserError
from harness.domain.instruments import Instruments, OpenInstruments
from harness.domain.outcome import Fault
from harness.domain.progress import Progress
from harness.domain.scenario import Scenario
from harness.domain.stored import GradedAnswer
from harness.rubric.judge import NoJudge, TextJudge
from harness.store import RunFolder

R = TypeVar("R")

LACKS = frozenset(
    {errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.EDQUOT, errno.EFBIG, errno.EAGAIN}
)
"""Errors of a machine that has run out of disk, memory, descriptors, quota, file size or threads."""

AHEAD = 64
"""Most tasks that are under way, or done and waiting to be told; more where there are more jobs."""


@dataclass(frozen=True, slots=True)
class Task:
    """One answer to get and to grade."""

    key: str
    """Unique in a run: who answers what, or which file."""
    scenario: Scenario
    """What is asked."""
    agent: Agent
    """Who answers."""
    trial: int = 1
    """Which of several answers to the same question, from 1."""
    how: str = ""
    """How the scenario was recognised, where the caller did not name it."""
    name: str = ""
    """Its name for readers; empty: the key."""

    @property
    def called(self) -> str:
        """Its name for readers."""
        return self.name or self.key


@dataclass(frozen=True, slots=True)
class Ready(Generic[R]):
    """A result that needs no work, told when its turn comes."""

    value: R
    """The result."""


Tasks = Iterable[Task | Ready[R]]
"""What a run works through, in order."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run."""

    seed: int = 0
    """Offset added to every workload's seed."""
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    """Executions at the same time."""
    asking: int = 0
    """How many answers at least may be waited for at the same time, where agents are slow."""
    watch: Callable[[Progress], None] = lambda _: None
    """Called at every start and end of a task, from any thread, one call at a time."""
    judge: TextJudge = field(default_factory=NoJudge)
    """Who reads the text of an answer."""
    stop: Callable[[], None] = lambda: None
    """Called at Ctrl-C, to break off questions to agents and judges."""
    keep: Callable[[GradedAnswer], None] = lambda _: None
    """Takes each answer as it is told, in order, to print it."""
    run: RunFolder | None = None
    """Where answers are stored; those that are there already are not done again."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How the work ended."""

    interrupted: bool
    """Whether Ctrl-C ended it."""
    notes: tuple[str, ...]
    """What this machine does not offer, in words."""


@dataclass(frozen=True, slots=True)
class TaskSteps(Generic[R]):
    """How a task becomes a result, and who gets it."""

    work: Callable[[Task], R]
    """From the task to its result. Called from several threads."""
    failed: Callable[[Task, Fault], R]
    """The result when the harness failed."""
    tell: Callable[[R], None]
    """Takes the result. Called from one thread."""


def probes_under_way(jobs: int) -> int:
    """How many probes are worked on at the same time.

    More than the jail has room for: it would stand still while a recording is measured, or a package
    is imported that the next programs need.
    """
    return 2 * jobs + 2


class Workbench:
    """The instruments, and the threads that use them.

    One pool of threads takes tasks through all steps, one runs probes. A task waits for its probes,
    so those of a single answer use all cores as well as the answers of a whole bank do.
    """

    tools: Instruments

    def __init__(self, settings: Settings, total: int) -> None:
        """``total``: how many tasks are expected, for the progress bar."""
        self.settings = settings
        probes = probes_under_way(settings.jobs)
        self._workers = ThreadPoolExecutor(max(probes, settings.asking), "task")
        self.probes = ThreadPoolExecutor(probes, "probe")
        self._ahead = max(AHEAD, 2 * probes)
        self._total = total
        self._done = 0
        self._running: list[str] = []
        self._lock = threading.Lock()
        self._notes: tuple[str, ...] = ()

    def work_through(
        self, tasks: Tasks[R], steps: TaskSteps[R], open_instruments: OpenInstruments
    ) -> Ending:
        """Work on all tasks, or until Ctrl-C; results that are finished by then are still told.

        Raises:
            UserError: the machine cannot run candidates, or a task could not be read.
        """
        waiting = _UnderWay[R]()
        interrupted = False
        try:
            with ExitStack() as pools:  # left last: their threads end once instruments are closed
                pools.enter_context(self._workers)
                pools.enter_context(self.probes)
                try:
                    self._work_through(tasks, steps, waiting, open_instruments)
                except KeyboardInterrupt:
                    interrupted = True
                    self.settings.stop()
        finally:
            for result in waiting.finished():
                steps.tell(result)
        return Ending(interrupted, self._notes)

    def _work_through(
        self,
        tasks: Tasks[R],
        steps: TaskSteps[R],
        waiting: "_UnderWay[R]",
        open_instruments: OpenInstruments,
    ) -> None:
        with ExitStack() as instruments:
            try:
                for item in tasks:
                    if isinstance(item, Task) and not hasattr(self, "tools"):
                        self._open(instruments, open_instruments)
                        waiting.in_order = self.tools.elsewhere is None
                    waiting.add(*self._start(item, steps))
                    while len(waiting) >= self._ahead or waiting.has_next:
                        _tell(*waiting.next(), steps)
                while len(waiting):
                    _tell(*waiting.next(), steps)
            finally:
                self._drop_what_waits()

    def _open(self, instruments: ExitStack, open_instruments: OpenInstruments) -> None:
        self.tools = instruments.enter_context(open_instruments(self.settings.jobs))
        self._notes = self.tools.machine_notes

    def _start(self, item: Task | Ready[R], steps: TaskSteps[R]) -> "tuple[Task | None, Future[R]]":
        if isinstance(item, Task):
            return item, self._workers.submit(self._counted, item, steps)
        with self._lock:
            self._done += 1
        told: Future[R] = Future()
        told.set_result(item.value)
        return None, told

    def _counted(self, task: Task, steps: TaskSteps[R]) -> R:
        with self._counting(task.scenario.id):
            return steps.work(task)

    def _drop_what_waits(self) -> None:
        for pool in (self._workers, self.probes):
            pool.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _counting(self, scenario: str) -> Iterator[None]:
        with self._lock:
            self._running.append(scenario)
            self._show()
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(scenario)
                self._done += 1
                self._show()

    def _show(self) -> None:
        running = tuple(dict.fromkeys(self._running))
        self.settings.watch(Progress(self._done, max(self._done, self._total), running))


class _UnderWay(Generic[R]):
    """Results that are awaited, in the order in which they are to be told."""

    def __init__(self) -> None:
        self.in_order = True
        self._awaited: dict[Future[R], Task | None] = {}
        self._came: SimpleQueue[Future[R]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._awaited)

    def add(self, task: Task | None, future: Future[R]) -> None:
        self._awaited[future] = task
        if not self.in_order:
            future.add_done_callback(self._came.put)

    @property
    def has_next(self) -> bool:
        """Whether the next one is there."""
        if not self.in_order:
            return not self._came.empty()
        return bool(self._awaited) and next(iter(self._awaited)).done()

    def next(self) -> tuple[Task | None, Future[R]]:
        """The next one, once it is there."""
        future = next(iter(self._awaited)) if self.in_order else self._came.get()
        future.exception()  # waits; Ctrl-C here leaves it among those that are awaited
        return self._awaited.pop(future), future

    def finished(self) -> Iterator[R]:
        """Results that are there and were not told."""
        for future in self._awaited:
            if future.done() and not future.cancelled() and future.exception() is None:
                yield future.result()


def _tell(task: Task | None, done: Future[R], steps: TaskSteps[R]) -> None:
    error = done.exception()
    if error is not None and _is_of_the_machine(error):
        raise error  # not of one task: nothing else would run either
    if task is None or error is None:
        steps.tell(done.result())
    else:
        steps.tell(steps.failed(task, _fault(task, error)))


def _is_of_the_machine(error: BaseException) -> bool:
    lacks = isinstance(error, OSError) and error.errno in LACKS
    return lacks or isinstance(error, UserError | MemoryError)


def _fault(task: Task, error: BaseException) -> Fault:
    sentence = f"{type(error).__name__}: {error}".partition("\n")[0]
    trace = "".join(traceback.format_exception(error))
    return Fault(task.scenario.id, task.agent.name, sentence, trace)


def torch_version() -> str:
    """Asked of the package's metadata: this process never imports torch."""
    try:
        return version("torch")
    except PackageNotFoundError:
        return "not installed"
