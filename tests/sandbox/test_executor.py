import pytest

from harness.domain.recording import JoinedTensors, Recording
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.sandbox.executor import _last_line, limits_of, recording_of
from harness.sandbox.frames import Frame
from harness.sandbox.raw_recording import RawRank, RawRecording


def test_a_program_may_take_twenty_times_as_long_as_the_reference():
    """Wall clock, with processor time to match."""
    limits = limits_of(Probe(name="slow", lifts="", reference_seconds=2.0))
    assert limits.wall_seconds == 40.0
    assert limits.cpu_seconds == 80


def test_a_program_has_ten_seconds_whatever_the_reference_takes():
    """A quick reference is no reason to hurry anybody."""
    for probe in (Probe(name="a", lifts=""), Probe(name="b", lifts="", reference_seconds=0.1)):
        assert limits_of(probe).wall_seconds == 10.0


def timed_out(batches: int, cpu: float) -> Recording:
    """A program that has the machine for itself, and is killed after ten seconds."""
    handed = {"epoch": 0, "index": 0, "loader": "train"}
    frames = tuple(
        Frame(seq=n, kind="batch", data=handed, tensors=JoinedTensors((), b""))
        for n in range(batches)
    )
    rank = RawRank(
        rank=0,
        frames=frames,
        complete=False,
        flaw="",
        exit_code=None,
        signal=9,
        jail=None,
        fault="",
    )
    found = RawRecording(
        ranks=(rank,),
        wall_seconds=10.0,
        cpu_seconds=cpu,
        wall_limit_seconds=10.0,
        cpu_limit_seconds=20.0,
        timed_out=True,
    )
    return recording_of("usual", found, WorkloadSpec(name="mlp", parameters={"batches": 8}))


@pytest.mark.parametrize(
    ("batches", "cpu", "ours", "said"),
    [
        (5000, 5.0, False, "still running after 10 s and 5000 batches"),
        (0, 9.9, False, "still running after 10 s and 0 batches"),
        (10, 5.0, True, "while it had the processor for 5 s"),
        (10, 0.1, False, "still waiting after 10 s"),
    ],
)
def test_only_a_program_that_had_no_chance_is_a_fault_of_ours(batches, cpu, ours, said):
    """One that trained on more than it was given, for ever, was called a fault of the harness."""
    found = timed_out(batches, cpu)

    assert found.ours == ours
    assert said in found.problem


START = {"torch_version": "2"}


@pytest.mark.parametrize("error", ["OSError: [Errno 28] No space left on device", "MemoryError"])
def test_a_program_that_has_begun_causes_no_fault_of_the_harness(error):
    """It can raise whatever a machine without room does, wherever it is asked for a number."""
    rank = RawRank(
        rank=0, frames=(Frame(seq=0, kind="start", data=START, tensors=JoinedTensors((), b"")),),
        complete=False, flaw="", exit_code=1, signal=None, jail=None, fault=f"Traceback\n{error}",
    )  # fmt: skip
    found = RawRecording(
        ranks=(rank,), wall_seconds=1.0, cpu_seconds=1.0, wall_limit_seconds=10.0,
        cpu_limit_seconds=20.0, timed_out=False,
    )  # fmt: skip

    recording = recording_of("usual", found, WorkloadSpec(name="mlp", parameters={"batches": 8}))
    assert not recording.ours
    assert error in recording.problem


def test_of_an_error_of_several_lines_the_one_is_told_that_names_it():
    """A page of documentation was told, and nothing of what could not be recorded."""
    said = (
        "Traceback\n  File 'x'\nValidationError: 1 error for Finished\nmessage\n  not text\n    See"
    )

    assert _last_line(said) == "ValidationError: 1 error for Finished"
