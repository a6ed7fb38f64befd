"""What several scenarios try on the same workload runs once."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.quality.asked import AskedProgram, mixed
from harness.quality.repeats import Repeats
from tests.fakes.executor import FakeExecutor

ORDINARY = WorkloadSpec.model_validate({"name": "mlp", "parameters": {}})
LONGER = WorkloadSpec.model_validate({"name": "mlp", "parameters": {"batches": 9}})


def probe(name: str, seconds: float | None = None) -> Probe:
    return Probe(name=name, lifts="Nothing.", reference_seconds=seconds)


@pytest.fixture
def runs() -> list[str]:
    return []


@pytest.fixture
def executor(runs: list[str]) -> FakeExecutor:
    return FakeExecutor(lambda candidate, *_: runs.append(candidate.program))


def execute(repeats: Repeats, program: str, workload: WorkloadSpec = ORDINARY, **kinds: float):
    return repeats.execute(Candidate(program=program, origin="x"), workload, probe("p", **kinds))


def test_a_program_that_was_run_is_not_run_again(executor, runs):
    repeats = Repeats(executor)
    assert execute(repeats, "a").ranks == execute(repeats, "a").ranks
    assert runs == ["a"]


def test_each_recording_has_the_name_of_its_own_probe(executor):
    repeats = Repeats(executor)
    candidate = Candidate(program="a", origin="x")
    found = [repeats.execute(candidate, ORDINARY, probe(name)).probe for name in ("one", "other")]
    assert found == ["one", "other"]


def test_another_workload_or_another_limit_is_another_run(executor, runs):
    repeats = Repeats(executor)
    execute(repeats, "a")
    execute(repeats, "a", LONGER)
    execute(repeats, "a", seconds=3.0)
    assert len(runs) == 3


def test_what_the_machine_spoilt_runs_anew(executor, runs):
    repeats = Repeats(executor)
    assert execute(repeats, "our fault").ours
    execute(repeats, "our fault")
    assert len(runs) == 2


def test_what_failed_is_told_and_runs_anew():
    asked: list[str] = []

    def fails_first(candidate: Candidate, *_: object) -> None:
        asked.append(candidate.program)
        if len(asked) == 1:
            raise OSError("no memory")

    repeats = Repeats(FakeExecutor(fails_first))
    with pytest.raises(OSError, match="no memory"):
        execute(repeats, "a")
    assert execute(repeats, "a").problem is None


def test_only_the_newest_recordings_are_kept(executor, runs):
    repeats = Repeats(executor, room=2)
    for program in ("a", "b", "c", "c", "b", "a"):
        execute(repeats, program)
    assert runs == ["a", "b", "c", "a"]


def test_one_program_of_several_scenarios_comes_together_and_the_others_are_mixed():
    asked = [
        AskedProgram(scenario, program, lambda: None)
        for scenario, programs in (("one", "abcd"), ("other", "xbyz"), ("third", "uvwc"))
        for program in programs
    ]
    found = "".join(one.program for one in mixed(asked))
    assert "bb" in found
    assert "cc" in found
    assert [one.scenario for one in mixed(asked)] != sorted(one.scenario for one in asked)
