"""What is handed to the sandbox: a program, what it runs on, and how much it may use."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to run once, on one rank or several."""

    program: str
    """Source code, as extracted from an answer."""
    payload_json: str = "{}"
    """For the worker: workload, probe, options. The transport does not look inside."""
    world_size: int = 1
    """How many ranks; more than one start with a gloo process group between them."""
    packages: tuple[str, ...] = ()
    """Packages that are needed whatever the program names (``warm_up.FRAMEWORKS``)."""
    readable: tuple[str, ...] = ()
    """Files and folders that it may read beside what every job may."""
    seed: int = 0
    """Every rank seeds ``random``, numpy and torch with it."""

    def to_bytes(self) -> bytes:
        """Write the job for :meth:`from_bytes`."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Job":
        """Read a job; the sender is our own parent, so a malformed one is a fault of ours."""
        return cls(**json.loads(raw))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """How much one run may use. Each rank has the memory, time and files for itself."""

    wall_seconds: float = 10.0
    """From the fork to the exit, without what it waited for a processor (``deadline.py``); then the
    whole group is killed.
    """
    cpu_seconds: int = 20
    """Processor time of one process (RLIMIT_CPU)."""
    memory_bytes: int = 2 << 30
    """Data that a process may allocate beyond the warm process (RLIMIT_DATA, RLIMIT_AS)."""
    file_bytes: int = 64 << 20
    """Longest file (RLIMIT_FSIZE)."""
    scratch_bytes: int = 128 << 20
    """All files together, where the scratch folder can be a file system of its own."""
    open_files: int = 256
    """Descriptors (RLIMIT_NOFILE)."""
    output_bytes: int = 512 << 20
    """What one rank may send over its channel."""
    teardown_seconds: float = 2.0
    """How long a rank that is done waits for the others before it leaves."""
