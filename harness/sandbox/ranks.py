"""How ranks come together before the candidate runs, and how they part after it."""

import contextlib
import datetime as dt
import os
import random
import select
import sys
import tempfile
from dataclasses import dataclass

_HOMES = ("HOME", "TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
          "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TORCH_HOME")  # fmt: skip
_MEETING = dt.timedelta(seconds=60)


@dataclass(slots=True)
class Barrier:
    """Pipes on which ranks wait for each other, before the program runs and after it.

    A candidate can find them. All it gains is that its ranks do not wait for each other.
    """

    arrivals: int
    """Read end, for the leader."""
    arrive: int
    """Write end, for ranks."""
    released: int
    """Read end, for ranks."""
    hold: int
    """Write end, for the leader; closed means released."""
    met: int
    """Read end, for ranks: at its end once every rank has closed the other one."""
    meeting: int
    """Write end, for ranks."""

    @classmethod
    def open(cls) -> "Barrier":
        """Make the pipes, before the ranks are forked."""
        return cls(*os.pipe(), *os.pipe(), *os.pipe())

    def keep_rank_ends(self) -> None:
        """Close the leader's ends, in a rank."""
        os.close(self.arrivals)
        os.close(self.hold)

    def keep_leader_ends(self) -> None:
        """Close the ranks' ends, in the leader."""
        for end in (self.arrive, self.released, self.met, self.meeting):
            os.close(end)

    def meet(self) -> None:
        """Wait, in a rank, until every other one is here or gone.

        A program that ends at once in one rank would otherwise break a connection that another rank
        is still making, and that would look like a fault of ours.
        """
        os.close(self.meeting)
        select.select([self.met], [], [], _MEETING.total_seconds())
        os.close(self.met)

    def release(self) -> None:
        """Let the ranks go."""
        if self.hold >= 0:
            os.close(self.hold)
            self.hold = -1


def furnish(scratch: str, rank: int, size: int) -> None:
    """Give a rank its folder and the variables that a launcher would set."""
    os.chdir(scratch)
    os.environ.update(dict.fromkeys(_HOMES, scratch))
    os.environ.update(USER="user", LOGNAME="user", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), GROUP_RANK="0", NODE_RANK="0")
    os.environ.update(WORLD_SIZE=str(size), LOCAL_WORLD_SIZE=str(size))
    sys.argv[:] = ["program.py"]
    tempfile.tempdir = None  # the zygote's answer is remembered otherwise


def sow(seed: int) -> None:
    """Seed every generator that a program may draw from."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - candidates use the global generator
    torch.default_generator.manual_seed(seed)  # torch.manual_seed looks for devices: 3 ms


def rendezvous(scratch: str, rank: int, size: int) -> None:
    """Connect all ranks, before the lock: without an own network nobody can connect after it."""
    import torch.distributed as dist

    store = dist.FileStore(os.path.join(scratch, ".rendezvous"), size)  # type: ignore[attr-defined]  # torch exports it unsaid
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=_MEETING)


def loopback_bytes() -> int:
    """What this network namespace's loopback has carried; 0 where that cannot be read."""
    with contextlib.suppress(OSError), open("/proc/self/net/dev", encoding="ascii") as table:
        for row in table:
            name, _, counters = row.partition(":")
            if name.strip() == "lo":
                return int(counters.split()[0])
    return 0


def leave_together(barrier: Barrier, seconds: float) -> None:
    """Wait until every rank is done: one that leaves with data unread resets its connections.

    Not for longer than ``seconds``: a rank that waits for one that is done should learn that it is
    gone. Nothing is torn down, since gloo can hang there.
    """
    with contextlib.suppress(OSError):  # the candidate closed it: then nobody waits
        os.write(barrier.arrive, b".")
        select.select([barrier.released], [], [], seconds)
