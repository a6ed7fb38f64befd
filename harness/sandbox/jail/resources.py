"""What one process may use up, and which descriptors and privileges it keeps."""

import contextlib
import os
from collections.abc import Collection

from harness.sandbox.jail import calls
from harness.sandbox.job import JobLimits

_THREAD_RESERVE = 1 << 30  # stacks and malloc arenas reserve address space that they never touch


def close_descriptors(keep: Collection[int]) -> str:
    """Close every descriptor but ``keep``; what is open already is not subject to Landlock."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    kept = {0, 1, 2, *keep}
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
                os.close(int(name))
    return f"{len(keep)} kept"


def limit_resources(limits: JobLimits) -> str:
    """Set the limits of this process, counted from what the warm process already holds.

    RLIMIT_NPROC is left alone: it is void for root and counts all processes of an ordinary user.
    Threads are bounded by the address space that their stacks take.
    """
    import resource  # absent where the sandbox must still be importable, to say it cannot run

    size, data = _memory_in_use()
    wanted = {
        resource.RLIMIT_AS: size + limits.memory_bytes + _THREAD_RESERVE,
        resource.RLIMIT_DATA: data + limits.memory_bytes,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for which, amount in wanted.items():
        _lower(which, amount, amount)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 2)
    return f"{limits.memory_bytes >> 20} MiB, {limits.cpu_seconds} s of processor time"


def drop_capabilities() -> str:
    """Empty all five capability sets.

    Raises:
        OSError: something is left.
    """
    with open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as file:
        last = int(file.read())
    with contextlib.suppress(PermissionError):  # who has no CAP_SETPCAP has nothing to drop either
        for number in range(last + 1):
            calls.drop_bounding_capability(number)
    calls.clear_ambient_capabilities()
    calls.clear_capabilities()
    left = _held_capabilities()
    if left:
        raise OSError(f"capabilities {left:#x} are still held")
    return "none held"


def gain_no_privileges() -> str:
    """Make exec unable to grant anything."""
    calls.gain_no_privileges()
    return "set"


def _lower(which: int, soft: int, hard: int) -> None:
    import resource

    _, ceiling = resource.getrlimit(which)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(which, (soft, hard))


def _memory_in_use() -> tuple[int, int]:
    with open("/proc/self/status", encoding="utf-8") as file:
        lines = dict(line.split(":", 1) for line in file)
    return tuple(int(lines[key].split()[0]) << 10 for key in ("VmSize", "VmData"))  # type: ignore[return-value]  # two keys, two numbers


def _held_capabilities() -> int:
    with open("/proc/self/status", encoding="utf-8") as file:
        rows = dict(line.split(":", 1) for line in file)
    return int(rows["CapEff"], 16) | int(rows["CapPrm"], 16) | int(rows["CapInh"], 16)
