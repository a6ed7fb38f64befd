"""What the pool and the zygote say to each other: one JSON object a datagram, trusted both ways.

``StartJob`` travels with descriptors: a file that holds the job, then one end of a socket pair for the
leader and for each rank. A program never passes through the zygote's own memory.
"""

import json
from dataclasses import asdict, dataclass
from typing import ClassVar, TypeAlias

from harness.sandbox.frames import JsonObject
from harness.sandbox.jail.report import GuardName
from harness.sandbox.job import JobLimits

DATAGRAM = 1 << 16
"""Longest message."""


@dataclass(frozen=True, slots=True)
class StartJob:
    """Pool: run this job."""

    job: int
    """Number of the run."""
    world_size: int
    """How many ranks."""
    limits: JobLimits
    """How much it may use."""
    disabled: tuple[GuardName, ...]
    """Guards that a test switched off."""
    frameworks: tuple[str, ...] = ()
    """Packages that the program seems to use (``warm_up.FRAMEWORKS``)."""
    readable: tuple[str, ...] = ()
    """Files and folders that it may read beside what every run may."""


@dataclass(frozen=True, slots=True)
class KillRun:
    """Pool: end this run now."""

    job: int
    """Number of the run."""


@dataclass(frozen=True, slots=True)
class ZygoteReady:
    """Zygote: warm, and this is what the machine offers."""

    machine: JsonObject
    """A ``JailReport`` as JSON."""


@dataclass(frozen=True, slots=True)
class Started:
    """Zygote: the leader of a run was forked."""

    job: int
    """Number of the run."""
    pid: int
    """The leader, which also leads the process group."""


@dataclass(frozen=True, slots=True)
class Exited:
    """Zygote: no process of this run is left."""

    job: int
    """Number of the run."""
    status: int
    """Wait status of the leader."""
    cpu_seconds: float
    """Processor time of all its processes."""


Forwarded: TypeAlias = StartJob | KillRun
"""What the zygote may leave to its annex."""

ZygoteMessage: TypeAlias = StartJob | KillRun | ZygoteReady | Started | Exited
"""Anything that travels."""


class Codec:
    """Messages to bytes and back."""

    types: ClassVar[dict[str, type[ZygoteMessage]]] = {
        kind.__name__: kind for kind in (StartJob, KillRun, ZygoteReady, Started, Exited)
    }
    """By name."""

    @staticmethod
    def encode(message: ZygoteMessage) -> bytes:
        """Write a message."""
        return json.dumps([type(message).__name__, asdict(message)]).encode()

    @classmethod
    def decode(cls, raw: bytes) -> ZygoteMessage:
        """Read a message."""
        name, fields = json.loads(raw)
        if cls.types[name] is StartJob:
            fields["limits"] = JobLimits(**fields["limits"])
            fields["readable"] = tuple(fields["readable"])
        return cls.types[name](**fields)
