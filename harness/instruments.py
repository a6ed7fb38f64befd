"""The real instruments: the jail and the oracle. Both import torch, in processes of their own."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.domain.instruments import Instruments, OpenInstruments
from harness.oracle.client import Oracle
from harness.sandbox.executor import JailedExecutor


@contextmanager
def jail_and_oracle(jobs: int) -> Iterator[Instruments]:
    """Both, warming up at the same time.

    Raises:
        CannotExecuteHere: this machine cannot run candidates.
        HarnessFault: the jail does not start.
    """
    with jail_ahead(jobs) as open_instruments, open_instruments(jobs) as tools:
        yield tools


@contextmanager
def jail_ahead(jobs: int, data: Sequence[Path] = ()) -> Iterator[OpenInstruments]:
    """The same, opened by whoever gets it: the jail's slow start begins here, while scenarios are
    still being read. Nobody has to open it, and nobody can twice: it ends with the instruments.
    ``data``: folders that programs may read.

    Raises:
        CannotExecuteHere: this machine cannot run candidates.
    """
    with JailedExecutor(parallel=jobs, data=data) as executor:
        executor.start()

        @contextmanager
        def open_instruments(jobs: int) -> Iterator[Instruments]:
            # The executor too: at Ctrl-C threads wait for programs that only its end breaks off.
            with executor, Oracle(workers=max(1, jobs // 2)) as oracle:
                oracle.warm()
                missing = executor.machine().missing()  # waits until the jail is up
                yield Instruments(executor, oracle, tuple(f"{g.name}: {g.detail}" for g in missing))

        yield open_instruments


@contextmanager
def opened_once(open_instruments: OpenInstruments) -> Iterator[OpenInstruments]:
    """The same for several runs in turn: opened by the first that needs them, ended after the last, or
    by whatever breaks one off.
    """
    with ExitStack() as held:
        tools: list[Instruments] = []

        @contextmanager
        def shared(jobs: int) -> Iterator[Instruments]:
            if not tools:
                tools.append(held.enter_context(open_instruments(jobs)))
            try:
                yield tools[0]
            except BaseException:
                tools.clear()
                held.close()
                raise

        yield shared
