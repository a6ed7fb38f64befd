"""A fork that is made before its job is known, so that a job does not wait for one.

Forking a process as large as a warm torch and putting up the jail take a third of the time of a
small run. The next job is mostly like the last one, so the zygote keeps one fork for it.
"""

import os
import socket
from dataclasses import dataclass

from harness.sandbox.control import StartJob
from harness.sandbox.jail import JailPlan
from harness.sandbox.leader import Begin, Descriptors, stand_by


@dataclass(frozen=True, slots=True)
class Spare:
    """A leader of one rank that waits inside the jail."""

    pid: int
    """Its process."""
    post: socket.socket
    """Where it waits for its job."""
    plan: JailPlan
    """What its job may do."""

    @classmethod
    def fork(cls, plan: JailPlan, begin: Begin) -> "Spare":
        """Make one; ``plan.scratch`` is its own from now on."""
        post, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            stand_by(plan, theirs.fileno(), begin)
        theirs.close()
        return cls(pid, post, plan)

    def fits(self, start: StartJob) -> bool:
        """Whether this job may have it."""
        alike = self.plan.limits == start.limits
        return alike and self.plan.policy.disabled == frozenset(start.disabled)

    def give(self, given: Descriptors) -> bool:
        """Hand the job over; ``False`` when nobody is there to take it."""
        with self.post:
            try:
                socket.send_fds(self.post, [b"."], [given.job, given.ranks[0]])
            except OSError:
                return False
        return True
