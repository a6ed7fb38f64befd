"""The runner keeps many stories going, in order, and survives faults and Ctrl-C."""

import errno
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.domain.candidate import Candidate
from harness.domain.errors import CannotExecuteHere
from harness.domain.instruments import Instruments
from harness.domain.outcome import BankOutcome
from harness.domain.progress import Progress
from harness.domain.scenario import Bank, Probe
from harness.domain.workload import WorkloadSpec
from harness.runner import Settings, run_bank
from harness.scenarios import load_bank
from harness.workbench import probes_under_way
from tests.fakes.bank import FakeBank
from tests.fakes.executor import (
    Before,
    FakeExecutor,
    InterruptedExecutor,
    LateExecutor,
    nothing,
)
from tests.fakes.oracle import opens
from tests.fakes.patience import PATIENCE


def three(tmp_path: Path) -> Bank:
    bank = FakeBank(tmp_path)
    for name in ("alpha", "beta", "gamma"):
        bank.add(name)
    return load_bank(bank.folder)


def run(bank: Bank, before: Before = nothing, jobs: int = 2) -> BankOutcome:
    return run_bank(bank, Settings(jobs=jobs), opens(FakeExecutor(before)))


def test_both_programs_of_every_scenario_are_graded_in_the_banks_order(tmp_path):
    """Executions end in any order; the run lists scenarios as the bank does."""
    outcome = run(three(tmp_path))

    assert [r.scenario for r in outcome.run.results] == ["alpha", "beta", "gamma"]
    assert [r.buggy.failed for r in outcome.run.results] == [("finite-loss",)] * 3
    assert [r.reference.code for r in outcome.run.results] == ["right"] * 3
    assert [r.surprises for r in outcome.run.results] == [()] * 3
    assert outcome.exit_code == 0


def test_a_program_that_the_clock_ends_before_any_update_is_not_run_again_and_again(tmp_path):
    """Powers and comprehensions without end were run in each probe, for minutes."""
    more = "".join(f"  - name: p{i}\n    lifts: nothing\n" for i in range(20))
    bank = FakeBank(tmp_path).add().edit("toy-loss/scenario.yaml", "probes:\n", f"probes:\n{more}")
    executor = LateExecutor()

    outcome = run_bank(load_bank(bank.folder), Settings(jobs=1), opens(executor))

    assert set(Counter(executor.programs).values()) == {2}
    assert [r.reference.code for r in outcome.run.results] == ["inconclusive"]
    assert outcome.exit_code != 3


def test_every_probe_of_every_answer_is_executed_with_its_own_workload(tmp_path):
    """A probe's overrides reach the executor, and the seed of the run is added."""
    seen: list[tuple[str, float, int]] = []

    def note(_candidate: Candidate, workload: WorkloadSpec, probe: Probe) -> None:
        seen.append((probe.name, workload.parameters.model_dump()["init_gain"], workload.seed))

    bank = load_bank(FakeBank(tmp_path).add().folder)
    run_bank(bank, Settings(jobs=1, seed=7), opens(FakeExecutor(note)))

    assert sorted(seen) == [("loud", 100.0, 7)] * 2 + [("quiet", 1.0, 7)] * 2


def test_as_many_executions_run_at_once_as_there_are_jobs(tmp_path):
    """Two jobs meet at a barrier for two; with one job it would break."""
    barrier = threading.Barrier(2, timeout=PATIENCE)

    outcome = run(three(tmp_path), lambda *_: meet(barrier), jobs=2)

    assert outcome.faults == ()


def test_a_reference_that_is_wrong_is_a_surprise_and_exit_code_1(tmp_path):
    """The run is finished and says which property the fix fails."""
    bank = FakeBank(tmp_path).add(reference="loss = float('nan')\n")

    outcome = run(load_bank(bank.folder))

    assert "the reference is wrong: finite-loss" in outcome.run.results[0].surprises[0]
    assert outcome.exit_code == 1


def test_a_fault_of_ours_in_one_scenario_leaves_the_others_to_finish(tmp_path):
    """The fault is named with its traceback, counts against no program, and ends in exit code 3."""

    def fail_on_beta(candidate: Candidate, _workload: WorkloadSpec, _probe: Probe) -> None:
        if "beta" in candidate.program:
            raise ZeroDivisionError("in the jail")

    fake = FakeBank(tmp_path)
    for name in ("alpha", "beta", "gamma"):
        fake.add(name, reference=f"loss = 1.0  # {name}\n")
    outcome = run(load_bank(fake.folder), fail_on_beta)

    (fault,) = outcome.faults
    assert (fault.scenario, fault.agent) == ("beta", "reference")
    assert fault.sentence == "ZeroDivisionError: in the jail"
    assert "fail_on_beta" in fault.trace
    assert [r.scenario for r in outcome.run.results] == ["alpha", "gamma"]
    assert outcome.exit_code == 3


def test_an_execution_that_the_machine_ended_is_a_fault_and_not_a_failure(tmp_path):
    """The grade stays inconclusive, and the exit code says that it was ours."""
    bank = FakeBank(tmp_path).add(reference="loss = 1.0  # our fault\n")

    outcome = run(load_bank(bank.folder))

    assert outcome.run.results[0].reference.code == "inconclusive"
    assert {f.sentence for f in outcome.faults} == {
        "probe quiet did not complete: the machine gave up",
        "probe loud did not complete: the machine gave up",
    }
    assert outcome.exit_code == 3


def test_a_machine_that_cannot_execute_ends_the_run_with_its_sentence(tmp_path):
    """It is the user's to repair, and no scenario could do better."""

    def refuse(*_: object) -> None:
        raise CannotExecuteHere("candidates run on Linux only")

    executor = FakeExecutor(refuse)
    with pytest.raises(CannotExecuteHere, match="Linux only"):
        run_bank(three(tmp_path), Settings(jobs=2), opens(executor))

    assert executor.closed


def test_a_full_disk_ends_the_run_as_what_it_is_and_is_no_fault_of_one_answer(tmp_path):
    """Every answer after it would meet the same."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run(three(tmp_path), full)


def test_ctrl_c_keeps_what_was_finished(tmp_path):
    """In the last of twelve executions: two scenarios are whole, the third is left out."""
    executor = InterruptedExecutor(at=12)

    outcome = run_bank(three(tmp_path), Settings(jobs=1), opens(executor))

    assert outcome.interrupted
    assert outcome.exit_code == 130
    assert outcome.faults == ()
    assert len(outcome.run.results) == 2


def test_ctrl_c_closes_the_instruments_and_starts_nothing_more(tmp_path):
    """Calls under way end because the executor is closed; what waits never runs."""
    executor = InterruptedExecutor(at=1)

    outcome = run_bank(three(tmp_path), Settings(jobs=1), opens(executor))

    assert outcome.interrupted
    assert executor.executions <= probes_under_way(jobs=1) < 12
    assert outcome.run.results == ()


def test_ctrl_c_while_the_instruments_warm_up_is_an_interrupted_run(tmp_path):
    """Nothing was executed, nothing is reported as broken."""

    @contextmanager
    def interrupted(_jobs: int) -> Iterator[Instruments]:
        raise KeyboardInterrupt
        yield

    outcome = run_bank(three(tmp_path), Settings(jobs=1), interrupted)

    assert outcome.exit_code == 130
    assert outcome.run.results == ()


def test_progress_counts_every_answer_and_names_what_runs(tmp_path):
    """The last report says that all are done and none runs."""
    told: list[Progress] = []

    run_bank(three(tmp_path), Settings(jobs=2, watch=told.append), opens(FakeExecutor()))

    assert told[-1] == Progress(done=6, total=6, running=())
    assert {name for progress in told for name in progress.running} == {"alpha", "beta", "gamma"}
    assert [p.done for p in told] == sorted(p.done for p in told)


def test_notes_on_the_machine_and_the_banks_digest_are_part_of_the_run(tmp_path):
    """A run can be repeated and compared only when it says what it ran on."""
    bank = three(tmp_path)

    found = run_bank(bank, Settings(jobs=1), opens(FakeExecutor(), "seccomp: absent")).run

    assert found.machine_notes == ("seccomp: absent",)
    assert found.bank_digest == bank.digest


def meet(barrier: threading.Barrier) -> None:
    barrier.wait()
