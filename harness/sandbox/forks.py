"""Forks that the zygote keeps: one for the next job, and one that imports large packages."""

import os
import signal
import socket
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from harness.sandbox.control import Codec, Forwarded, StartJob
from harness.sandbox.jail import JailPlan, calls
from harness.sandbox.leader import Begin, Descriptors, stand_by


@dataclass(frozen=True, slots=True)
class SpareLeader:
    """A leader of one rank that waits inside the jail, before its job is known.

    Forking a process as large as a warm torch and putting up the jail take a third of the time of a
    small run, and the next job is mostly like the last one.
    """

    pid: int
    """Its process."""
    post: socket.socket
    """Where it waits for its job."""
    plan: JailPlan
    """What its job may do."""
    readable: tuple[str, ...]
    """What it may read beside what every job may."""

    @classmethod
    def fork(cls, plan: JailPlan, readable: tuple[str, ...], begin: Begin) -> "SpareLeader":
        """Make one; ``plan.scratch`` is its own from now on."""
        post, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            stand_by(plan, theirs.fileno(), begin)
        theirs.close()
        return cls(pid, post, plan, readable)

    def fits(self, start: StartJob) -> bool:
        """Whether this job may have it."""
        alike = self.plan.limits == start.limits and self.readable == start.readable
        return alike and self.plan.policy.disabled == frozenset(start.disabled)

    def give(self, given: Descriptors) -> bool:
        """Hand the job over; ``False`` when nobody is there to take it."""
        with self.post:
            try:
                socket.send_fds(self.post, [b"."], [given.job, given.ranks[0]])
            except OSError:
                return False
        return True


@dataclass(frozen=True, slots=True)
class AnnexZygote:
    """A zygote behind the zygote, for programs that need large packages.

    Every page that a package brings makes every later fork slower, and its import lets all others
    wait. In a process of its own it does neither to programs that need no package.
    """

    pid: int
    """Its process, which tells the parent itself what becomes of its runs."""
    pidfd: int
    """Readable when it is dead."""
    post: socket.socket
    """Where it takes its orders."""

    @classmethod
    def fork(cls, serve: Callable[[socket.socket], NoReturn]) -> "AnnexZygote":
        """Make one that serves until its socket closes; it dies with the zygote."""
        post, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        zygote, pid = os.getpid(), os.fork()
        if pid == 0:
            try:
                post.close()
                calls.die_with_parent(signal.SIGKILL)
                if os.getppid() == zygote:
                    serve(theirs)
            except BaseException:  # noqa: BLE001 - ours; the zygote notices the death and ends as well
                traceback.print_exc()
            finally:
                os._exit(1)
        theirs.close()
        return cls(pid, os.pidfd_open(pid), post)

    def order(self, message: Forwarded, fds: Sequence[int] = ()) -> None:
        """Hand a message of the parent on, with its descriptors. Raises ``OSError``: it is gone."""
        socket.send_fds(self.post, [Codec.encode(message)], list(fds))
