"""Programs that try to be graded right without being right score nothing, and spoil nothing."""

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.domain.candidate import Candidate
from harness.domain.grade import Code, code_of
from harness.domain.recording import Recording
from harness.domain.scenario import NamedProgram, Probe, Scenario
from harness.domain.trace import Trace
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.properties import judge
from harness.sandbox.executor import JailedExecutor
from harness.sandbox.jail.report import JailPolicy
from tests.bank import BANK
from tests.quality.guards import GUARDS, Reading, switched_off
from tests.quality.judging import SCENARIOS, Court
from tests.sampling import sampled

PAGE = Path(__file__).parents[2] / "docs" / "cheats.md"

CHEATS = {
    f"{scenario.id}/{cheat.name}": (scenario, cheat)
    for scenario in SCENARIOS.values()
    for cheat in scenario.cheats
}

ROW = re.compile(r"^\| `(?P<cheat>[\w/-]+)` \|.*\| (?P<guards>[\w ,]+) \|$", re.MULTILINE)
REFUSED_BY = {
    row["cheat"]: tuple(row["guards"].split(", ")) for row in ROW.finditer(PAGE.read_text())
}
"""The matrix of ``docs/cheats.md``: which guards refuse a cheat, each of them by itself."""

Run = tuple[Recording, WorkloadSpec, Probe]


@dataclass
class Station:
    """Runs every cheat once and judges it as often as asked."""

    executor: JailedExecutor
    known: dict[str, list[Run]] = field(default_factory=dict)

    def grade(self, name: str, read: Reading = code_of) -> Code:
        """The grade of a cheat, under the guards that are up."""
        scenario, cheat = CHEATS[name]
        if name not in self.known:
            self.known[name] = self.run(scenario, cheat)
        measured = (measure(r, w, p, scenario.expectations) for r, w, p in self.known[name])
        return read(judge(Trace(probes=tuple(measured)), scenario))

    def run(self, scenario: Scenario, cheat: NamedProgram) -> list[Run]:
        """Every probe of it."""
        candidate = Candidate(program=cheat.program, origin="test")
        places = [(scenario.workload_of(probe), probe) for probe in scenario.probes]
        return [(self.executor.execute(candidate, w, probe), w, probe) for w, probe in places]


@pytest.fixture(scope="module")
def station(court: Court) -> Station:
    """In the jail in which everything else of this folder runs."""
    return Station(court.executor)


@pytest.mark.parametrize("name", sampled(reversed(CHEATS), 8))
def test_a_cheat_scores_nothing(station: Station, name: str) -> None:
    """With all guards up it is wrong, or proves nothing."""
    assert station.grade(name) in ("wrong", "inconclusive")


@pytest.mark.parametrize(
    ("name", "guard"),
    sampled((n, g) for n in CHEATS for g in REFUSED_BY.get(n, ()) if g in GUARDS),
)
def test_without_its_guard_a_cheat_is_right(station: Station, name: str, guard: str) -> None:
    """Each guard of the matrix is what stands between this cheat and success."""
    with switched_off(guard) as without:
        assert station.grade(name, without.read) == "right"


@pytest.mark.full
def test_where_the_bank_can_be_read_what_hangs_on_the_machine_is_not_told() -> None:
    """With Landlock off the reference is found and run. That it clips then hangs on files of the
    machine, which keeps it from being right.
    """
    with JailedExecutor(parallel=1, policy=JailPolicy(disabled=frozenset({"landlock"}))) as open_:
        verdict = Station(open_).grade("paper-without-clipping/reads-the-reference")
    assert verdict == "inconclusive"


@pytest.mark.full
@pytest.mark.parametrize("scenario", sampled((s.id for s in SCENARIOS.values() if s.cheats), 2))
def test_a_run_after_cheats_is_as_if_there_had_been_none(
    court: Court, station: Station, scenario: str
) -> None:
    """The fix gets the same verdicts, to the last digit, from the jail that the cheats ran in."""
    asked = SCENARIOS[scenario]
    before = court.judged(asked, asked.reference)
    for name in (f"{scenario}/{cheat.name}" for cheat in asked.cheats):
        station.grade(name)
    after = court.judge_anew(asked, asked.reference)

    assert (before.code, after.code) == ("right", "right")
    assert after.verdicts == before.verdicts


def test_every_cheat_has_its_row_in_the_matrix() -> None:
    """The page names all cheats, no others, and a known guard for each."""
    whole = BANK.scenarios
    assert REFUSED_BY.keys() == {f"{s.id}/{cheat.name}" for s in whole for cheat in s.cheats}
    assert all(set(guards) <= {*GUARDS, "landlock"} for guards in REFUSED_BY.values())


@pytest.mark.parametrize("scenario", BANK.scenarios, ids=lambda s: s.id)
def test_every_scenario_has_cheats(scenario: Scenario) -> None:
    """One alone could be refused for a reason of its own."""
    assert len({cheat.program for cheat in scenario.cheats}) >= 2
