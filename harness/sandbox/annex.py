"""A fork of the zygote that imports large packages for the programs that name them.

Every page that a package brings makes every later fork slower, and its import lets all others wait.
In a process of its own it does neither to programs that need no package.
"""

import os
import signal
import socket
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from harness.sandbox.control import Codec, Forwarded
from harness.sandbox.jail import calls

Serve = Callable[[socket.socket], NoReturn]
"""What the fork does: take messages from this socket until it closes."""


@dataclass(frozen=True, slots=True)
class Annex:
    """The zygote's handle on it."""

    pid: int
    """Its process, which tells the parent itself what becomes of its runs."""
    pidfd: int
    """Readable when it is dead."""
    post: socket.socket
    """Where it takes its orders."""

    @classmethod
    def fork(cls, serve: Serve) -> "Annex":
        """Make one; it dies with the zygote, and its forks with it."""
        post, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        zygote, pid = os.getpid(), os.fork()
        if pid == 0:
            _begin(serve, post, theirs, zygote)
        theirs.close()
        return cls(pid, os.pidfd_open(pid), post)

    def order(self, message: Forwarded, fds: Sequence[int] = ()) -> None:
        """Hand a message of the parent on, with its descriptors.

        Raises:
            OSError: it is gone.
        """
        socket.send_fds(self.post, [Codec.encode(message)], list(fds))


def _begin(serve: Serve, post: socket.socket, theirs: socket.socket, zygote: int) -> NoReturn:
    try:
        post.close()
        calls.die_with_parent(signal.SIGKILL)
        if os.getppid() == zygote:
            serve(theirs)
    except BaseException:  # noqa: BLE001 - ours; the zygote notices the death and ends as well
        traceback.print_exc()
    finally:
        os._exit(1)
