"""Namespaces of the child's own: no network but a loopback, no shared IPC, a small file system."""

import os
import socket
import struct

from harness.sandbox.jail import calls
from harness.sandbox.job import JobLimits

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_INODES = 16384


def enter_user_namespace() -> str:
    """Gain the right to unshare the rest; root has it already, unless a container took it away."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0 and _may_unshare():
        return "not needed, root may unshare"
    calls.unshare(calls.CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")
    return "own, with this user alone"


def enter_network_namespace() -> str:
    """Leave every network interface of the machine behind."""
    calls.unshare(calls.CLONE_NEWNET)
    return "own, empty"


def enter_ipc_namespace() -> str:
    """Leave System V IPC and POSIX message queues of the machine behind."""
    calls.unshare(calls.CLONE_NEWIPC)
    return "own, empty"


def raise_loopback() -> str:
    """Bring ``lo`` up, so that ranks reach each other."""
    import fcntl  # absent where the sandbox must still be importable, to say that it cannot run

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        (flags,) = struct.unpack_from("16xH", fcntl.ioctl(control, _SIOCGIFFLAGS, request))
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
    return "up"


def mount_scratch(folder: str, limits: JobLimits) -> str:
    """Put a file system of limited size on ``folder``, for this process and its ranks only."""
    size = limits.scratch_bytes
    calls.unshare(calls.CLONE_NEWNS)
    calls.make_mounts_private()
    calls.mount_tmpfs(folder, f"size={size},nr_inodes={_INODES},mode=0700")
    return f"{size >> 20} MiB in memory, {_INODES} files"


def _may_unshare() -> bool:
    try:
        calls.unshare(calls.CLONE_NEWUTS)
    except PermissionError:
        return False
    return True


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
