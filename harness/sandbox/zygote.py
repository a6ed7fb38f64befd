"""The warm process that forks a child for each job: ``python -m harness.sandbox.zygote FD ...``.

It keeps one fork ready for the next job, which is then in the jail before the job arrives. A fresh
exec that never loads scenarios, references or the oracle, and never runs candidate code. It serves one
parent over a socket and dies with it, taking every child along. Jobs that need a large package go to
its annex.
"""

import argparse
import contextlib
import importlib
import os
import selectors
import shutil
import signal
import socket
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NoReturn

from harness.collecting import uncollected
from harness.sandbox import warm_up
from harness.sandbox.control import (
    DATAGRAM,
    Codec,
    Exited,
    Forwarded,
    KillRun,
    Started,
    StartJob,
    ZygoteMessage,
    ZygoteReady,
)
from harness.sandbox.forks import AnnexZygote, SpareLeader
from harness.sandbox.jail import JailPlan, JailPolicy, calls
from harness.sandbox.jail.probe import probe_machine
from harness.sandbox.jail.readable import Readable, find_readable
from harness.sandbox.leader import Begin, Descriptors, lead
from harness.sandbox.spawning import FOR_PACKAGES, checkout

_DESCRIPTORS = 250  # the kernel passes 253 at once
_HEARTBEAT = 1.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Warm up, say so, serve until the parent is gone."""
    parser = argparse.ArgumentParser(prog="harness.sandbox.zygote")
    parser.add_argument("fd", type=int, help="socket to the parent")
    parser.add_argument("--worker", default="harness.sandbox.worker", help="module with begin()")
    parser.add_argument("--folder", required=True, help="folder for scratch folders")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    parent = socket.socket(fileno=given.fd)
    Zygote(parent, _load(given.worker), given.folder).serve()


def kill_group(pid: int) -> None:
    """Kill a leader and its group."""
    for kill in (os.killpg, os.kill):  # it may not lead its group yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def reap_group(group: int) -> float:
    """Wait for what a leader left behind, all of it killed; say how much time it used."""
    spent = 0.0
    while True:
        try:
            _, _, used = os.wait4(-group, 0)
        except ChildProcessError:
            return spent
        spent += used.ru_utime + used.ru_stime


def children() -> set[int]:
    """The children of this process; none where the kernel does not say."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="utf-8") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return set()


@dataclass(frozen=True, slots=True)
class _Run:
    """A job in flight."""

    job: int
    """Its number."""
    pid: int
    """Its leader."""
    pidfd: int
    """Readable when the leader is dead."""
    scratch: str
    """Its folder."""


class Zygote:
    """The serving loop."""

    def __init__(self, parent: socket.socket, worker: ModuleType, folder: str) -> None:
        self._parent = parent
        self._inbox = parent
        self._parent_pid = os.getppid()
        self._begin: Begin = worker.begin
        self._spare: SpareLeader | None = None
        self._annex: AnnexZygote | None = None
        self._imported: set[str] | None = None
        """Packages, where this is the annex; ``None``: this one imports none."""
        self._folder = folder
        self._runs: dict[int, _Run] = {}
        self._readable: Readable = find_readable()
        self._machine = probe_machine(self._readable, folder)
        self._selector = selectors.DefaultSelector()
        self._selector.register(parent, selectors.EVENT_READ, None)

    def serve(self) -> NoReturn:
        """Fork, reap and kill as told, until the parent is gone."""
        self._tell(ZygoteReady(self._machine.to_json()))
        self._serve()

    def _serve(self) -> NoReturn:
        calls.adopt_orphans()
        while os.getppid() == self._parent_pid:
            for key, _ in self._selector.select(_HEARTBEAT):
                if key.data is not None:
                    self._reap(key.data)
                elif key.fileobj is not self._inbox or not self._listen():
                    self._die()  # also when the annex is gone: the parent starts both anew
        self._die()

    def _listen(self) -> bool:
        raw, fds, _, _ = socket.recv_fds(self._inbox, DATAGRAM, _DESCRIPTORS)
        if not raw:
            return False
        message = Codec.decode(raw)
        match message:
            case StartJob() if message.frameworks and self._imported is None:
                self._send_to_annex(message, fds)
            case StartJob():
                self._start(message, fds)
            case KillRun() if message.job in self._runs:
                kill_group(self._runs[message.job].pid)
            case KillRun() if self._annex is not None:
                self._order(self._annex, message)
        for fd in fds:
            os.close(fd)
        self._keep_spare(message)
        return True

    def _keep_spare(self, last: ZygoteMessage) -> None:
        """For a job like the last, once its descriptors are closed here: the fork would hold them."""
        if isinstance(last, StartJob) and last.job in self._runs and last.world_size == 1:
            self._spare = self._spare or SpareLeader.fork(
                self._plan(last), last.readable, self._begin
            )

    def _send_to_annex(self, message: StartJob, fds: list[int]) -> None:
        if self._annex is None:
            self._annex = AnnexZygote.fork(lambda inbox: self._move_out(inbox, fds))
            self._selector.register(self._annex.pidfd, selectors.EVENT_READ, None)
        self._order(self._annex, message, fds)

    def _order(self, annex: AnnexZygote, message: Forwarded, fds: Sequence[int] = ()) -> None:
        try:
            annex.order(message, fds)
        except OSError:
            self._die()

    def _move_out(self, inbox: socket.socket, fds: list[int]) -> NoReturn:
        """In the fork that is the annex: let go of what the zygote looks after, and serve."""
        for fd in (*fds, *(run.pidfd for run in self._runs.values())):
            os.close(fd)
        if self._spare is not None:
            self._spare.post.close()
        self._selector.close()
        self._runs, self._spare, self._imported = {}, None, set()
        self._parent_pid, self._inbox = os.getppid(), inbox
        self._selector = selectors.DefaultSelector()
        self._selector.register(inbox, selectors.EVENT_READ, None)
        self._serve()

    def _start(self, start: StartJob, fds: list[int]) -> None:
        self._import(start.frameworks)
        given = Descriptors(job=fds[0], ledger=fds[1], ranks=tuple(fds[2:]))
        run = (self._spared if start.world_size == 1 else self._forked)(start, given)
        self._runs[start.job] = run
        self._selector.register(run.pidfd, selectors.EVENT_READ, run)
        self._tell(Started(start.job, run.pid))

    def _import(self, frameworks: Collection[str]) -> None:
        """What a program needs is imported once, before its fork, and stays for those after it."""
        if self._imported is not None and (new := set(frameworks) - self._imported):
            self._discard_spare()
            for name in sorted(new):
                warm_up.import_framework(name)
            warm_up.settle()
            self._imported |= new

    def _spared(self, start: StartJob, given: Descriptors) -> _Run:
        spare = self._spare
        if spare is not None and spare.fits(start) and spare.give(given):
            self._spare = None
            return _Run(start.job, spare.pid, os.pidfd_open(spare.pid), spare.plan.scratch)
        self._discard_spare()
        return self._forked(start, given)

    def _discard_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            kill_group(spare.pid)
            os.waitpid(spare.pid, 0)
            shutil.rmtree(spare.plan.scratch, ignore_errors=True)

    def _forked(self, start: StartJob, given: Descriptors) -> _Run:
        plan = self._plan(start)
        pid = os.fork()
        if pid == 0:
            lead(plan, given, self._begin)
        return _Run(start.job, pid, os.pidfd_open(pid), plan.scratch)

    def _plan(self, start: StartJob) -> JailPlan:
        return JailPlan(
            scratch=tempfile.mkdtemp(dir=self._folder),
            readable=self._readable.with_more(start.readable),
            limits=start.limits,
            ranks=start.world_size > 1,
            loopback=self._machine.on("loopback"),
            policy=JailPolicy(disabled=frozenset(start.disabled)),
        )

    def _reap(self, run: _Run) -> None:
        self._selector.unregister(run.pidfd)
        os.close(run.pidfd)
        kill_group(run.pid)  # before the leader is reaped, while nobody else can have its number
        _, status, used = os.wait4(run.pid, 0)
        spent = used.ru_utime + used.ru_stime + reap_group(run.pid)
        del self._runs[run.job]
        self._sweep()
        shutil.rmtree(run.scratch, ignore_errors=True)
        self._tell(Exited(run.job, status, spent))

    def _sweep(self) -> None:
        """Kill orphans that left their group: children of ours that lead no run."""
        leaders = {run.pid for run in self._runs.values()}
        leaders |= {kept.pid for kept in (self._spare, self._annex) if kept is not None}
        while strays := children() - leaders:
            for pid in strays:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _tell(self, message: ZygoteMessage) -> None:
        try:
            self._parent.send(Codec.encode(message))
        except OSError:
            self._die()

    def _die(self) -> NoReturn:
        for run in self._runs.values():
            kill_group(run.pid)
        self._runs.clear()
        self._spare = self._annex = None
        self._sweep()
        shutil.rmtree(self._folder, ignore_errors=True)
        os._exit(0)


def _load(worker: str) -> ModuleType:
    warm_up.warm_up_torch()
    with uncollected():
        module = importlib.import_module(worker)
    if hasattr(module, "warm_up"):
        module.warm_up()
    if (tree := checkout()) is not None:
        warm_up.forget_path(tree)
    for name in FOR_PACKAGES:
        os.environ.pop(name, None)
    warm_up.settle()
    return module


if __name__ == "__main__":
    main()
