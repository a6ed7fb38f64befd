"""The jail in which candidates run: what a program inside can no longer do.

Covered (each with an attack in ``tests/adversarial`` that succeeds once its guard is switched off):

- files: only the interpreter's library, the own folders of allowed distributions and a few device,
  proc and sys files can be read, and what a program names of the folder in which its file lies;
  only the scratch folder can be written (landlock)
- descriptors that were open before: closed (descriptors)
- the network: internet sockets only inside a network namespace of the job's own, which reaches
  nobody; no sockets at all where there is none; never socket files (network-namespace, seccomp)
- starting processes, by fork, clone or exec, and so outliving the run (seccomp)
- signals to others, by kill, by the owner of a descriptor or by ptrace, and leaving the process
  group (seccomp)
- mode bits and times of files that it owns, which Landlock does not mind, and locks on files that it
  can read: pretended (seccomp)
- leases on files that it can read, for which others would wait (seccomp)
- memory, processor time, length of a file, number of descriptors, core dumps (rlimits)
- all files together (scratch-quota)
- shared memory and queues of the machine (ipc-namespace, seccomp)
- privileges: none held, none to be gained (capabilities, no-new-privileges)
- unsaying what was sent: the channel is a socket, which nobody can read back

NOT covered:

- forging. Recorder and candidate share a process: a candidate that finds the channel can send
  frames of its own. Frames keep their numbers and the record its count; whatever can be recomputed
  is recomputed outside, and where ranks have a loopback of their own the leader counts its bytes;
  counts of other events cannot be checked (``docs/cheats.md`` lists what that leaves)
- native code, through ctypes or a corrupted tensor, that calls into the recorder or rewrites memory
- names, sizes and times of files, which ``stat`` shows to anybody who guesses a path
- what a read file says about the machine: ``/proc/cpuinfo``, ``/proc/meminfo``, library versions
- faults of the kernel, and timing or cache channels
- the sum over ranks: every rank has the memory and processor time for itself
- the sum of threads, beyond the address space that their stacks take
- read locks (``fcntl``) on files that can be read, which hold off nobody who reads
- where the scratch folder cannot be a file system of its own: the sum of all files
- without a network namespace: ranks meet before the lock and can open no connection after it, so
  a group made by the program itself fails there
- processes of other ranks of the same job: they may talk as they like

Each guard that a machine does not offer is named in the :class:`JailReport`, with the reason.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass

from harness.sandbox.jail import namespaces, resources
from harness.sandbox.jail.landlock_rules import restrict_files
from harness.sandbox.jail.readable import Readable
from harness.sandbox.jail.report import Guard, GuardName, JailPolicy, JailReport, put_up
from harness.sandbox.jail.seccomp_rules import restrict_calls
from harness.sandbox.job import JobLimits

__all__ = [
    "Guard", "GuardName", "JailPlan", "JailPolicy", "JailReport", "confine", "enter", "isolate",
    "seal",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JailPlan:
    """What one job is allowed."""

    scratch: str
    """An existing, empty folder: the only place that can be written."""
    readable: Readable
    """What else can be read."""
    limits: JobLimits
    """How much it may use."""
    ranks: bool
    """Whether several ranks will talk over the loopback."""
    loopback: bool = True
    """Whether a network namespace with a loopback can be had here; found out once, beforehand."""
    policy: JailPolicy
    """Switches for tests."""


def enter(plan: JailPlan, keep: Collection[int]) -> JailReport:
    """Go through all three phases at once, where nothing has to happen between them."""
    guards = isolate(plan, keep) + confine(plan)
    return JailReport((*guards, seal(plan, guards)))


def isolate(plan: JailPlan, keep: Collection[int]) -> tuple[Guard, ...]:
    """Phase 1, once for each job: what its ranks then share.

    ``keep`` are the descriptors that stay open.
    """
    policy, limits = plan.policy, plan.limits
    return (
        put_up("session", policy, _own_session),
        put_up("descriptors", policy, lambda: resources.close_descriptors(keep)),
        put_up("rlimits", policy, lambda: resources.limit_resources(limits)),
        put_up("user-namespace", policy, namespaces.enter_user_namespace),
        *_networks(plan),
        put_up("ipc-namespace", policy, namespaces.enter_ipc_namespace),
        put_up("scratch-quota", policy, lambda: namespaces.mount_scratch(plan.scratch, limits)),
    )


def confine(plan: JailPlan) -> tuple[Guard, ...]:
    """Phase 2, in every rank: privileges and files. Threads that start later inherit it."""
    policy = plan.policy
    return (
        put_up("capabilities", policy, resources.drop_capabilities),
        put_up("no-new-privileges", policy, resources.gain_no_privileges),
        put_up("landlock", policy, lambda: restrict_files(plan.readable, plan.scratch)),
    )


def seal(plan: JailPlan, guards: tuple[Guard, ...]) -> Guard:
    """Phase 3, in every rank, after the rendezvous: system calls, of every thread there is."""
    sockets = JailReport(guards).on("network-namespace")  # gloo wants them, for one rank too
    return put_up("seccomp", plan.policy, lambda: restrict_calls(sockets=sockets))


def _own_session() -> str:
    os.setsid()
    return "own session and process group"


def _networks(plan: JailPlan) -> tuple[Guard, ...]:
    if plan.ranks and not plan.loopback:
        why = "not available: an own network would have no loopback here"
        return (Guard("network-namespace", on=False, detail=why),)
    network = put_up("network-namespace", plan.policy, namespaces.enter_network_namespace)
    if not network.on:
        return (network,)
    return network, put_up("loopback", plan.policy, namespaces.raise_loopback)
