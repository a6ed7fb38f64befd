"""The warm graders of a cluster: a call goes to whoever has room, and to another if that one is lost."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from harness.cluster.bank_code import code_to_send
from harness.cluster.node_grader import NodeGrader, NodeWelcome, proposal_from, shipped
from harness.cluster.nodes import ClusterNode, memory_of, nodes_of, pinned
from harness.cluster.sameness import HarnessBuild
from harness.domain.candidate import Candidate
from harness.domain.errors import CannotExecuteHere, HarnessFault
from harness.domain.proposal import AnswerToJudge, Proposal
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe, Scenario
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.workbench import probes_under_way

TRIES = 3
"""Graders that one call is given: two may be lost by chance."""

LOOK = 1.0
"""Seconds between two looks at which nodes there are."""

PATIENCE = 120.0
"""Seconds that is waited for a grader where there is none."""


@dataclass(eq=False, slots=True)
class _ClusterGrader:
    """One grader."""

    actor: Any
    node: ClusterNode
    share: int
    """Which of the shares of its node."""
    cores: int
    """Programs that it runs at the same time."""
    room: int
    """Calls that it takes more."""
    is_up: bool = False


class Graders:
    """Executes, measures and judges on the nodes of a cluster. Thread-safe; a context manager.

    A thread of its own looks for nodes without their graders, so that one that joins takes part and
    one that died is made up for where that is possible.
    """

    def __init__(self, ray: Any, most: int | None, say: Callable[[str], None]) -> None:
        """``most``: cores that are used; ``None`` for all. ``say``: takes a sentence about a node."""
        self._ray = ray
        self._most = most if most is not None else sys.maxsize
        self._say = say
        self._build = HarnessBuild.here()
        self._code = code_to_send()
        self._members: list[_ClusterGrader] = []
        self._refused: dict[str, str] = {}
        self._lost: Counter[str] = Counter()
        self._shipped: dict[int, tuple[Scenario, Any]] = {}
        self._notes: dict[str, None] = {}
        self._closed = threading.Event()
        self._changed = threading.Condition()
        self._watch = threading.Thread(target=self._look_after, name="graders", daemon=True)

    # ------------------------------------------------------------------------------ what it is for

    def propose(self, asked: AnswerToJudge, scenario: Scenario) -> Proposal:
        """Judge an answer on some node. Each scenario travels to a node once."""
        return proposal_from(self._call("propose", asked, self._sent(scenario)))

    def execute(self, candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> Recording:
        """Execute once on some node."""
        found: Recording = self._call("execute", candidate, workload.model_dump_json(), probe)
        return found

    def measure(
        self, recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """Measure once on some node."""
        spec = workload.model_dump_json()
        found: ProbeTrace = self._call("measure", recording, spec, probe, expectations)
        return found

    def wait_for_one(self) -> tuple[str, ...]:
        """Until a program can be run somewhere; what the jails lack, one sentence each.

        Raises:
            CannotExecuteHere: there is no such node.
        """
        member = self._take()
        self._give_back(member)
        with self._changed:
            return tuple(self._notes)

    def close(self) -> None:
        """End all graders; calls that are under way fail."""
        with self._changed:
            self._closed.set()
            members, self._members = self._members, []
            self._changed.notify_all()
        for member in members:
            self._end(member)
        if self._watch.is_alive():
            self._watch.join()

    def __enter__(self) -> Self:
        """Begin to warm up."""
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    # -------------------------------------------------------------------------------- the one call

    def _call(self, method: str, *given: object) -> Any:
        """What a grader answers; of the third one that is lost under it, why."""
        lost = ""
        for _ in range(TRIES):
            member = self._take()
            try:
                return self._ray.get(getattr(member.actor, method).remote(*given))
            except self._ray.exceptions.RayTaskError as error:  # it answered that it cannot
                if not isinstance(error.cause, CannotExecuteHere):
                    raise error.cause from error
                lost = str(error.cause)
                self._refuse(member, lost)
            except self._ray.exceptions.RayError as error:
                lost = f"{type(error).__name__}: {_first_line(error)}"
                self._lose(member)
            finally:
                self._give_back(member)
        raise HarnessFault(f"{TRIES} graders were lost one after the other; the last: {lost}")

    def _sent(self, scenario: Scenario) -> Any:
        """Where a scenario lies in the cluster."""
        with self._changed:
            known = self._shipped.get(id(scenario))
            if known is None:  # it is kept, so that nothing else gets its id
                known = self._shipped[id(scenario)] = scenario, self._ray.put(shipped(scenario))
            return known[1]

    def _take(self) -> _ClusterGrader:
        """The grader that has the most room, once one has any."""
        end = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                if self._closed.is_set():
                    raise HarnessFault("The cluster's graders are closed.")
                up = [member for member in self._members if member.is_up]
                if up:
                    end = time.monotonic() + PATIENCE
                elif time.monotonic() > end or self._nobody_comes():
                    raise CannotExecuteHere(self._why_nobody())
                best = max(up, key=lambda member: member.room, default=None)
                if best is not None and best.room > 0:
                    best.room -= 1
                    return best
                self._changed.wait(LOOK)

    def _give_back(self, member: _ClusterGrader) -> None:
        with self._changed:
            member.room += 1
            self._changed.notify()

    def _nobody_comes(self) -> bool:
        """Whether every node has said that it takes no programs."""
        return bool(self._refused) and not self._members and not self._lacking()

    def _why_nobody(self) -> str:
        reasons = "; ".join(self._refused.values())
        least = memory_of(1) // (1 << 20)
        return reasons or (
            f"no node of the cluster began to grade within {PATIENCE:.0f} s; expected one with free "
            f"cores and {least} MiB of memory for the first of them (harness doctor --engine)"
        )

    # ------------------------------------------------------------------------------- who is there

    def _look_after(self) -> None:
        """Start what is missing, and welcome who is warm, until the end."""
        asked: dict[Any, _ClusterGrader] = {}
        while not self._closed.is_set():
            try:
                for node, share, cores in self._lacking():
                    member = self._start(node, share, cores)
                    asked[member.actor.open.remote(self._build, self._code)] = member
                if asked:
                    ready, _ = self._ray.wait([*asked], timeout=LOOK)
                    for answer in ready:
                        self._welcome(asked.pop(answer), answer)
                else:
                    self._closed.wait(LOOK)
            except Exception as error:  # noqa: BLE001 - the connection is gone; whoever waits is told
                with self._changed:
                    self._refused["connection"] = f"the cluster is gone: {_first_line(error)}"
                    self._changed.notify_all()
                return

    def _lacking(self) -> list[tuple[ClusterNode, int, int]]:
        """Nodes that lack a grader, which of theirs it is, and for how many cores."""
        with self._changed:
            taken = Counter((member.node.id, member.share) for member in self._members)
            left = self._most - sum(member.cores for member in self._members)
            refused = {*self._refused}
        found = []
        for node in nodes_of(self._ray):
            for share, cores in enumerate(node.shares):
                if left > 0 and node.id not in refused and not taken[node.id, share]:
                    found.append((node, share, min(cores, left)))
                    left -= cores
        return found

    def _start(self, node: ClusterNode, share: int, cores: int) -> _ClusterGrader:
        room = probes_under_way(cores)
        actor = self._ray.remote(NodeGrader).options(
            num_cpus=cores,
            memory=memory_of(cores),
            max_concurrency=room + 1,
            scheduling_strategy=pinned(self._ray, node),
        )
        member = _ClusterGrader(actor.remote(cores), node, share, cores, room)
        with self._changed:
            self._members.append(member)
        return member

    def _welcome(self, member: _ClusterGrader, answer: Any) -> None:
        try:
            welcome: NodeWelcome = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            self._refuse(member, _first_line(error.cause))
        except self._ray.exceptions.RayError:
            self._lose(member)
        else:
            if welcome.refusal is not None:
                self._refuse(member, welcome.refusal)
                return
            with self._changed:
                member.is_up = True
                self._lost.pop(member.node.id, None)
                self._notes |= dict.fromkeys(welcome.notes)
                self._changed.notify_all()

    def _refuse(self, member: _ClusterGrader, why: str) -> None:
        """Ask nothing more of its node."""
        sentence = f"node {member.node.host} takes no programs: {why}"
        with self._changed:
            is_new = member.node.id not in self._refused
            self._refused[member.node.id] = sentence
        if is_new:
            self._say(sentence)
        self._drop(member)

    def _lose(self, member: _ClusterGrader) -> None:
        """It is gone. A node whose graders end before they are warm is asked no more."""
        was_up = member.is_up
        if not self._drop(member):
            return
        node = member.node
        if was_up:
            self._say(f"a grader on node {node.host} was lost; others do its work")
        with self._changed:
            self._lost[node.id] += not was_up
            often = self._lost[node.id] >= TRIES
        if often and any(node.id == other.id for other in nodes_of(self._ray)):
            self._refuse(member, f"its graders ended {TRIES} times before they were warm")

    def _drop(self, member: _ClusterGrader) -> bool:
        """Whether it was one of ours until now."""
        with self._changed:
            known = member in self._members
            if known:
                self._members.remove(member)
            member.is_up = False
            self._changed.notify_all()
        if known:
            self._end(member)
        return known

    def _end(self, member: _ClusterGrader) -> None:
        self._ray.kill(member.actor)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
