"""The processes of a run: ended and waited for, whatever the run made of them."""

import contextlib
import os
import signal


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
