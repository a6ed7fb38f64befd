"""Seccomp: which system calls a candidate may make. Everything not named here is allowed.

Arguments that the kernel reads as ``int`` are compared under a mask of 32 bits, or garbage in the
upper half of the register would slip past the comparison.
"""

import errno
import functools
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_PROCESSES = """fork vfork execve execveat ptrace process_vm_readv process_vm_writev process_madvise
process_mrelease kcmp tkill pidfd_open pidfd_send_signal pidfd_getfd setsid setpgid setpriority
ioprio_set sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages"""
_KERNEL = """unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree
move_mount mount_setattr swapon swapoff quotactl quotactl_fd acct reboot kexec_load kexec_file_load
init_module finit_module delete_module syslog sethostname setdomainname settimeofday clock_settime
clock_adjtime adjtimex personality ioperm iopl modify_ldt vhangup bpf perf_event_open userfaultfd
io_uring_setup io_uring_enter io_uring_register add_key request_key keyctl fanotify_init
inotify_init inotify_init1 name_to_handle_at open_by_handle_at lookup_dcookie mknod mknodat
chown fchown lchown fchownat"""
_SHARED_MEMORY = """memfd_create memfd_secret shmget shmat shmctl msgget msgsnd msgrcv msgctl semget
semop semtimedop semctl mq_open mq_unlink mq_notify"""
_CONNECTIONS = "connect bind listen accept accept4"
_PRETENDED = "chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat flock"
_ATTRIBUTES = """setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr
removexattrat"""

# An old libseccomp lacks these names; from 424 on the numbers are the same on every architecture.
_NUMBERS = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426,
    "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431,
    "fsmount": 432, "fspick": 433, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
    "process_mrelease": 448, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466,
}  # fmt: skip

_CLONE_THREAD = 0x00010000
_INT = 0xFFFFFFFF
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE = 8, 10, 15, 1024
_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCSPGRP = 0x8901, 0x8902, 0x5412, 0x5410
_PR_SET_PDEATHSIG = 1
_SOCKET_TYPE = 0xF


@dataclass(frozen=True, slots=True)
class ArgumentCondition:
    """A comparison of one argument."""

    argument: int
    """Which, from 0."""
    operator: Literal["EQ", "NE", "LT", "GT"]
    """How; EQ looks at the bits of ``mask`` only."""
    value: int
    """With what."""
    mask: int = _INT
    """Which bits count."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One system call that fails."""

    call: str
    """Its name."""
    error: int = errno.EPERM
    """With which error number; 0 pretends success and does nothing."""
    when: tuple[ArgumentCondition, ...] = ()
    """Only when all of these hold."""


class Filter:
    """A compiled filter; building it costs a millisecond, loading it a fraction."""

    def __init__(self, refusals: Iterator[Refusal]) -> None:
        import pyseccomp

        self._filter = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
        self._filter.set_attr(pyseccomp.Attr.CTL_TSYNC, 1)  # gloo's threads are already running
        for refusal in refusals:
            number = _number(refusal.call)
            if number is not None:
                comparisons = [_comparison(condition) for condition in refusal.when]
                self._filter.add_rule(pyseccomp.ERRNO(refusal.error), number, *comparisons)

    def load(self) -> None:
        """Bind every thread of this process to it, for good."""
        self._filter.load()


@functools.cache
def general_filter(*, sockets: bool) -> Filter:
    """Everything that is the same for every process: build it once, before the forks."""
    return Filter(_refusals(sockets=sockets))


def restrict_calls(*, sockets: bool) -> str:
    """Bind this process to the general filter and to one that knows its own process number.

    Raises:
        OSError: the kernel refuses.
        ImportError, RuntimeError: pyseccomp or libseccomp is absent.
    """
    general = general_filter(sockets=sockets)
    Filter(_signals_to_others(os.getpid())).load()
    general.load()
    return "internet sockets inside the own network only" if sockets else "no sockets"


def _refusals(*, sockets: bool) -> Iterator[Refusal]:
    for name in f"{_PROCESSES} {_KERNEL} {_SHARED_MEMORY}".split():
        yield Refusal(name)
    # glibc falls back from clone3, whose flags no filter can see, to clone
    yield Refusal("clone3", errno.ENOSYS)
    yield Refusal("clone", when=(ArgumentCondition(0, "EQ", 0, _CLONE_THREAD),))
    # Landlock does not mind these; saving a checkpoint calls some, so they succeed without effect. A
    # lock on a file that can be read is one on a library of the machine's.
    for name in _PRETENDED.split():
        yield Refusal(name, error=0)
    for name in _ATTRIBUTES.split():
        yield Refusal(name, errno.EOPNOTSUPP)
    for name in ("prlimit64", "sched_setaffinity"):
        yield Refusal(name, when=(ArgumentCondition(0, "NE", 0),))
    yield Refusal("prctl", when=(ArgumentCondition(0, "EQ", _PR_SET_PDEATHSIG),))
    # a descriptor's owner gets a signal of the owner's choice: a kill() by another name
    # and whoever opens a file that somebody has a lease on waits for that one
    for command in (_F_SETOWN, _F_SETSIG, _F_SETOWN_EX, _F_SETLEASE):
        yield Refusal("fcntl", when=(ArgumentCondition(1, "EQ", command),))
    for command in (_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCSPGRP):
        yield Refusal("ioctl", when=(ArgumentCondition(1, "EQ", command),))
    yield from _socket_refusals(sockets=sockets)


def _socket_refusals(*, sockets: bool) -> Iterator[Refusal]:
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):  # could be pointed at a socket file
        yield Refusal("socketpair", when=(ArgumentCondition(1, "EQ", kind, _SOCKET_TYPE),))
    if not sockets:
        for name in f"socket {_CONNECTIONS}".split():
            yield Refusal(name)
        return
    # AF_UNIX stays out: a socket file of the machine is reachable from any network namespace
    allowed = {int(socket.AF_INET), int(socket.AF_INET6), int(socket.AF_NETLINK)}
    yield Refusal("socket", when=(ArgumentCondition(0, "GT", max(allowed)),))
    for family in set(range(max(allowed))) - allowed:
        yield Refusal("socket", when=(ArgumentCondition(0, "EQ", family),))
    routes = ArgumentCondition(0, "EQ", int(socket.AF_NETLINK)), ArgumentCondition(2, "NE", 0)
    yield Refusal("socket", when=routes)


def _signals_to_others(own: int) -> Iterator[Refusal]:
    for name in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
        yield Refusal(name, when=(ArgumentCondition(0, "NE", own),))


def _number(call: str) -> int | None:
    import pyseccomp

    try:
        number = int(pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, call))
    except (OSError, ValueError):
        number = -1
    return _NUMBERS.get(call) if number == -1 else number


def _comparison(condition: ArgumentCondition) -> object:
    import pyseccomp

    if condition.operator == "EQ":
        value = condition.value & condition.mask
        return pyseccomp.Arg(condition.argument, pyseccomp.MASKED_EQ, condition.mask, value)
    operator = getattr(pyseccomp, condition.operator)
    return pyseccomp.Arg(condition.argument, operator, condition.value)
