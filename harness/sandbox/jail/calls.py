"""System calls that the standard library of Python 3.11 does not have."""

import ctypes
import functools
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 2, 4, 1 << 14, 1 << 18


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> None:
    if result != 0:
        error = ctypes.get_errno()
        ctypes.set_errno(0)  # landlock reads a leftover error number as a failure of its own
        raise OSError(error, f"{call}: {os.strerror(error)}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _check(_libc().unshare(ctypes.c_int(flags)), "unshare")


def _prctl(option: int, value: int = 0) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero), "prctl")


def die_with_parent(signal: int) -> None:
    """Ask for ``signal`` when the parent dies. It may be dead already: look after this call."""
    _prctl(_PR_SET_PDEATHSIG, signal)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent died."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def gain_no_privileges() -> None:
    """Make exec unable to grant what this process lacks; Landlock and seccomp ask for it."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_bounding_capability(number: int) -> None:
    """Take one capability out of the bounding set."""
    _prctl(_PR_CAPBSET_DROP, number)


def clear_ambient_capabilities() -> None:
    """Empty the ambient set."""
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)


def clear_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets of this thread."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc().capset(header, (ctypes.c_uint32 * 6)()), "capset")


def make_mounts_private() -> None:
    """Keep later mounts of this mount namespace to itself."""
    flags = ctypes.c_ulong(_MS_REC | _MS_PRIVATE)
    _check(_libc().mount(None, b"/", None, flags, None), "mount")


def mount_tmpfs(folder: str, options: str) -> None:
    """Mount an empty file system in memory on ``folder``."""
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    done = _libc().mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options.encode())
    _check(done, "mount")
