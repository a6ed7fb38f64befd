"""What ``ulimit`` allows, where that may be why a process of ours was lost.

A process that runs into such a limit is killed, or fails in a library that does not say why. Then the
limit is told, which its user can raise, and not a fault of ours.
"""

from harness.domain.errors import CannotExecuteHere, HarnessError, HarnessFault

TORCH = 1000
"""MiB of address space that a process with torch takes."""

ENOUGH_MEMORY = 4096
"""MiB of address space beyond which no process of ours comes."""

ENOUGH_SECONDS = 60
"""Processor time that a start and a program, or a start and a measurement, hardly need."""


def lost(sentence: str) -> HarnessError:
    """What to raise when a process of ours was lost: a limit's sentence, or this one as our fault."""
    limit = too_little_memory() or too_little_time()
    return HarnessFault(sentence) if limit is None else CannotExecuteHere(limit)


def too_little_memory() -> str | None:
    """The limit that is low enough to end a process of ours, as a sentence, or ``None``."""
    import resource  # absent where the sandbox must still be importable, to say that it cannot run

    for option, which in (("v", resource.RLIMIT_AS), ("d", resource.RLIMIT_DATA)):
        soft, _ = resource.getrlimit(which)
        if soft != resource.RLIM_INFINITY and soft >> 20 < ENOUGH_MEMORY:
            return (
                f"this process may use too little memory: ulimit -{option} allows it {soft >> 20} MiB, "
                f"torch alone needs about {TORCH}"
            )
    return None


def too_little_time() -> str | None:
    """The same for processor time."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_CPU)
    if soft != resource.RLIM_INFINITY and soft < ENOUGH_SECONDS:
        return f"a process may use too little processor time: ulimit -t allows it {soft} s"
    return None
