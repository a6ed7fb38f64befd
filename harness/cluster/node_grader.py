"""What runs on a node: the jail, the oracle and the judge, warm. Ray is not imported here."""

import socket
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

from pydantic import TypeAdapter

from harness.cluster.bank_code import BankCode, load
from harness.cluster.sameness import HarnessBuild, digest_of
from harness.collecting import collect_seldom
from harness.domain.candidate import Candidate
from harness.domain.errors import HarnessFault, UserError
from harness.domain.proposal import AnswerToJudge, Proposal
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe, Scenario
from harness.domain.trace import ProbeTrace
from harness.domain.workload import WorkloadSpec
from harness.instruments import jail_and_oracle
from harness.proposing import proposal_of
from harness.trial import Probing
from harness.workbench import probes_under_way

_PROPOSAL = TypeAdapter(Proposal)


@dataclass(frozen=True, slots=True)
class NodeWelcome:
    """What a node says when it is asked to grade."""

    host: str
    """Its name."""
    build: HarnessBuild
    """What it would grade with."""
    refusal: str | None = None
    """Why it takes no programs; ``None`` where it does."""
    notes: tuple[str, ...] = ()
    """What its jail lacks, one sentence each."""


@dataclass(frozen=True, slots=True)
class ShippedScenario:
    """A scenario as it travels."""

    digest: str
    """Of its bytes."""
    data: bytes
    """JSON; the patterns by which its rubric is read stay with the driver, which reads it."""

    def scenario(self) -> Scenario:
        """What was sent.

        Raises:
            HarnessFault: something else arrived.
        """
        if digest_of(self.data) != self.digest:
            raise HarnessFault("a scenario that arrived here is not the one that was sent")
        return Scenario.model_validate_json(self.data)


class NodeGrader:
    """Holds what a warm local grader holds. Called from as many threads as it has room for answers."""

    def __init__(self, cores: int) -> None:
        """``cores``: executions at the same time. Nothing is started yet."""
        collect_seldom()
        self._cores = cores
        self._open = ExitStack()
        self._threads = ThreadPoolExecutor(probes_under_way(cores), "probe")
        self._known: dict[str, Scenario] = {}

    def open(self, asker: HarnessBuild, code: tuple[BankCode, ...]) -> NodeWelcome:
        """Warm up, or say why no program is taken here. ``asker``: what the driver grades with.
        ``code``: what its banks bring.
        """
        host, refusal = socket.gethostname(), None
        try:
            load(code, self._open)
            here = HarnessBuild.here()
            refusal = asker.refusal_of(here)
            if refusal is None:
                self._tools = self._open.enter_context(jail_and_oracle(self._cores))
        except (UserError, HarnessFault) as error:
            here, refusal = HarnessBuild.here(), str(error).strip().rpartition("\n")[2]
        notes = self._tools.machine_notes if refusal is None else ()
        return NodeWelcome(host, here, refusal, notes)

    def propose(self, asked: AnswerToJudge, scenario: ShippedScenario) -> bytes:
        """Judge an answer; the proposal as JSON, packed.

        Raises:
            HarnessFault: a fault of the harness.
            CannotExecuteHere: this node cannot run programs any more.
        """
        if scenario.digest not in self._known:  # several threads may find that at once
            self._known[scenario.digest] = scenario.scenario()
        probing = Probing(self._tools, self._threads, asked.seed)
        return packed(proposal_of(asked, self._known[scenario.digest], probing))

    def execute(self, candidate: Candidate, workload: str, probe: Probe) -> Recording:
        """Execute once; raises as the jail does. ``workload``: JSON, as a bank may bring its class."""
        spec = WorkloadSpec.model_validate_json(workload)
        return self._tools.executor.execute(candidate, spec, probe)

    def measure(
        self, recording: Recording, workload: str, probe: Probe, expectations: Expectations
    ) -> ProbeTrace:
        """Measure once; raises as the oracle does."""
        spec = WorkloadSpec.model_validate_json(workload)
        return self._tools.meter.measure(recording, spec, probe, expectations)


def shipped(scenario: Scenario) -> ShippedScenario:
    """A scenario, ready to travel."""
    data = scenario.model_dump_json().encode()
    return ShippedScenario(digest_of(data), data)


def packed(proposal: Proposal) -> bytes:
    """JSON, which is read in a third of the time of a pickle; a sixth of it with its traces packed."""
    return zlib.compress(_PROPOSAL.dump_json(proposal), 1)


def proposal_from(data: bytes) -> Proposal:
    """What :func:`packed` made."""
    return _PROPOSAL.validate_json(zlib.decompress(data))
