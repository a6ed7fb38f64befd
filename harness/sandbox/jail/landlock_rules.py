"""Landlock: which files exist for a candidate. Names and sizes stay visible through ``stat``."""

import ctypes
import functools
import os
from dataclasses import dataclass

from harness.sandbox.jail.readable import Readable
from harness.sandbox.jail.report import CAN_BE_CUT

_TRUNCATION_ABI = 3


def restrict_files(readable: Readable, scratch: str) -> str:
    """Allow reading ``readable`` and everything but devices and exec in ``scratch``; nothing else.

    Raises:
        OSError: the kernel refuses Landlock or has none.
        ImportError: the library is absent.
    """
    from landlock import Ruleset

    rights = find_rights()
    ctypes.set_errno(0)  # the library takes a leftover error number for a failure of its own call
    rules = Ruleset(rights.handled)
    rules.allow(*readable.folders, "/proc/self", rules=rights.list_and_read)
    rules.allow(*readable.files, rules=rights.read)
    rules.allow(os.devnull, rules=rights.read_and_write)
    rules.allow(scratch, rules=rights.scratch)
    rules.apply()
    os.close(rules._fd)
    gap = "" if rights.abi >= _TRUNCATION_ABI else CAN_BE_CUT
    return f"ABI {rights.abi}, {len(readable.folders) + len(readable.files)} readable paths{gap}"


@dataclass(frozen=True, slots=True)
class AccessRights:
    """Sets of access rights, as bits."""

    abi: int
    """Version of Landlock in this kernel."""
    handled: int
    """Everything that this kernel can restrict."""
    read: int
    """For a file."""
    list_and_read: int
    """For a folder."""
    read_and_write: int
    """For a file."""
    scratch: int
    """For a folder: everything but devices and exec."""


@functools.cache
def find_rights() -> AccessRights:
    """Ask the kernel; call it before the forks, since the library is slow at its first use."""
    from landlock import FSAccess, landlock_abi_version

    read, everything = FSAccess.READ_FILE, FSAccess.all()
    return AccessRights(
        abi=landlock_abi_version(),
        handled=int(everything),
        read=int(read),
        list_and_read=int(read | FSAccess.READ_DIR),
        read_and_write=int(read | FSAccess.WRITE_FILE),
        scratch=int(everything & ~(FSAccess.MAKE_CHAR | FSAccess.MAKE_BLOCK | FSAccess.EXECUTE)),
    )
