"""One run of one job: hand over the descriptors, drain the channels, end it in time."""

import contextlib
import functools
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.sandbox.control import Exited
from harness.sandbox.deadline import Deadline, ProcessorUse
from harness.sandbox.frames import ChannelLimits, Frame, FrameReader
from harness.sandbox.jail.report import JailPolicy, JailReport
from harness.sandbox.job import Job, JobLimits
from harness.sandbox.launcher import RunHandle, ZygoteGone, ZygoteHandle
from harness.sandbox.raw_recording import RawRank, RawRecording
from harness.sandbox.warm_up import frameworks_of

_CHUNK = 1 << 18
_LEDGER_BYTES = 1 << 20
_GRACE = 60.0  # for the zygote to reap what was killed: it may be importing, on a busy machine


@dataclass(slots=True)
class _Stream:
    """The parent's end of one channel."""

    socket: socket.socket
    """Where bytes arrive."""
    reader: FrameReader
    """What makes frames of them."""
    frames: list[Frame] = field(default_factory=list)
    """What arrived."""

    def drain(self) -> bool:
        """Take what is there; ``False`` once nothing more will come."""
        try:
            chunk = self.socket.recv(_CHUNK)
        except ConnectionError:
            chunk = b""
        self.frames += self.reader.feed(chunk)
        return bool(chunk) and self.reader.corrupt is None


def run_once(zygote: ZygoteHandle, job: Job, limits: JobLimits, policy: JailPolicy) -> RawRecording:
    """Run a job once and bring back everything that came out of it.

    Raises:
        ZygoteGone: the zygote died meanwhile.
    """
    with contextlib.ExitStack() as stack:
        streams, run = _hand_over(stack, zygote, job, limits, policy)
        leader = run.await_start()
        deadline = Deadline(limits.wall_seconds, functools.partial(ProcessorUse.of, leader))
        in_time = _drain(streams, deadline.left)
        flaws = [stream.reader.finish() for stream in streams]
        exited, late = None, not in_time
        # A record that is closed leaves nothing to wait for: taking apart a process takes longer.
        if any(flaws[-job.world_size :]):
            exited, late = _await_end(zygote, run, streams, deadline, late=late)
    wall = deadline.elapsed
    ranks = _ranks(streams, exited)
    return RawRecording(
        ranks=ranks,
        wall_seconds=wall,
        queued_seconds=deadline.queued,
        cpu_seconds=exited.cpu_seconds if exited is not None else None,
        wall_limit_seconds=limits.wall_seconds,
        cpu_limit_seconds=limits.cpu_seconds,
        timed_out=late or any(rank.signal == signal.SIGXCPU for rank in ranks),
        traffic_bytes=_traffic(streams[0].frames),
    )


def _hand_over(
    stack: contextlib.ExitStack,
    zygote: ZygoteHandle,
    job: Job,
    limits: JobLimits,
    policy: JailPolicy,
) -> tuple[list[_Stream], RunHandle]:
    with contextlib.ExitStack() as theirs:
        file = os.memfd_create("job")
        theirs.callback(os.close, file)
        with open(file, "wb", closefd=False) as writer:
            writer.write(job.to_bytes())
        streams, fds = [], [file]
        for size in (_LEDGER_BYTES, *[limits.output_bytes] * job.world_size):
            mine, child = socket.socketpair()
            stack.enter_context(mine)
            fds.append(theirs.enter_context(child).fileno())
            frame = min(size, ChannelLimits().frame_bytes)
            reader = FrameReader(ChannelLimits(total_bytes=size, frame_bytes=frame))
            streams.append(_Stream(mine, reader))
        needed = (*frameworks_of(job.program), *job.packages)
        return streams, zygote.start(limits, policy.disabled, fds, needed, job.readable)


def _drain(streams: list[_Stream], left: Callable[[], float]) -> bool:
    """Read until every channel is closed or one is corrupt; ``False`` when no time is left first."""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
        while selector.get_map():
            ready = selector.select(left())
            if not ready and left() <= 0:
                return False
            for key, _ in ready:
                if not key.data.drain():
                    selector.unregister(key.fileobj)
                    if key.data.reader.corrupt is not None:
                        return True
    return True


def _await_end(
    zygote: ZygoteHandle, run: RunHandle, streams: list[_Stream], deadline: Deadline, *, late: bool
) -> tuple[Exited, bool]:
    """How the leader ended, and whether the clock ended it."""
    corrupt = any(stream.reader.corrupt for stream in streams)
    exited = None if corrupt else run.wait(deadline.left())
    while exited is None and not corrupt and (left := deadline.left()) > 0:
        exited = run.wait(left)
    late = late or (exited is None and not corrupt)
    return exited or _end(zygote, run, streams), late


def _end(zygote: ZygoteHandle, run: RunHandle, streams: list[_Stream]) -> Exited:
    run.kill()
    exited = run.wait(_GRACE)
    if exited is None:
        zygote.kill()
        raise ZygoteGone
    grace = time.monotonic() + _GRACE
    whole = [stream for stream in streams if not stream.reader.corrupt]
    _drain(whole, lambda: grace - time.monotonic())
    return exited


def _ranks(streams: list[_Stream], exited: Exited | None) -> tuple[RawRank, ...]:
    ledger, *channels = streams
    alone = {0: exited.status} if exited is not None else {}
    statuses = alone if len(channels) == 1 else _statuses(ledger.frames)
    return tuple(_rank(rank, stream, statuses.get(rank)) for rank, stream in enumerate(channels))


def _statuses(ledger: list[Frame]) -> dict[int, int]:
    found: dict[int, int] = {}
    for frame in ledger:
        match frame.data:
            case {"rank": int(rank), "status": int(status)}:
                found[rank] = status
    return found


def _traffic(ledger: list[Frame]) -> int | None:
    found = [f.data.get("bytes") for f in ledger if f.kind == "traffic"]
    return next((n for n in found if isinstance(n, int)), None)


def _rank(rank: int, stream: _Stream, status: int | None) -> RawRank:
    flaw = stream.reader.finish()
    code = None if status is None else os.waitstatus_to_exitcode(status)
    return RawRank(
        rank=rank,
        frames=tuple(frame for frame in stream.frames if frame.kind not in ("jail", "fault")),
        complete=not flaw,
        flaw=flaw,
        exit_code=code if code is not None and code >= 0 else None,
        signal=-code if code is not None and code < 0 else None,
        jail=_jail(stream.frames),
        fault=_fault(stream.frames),
    )


def _jail(frames: list[Frame]) -> JailReport | None:
    if not frames or frames[0].kind != "jail":
        return None
    with contextlib.suppress(ValueError):
        return JailReport.from_json(frames[0].data)
    return None


def _fault(frames: list[Frame]) -> str:
    return next((str(frame.data.get("text")) for frame in frames if frame.kind == "fault"), "")
