"""What the zygote's child does: enter the jail, become the rank or fork the ranks, and leave.

For one rank the leader is the rank, and may enter the jail before there is a job for it. For several
it forks them inside its own namespaces, never runs candidate code itself, and tells the parent how
each of them ended, over a channel that no rank has.
"""

import os
import selectors
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from harness.sandbox.channel import Channel
from harness.sandbox.jail import Guard, JailPlan, JailReport, calls, confine, isolate, seal
from harness.sandbox.job import Job
from harness.sandbox.ranks import Barrier, furnish, leave_together, loopback_bytes, rendezvous, sow

Work = Callable[[Job, int, int], None]
"""Runs one job: job, rank, number of ranks."""

Begin = Callable[[Channel], Work]
"""The entry of a worker: what can be done before the job is known, for whoever takes the job."""

FAULT = 70
"""Exit code of a rank in which our own code failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptors:
    """What a run was given, in the order in which it travels."""

    job: int
    """A file that holds the job."""
    ledger: int
    """The leader's channel."""
    ranks: tuple[int, ...]
    """The channel of each rank."""


def lead(plan: JailPlan, given: Descriptors, begin: Begin) -> NoReturn:
    """Run one job to its end. Call it in a fresh fork; it never returns."""
    try:
        _lead(plan, given, begin)
    except BaseException:  # noqa: BLE001 - our own failure, which the parent must hear of
        Channel(given.ranks[0]).send("fault", {"text": traceback.format_exc()})
    finally:
        os._exit(FAULT)  # whatever happened, a fork must not fall back into the zygote's loop


def stand_by(plan: JailPlan, post: int, begin: Begin) -> NoReturn:
    """Do what needs no job, then wait for one of a single rank to come over the socket ``post``.

    Call it in a fresh fork; it never returns. What fails before the job is there ends the process
    without a word: nobody listens yet, and a fork made for the job will fail the same way and say so.
    """
    try:
        _stand_by(plan, post, begin)
    finally:
        os._exit(FAULT)


def _stand_by(plan: JailPlan, post: int, begin: Begin) -> NoReturn:
    parent = os.getppid()
    guards = isolate(plan, keep=(post,))
    _die_with(parent)
    _run_rank(plan, guards, _Seat(0, (post,), None), begin, lambda: _take_job(post))


def _take_job(post: int) -> Job:
    """Wait for a job, with the channel that it reports over: that takes the place of the post."""
    with socket.socket(fileno=os.dup(post)) as end:
        said, fds, _, _ = socket.recv_fds(end, 1, 2)
    if not said:  # nobody needs this fork any more
        os._exit(0)
    job, channel = fds
    os.dup2(channel, post)
    os.close(channel)
    return Job.from_bytes(_read_all(job))


def _lead(plan: JailPlan, given: Descriptors, begin: Begin) -> NoReturn:
    parent = os.getppid()
    job = Job.from_bytes(_read_all(given.job))
    guards = isolate(plan, keep=(given.ledger, *given.ranks))
    _die_with(parent)
    if len(given.ranks) > 1:
        _lead_ranks(plan, guards, job, given, begin)
    os.close(given.ledger)
    _run_rank(plan, guards, _Seat(0, given.ranks, None), begin, lambda: job)


@dataclass(frozen=True, slots=True)
class _Seat:
    """The place of one rank."""

    rank: int
    """Number of the rank."""
    channels: tuple[int, ...]
    """The channels of all ranks, of which it keeps its own."""
    barrier: Barrier | None
    """Where ranks wait for each other at the end."""


def _run_rank(
    plan: JailPlan, guards: tuple[Guard, ...], seat: _Seat, begin: Begin, take: Callable[[], Job]
) -> NoReturn:
    channel, size = Channel(seat.channels[seat.rank]), len(seat.channels)
    try:
        furnish(plan.scratch, seat.rank, size)
        guards += confine(plan)
        if seat.barrier is not None:
            rendezvous(plan.scratch, seat.rank, size)
            seat.barrier.meet()
        work, job = begin(channel), take()
        sow(job.seed)
        guards += (seal(plan, guards),)
        channel.send("jail", JailReport(guards).to_json())
        work(job, seat.rank, size)
        channel.close()
    except BaseException:  # noqa: BLE001 - work() catches what candidates raise: this is ours
        channel.send("fault", {"text": traceback.format_exc()})
        os._exit(FAULT)
    if seat.barrier is not None:
        leave_together(seat.barrier, plan.limits.teardown_seconds)
    os._exit(0)


def _lead_ranks(
    plan: JailPlan, guards: tuple[Guard, ...], job: Job, given: Descriptors, begin: Begin
) -> NoReturn:
    leader, barrier = os.getpid(), Barrier.open()
    pids: dict[int, int] = {}
    for rank in range(len(given.ranks)):
        pid = os.fork()
        if pid == 0:
            _die_with(leader)
            barrier.keep_rank_ends()
            for other in {given.ledger, *given.ranks} - {given.ranks[rank]}:
                os.close(other)
            _run_rank(plan, guards, _Seat(rank, given.ranks, barrier), begin, lambda: job)
        pids[pid] = rank
    barrier.keep_leader_ends()
    for channel in given.ranks:
        os.close(channel)
    ledger = Channel(given.ledger)
    _watch(pids, barrier, ledger)
    if JailReport(guards).on("network-namespace"):  # a loopback of their own: no rank can lower it
        ledger.send("traffic", {"bytes": loopback_bytes()})
    ledger.close()
    os._exit(0)


def _watch(pids: dict[int, int], barrier: Barrier, ledger: Channel) -> None:
    """Report every exit; open the barrier once every rank has arrived or is gone."""
    with selectors.DefaultSelector() as selector:
        for pid in pids:
            selector.register(os.pidfd_open(pid), selectors.EVENT_READ, pid)
        selector.register(barrier.arrivals, selectors.EVENT_READ, None)
        waiting, left = 0, len(pids)
        while left:
            for key, _ in selector.select():
                if key.data is None:
                    arrived = len(os.read(barrier.arrivals, 4096))
                    waiting += arrived
                    if not arrived:  # every rank has closed its end
                        selector.unregister(barrier.arrivals)
                else:
                    selector.unregister(key.fileobj)
                    _, status = os.waitpid(key.data, 0)
                    ledger.send("rank_exit", {"rank": pids[key.data], "status": status})
                    left -= 1
            if waiting >= left:
                barrier.release()


def _die_with(parent: int) -> None:
    calls.die_with_parent(signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(FAULT)


def _read_all(fd: int) -> bytes:
    with open(fd, "rb") as file:
        file.seek(0)
        return file.read()
