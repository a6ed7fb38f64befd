"""The pool: whatever a program does, a recording comes back and no process stays."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.domain.errors import HarnessFault
from harness.sandbox.pool import Job, JobLimits, RawRecording, Sandbox
from tests.fakes.patience import PATIENCE
from tests.fakes.runs import children, eventually, facts, is_gone

ROOT = Path(__file__).parents[2]
BUSY = "while True: pass"
FOREVER = "wait()"


def test_a_program_runs_and_its_record_is_closed(sandbox):
    """The plain case: facts in order, a closed record, a jail report, nothing wrong."""
    run = sandbox.execute(Job(program="report(a=1); report(b=2)"))
    (rank,) = run.ranks

    assert [frame.data for frame in rank.frames] == [{"a": 1}, {"b": 2}]
    assert (rank.complete, rank.flaw, rank.fault, rank.signal) == (True, "", "", None)
    assert rank.jail is not None
    assert not run.timed_out


def test_a_large_job_arrives(sandbox):
    """Programs and payloads are not limited by the size of a message."""
    payload = '{"x": "%s"}' % ("y" * 5_000_000)
    run = sandbox.execute(Job(program="report(size=len(job.payload_json))", payload_json=payload))

    assert facts(run) == {"size": len(payload)}


def test_every_rank_draws_from_the_seed(sandbox):
    """Same seed, same numbers, on all ranks and in all three generators."""
    program = (
        "import random, numpy, torch\n"
        "report(drawn=[random.random(), numpy.random.rand(), torch.rand(1).item()])"
    )
    first, other = (
        sandbox.execute(Job(program=program, seed=seed, world_size=2)) for seed in (5, 6)
    )

    assert (
        facts(first, 0) == facts(first, 1) == facts(sandbox.execute(Job(program=program, seed=5)))
    )
    assert facts(first) != facts(other)


def test_a_wait_without_end_is_an_inconclusive_timeout(sandbox):
    """Nothing was computed, so the machine may be to blame."""
    run = sandbox.execute(Job(program=FOREVER), JobLimits(wall_seconds=0.3))

    assert run.timed_out
    assert run.inconclusive_timeout
    assert not run.complete
    assert run.ranks[0].signal == signal.SIGKILL


@pytest.mark.parametrize(
    ("cpu", "queued", "waits"),
    [(0.5, 0.0, True), (3.0, 0.0, False), (9.9, 0.0, False), (5.0, 90.0, False), (0.5, 90.0, True)],
)
def test_a_program_that_waits_is_told_from_a_machine_that_is_busy(cpu, queued, waits):
    """Ranks that wait for each other were called a fault of the harness.

    Next to nothing was computed; of what it waited for a processor a program can compute nothing.
    """
    assert out_of_time(cpu, queued).waited == waits


def out_of_time(cpu: float, queued: float = 0.0) -> RawRecording:
    """A run that its clock ended after 10 s, of which it had the processor for ``cpu``."""
    return RawRecording(
        ranks=(),
        wall_seconds=10.0 + queued,
        queued_seconds=queued,
        cpu_seconds=cpu,
        wall_limit_seconds=10.0,
        cpu_limit_seconds=20.0,
        timed_out=True,
    )


class Scripted(Sandbox):
    """Its runs are made up."""

    def __init__(self, *runs: RawRecording) -> None:
        super().__init__(parallel=1)
        self._runs = iter(runs)

    def _attempt(self, *_: object) -> RawRecording:
        return next(self._runs)


@pytest.mark.parametrize(("cpu", "tried"), [(4.0, 2), (0.5, 1), (9.9, 1)])
def test_a_run_that_had_too_little_of_the_processor_is_tried_once_more(cpu, tried):
    """Not one that waited, or that had all its time."""
    runs = out_of_time(cpu), out_of_time(10.0)
    with Scripted(*runs) as pool:
        assert pool.execute(Job(program=BUSY)) is runs[tried - 1]


def test_a_busy_loop_is_stopped_by_the_clock(sandbox):
    """The processor time that it had is in the recording."""
    run = sandbox.execute(Job(program=BUSY), JobLimits(wall_seconds=0.8))

    assert run.timed_out
    assert run.cpu_seconds > 0.0


def test_a_busy_loop_is_stopped_by_its_processor_time(sandbox):
    """The limit of processor time ends it before the wall clock does, and that is conclusive."""
    run = sandbox.execute(Job(program=BUSY), JobLimits(wall_seconds=60, cpu_seconds=1))

    assert run.ranks[0].signal == signal.SIGXCPU
    assert run.timed_out
    assert not run.inconclusive_timeout


def test_a_timeout_takes_all_ranks_down(sandbox):
    """No rank outlives the group."""
    program = "import os\nreport(pid=os.getpid())\nwait()"
    run = sandbox.execute(Job(program=program, world_size=2), JobLimits(wall_seconds=1))

    assert run.timed_out
    assert all(is_gone(facts(run, rank)["pid"]) for rank in (0, 1))


def test_leaving_early_is_not_finishing(sandbox):
    """Exit code 0 is no evidence; the closed record is."""
    run = sandbox.execute(Job(program="import os\nreport(a=1)\nos._exit(0)"))

    assert run.ranks[0].exit_code == 0
    assert not run.complete
    assert "never closed" in run.ranks[0].flaw
    assert facts(run) == {"a": 1}


def test_exit_is_something_that_a_program_raises(sandbox):
    """``sys.exit(0)`` closes no record by itself and hides nothing."""
    run = sandbox.execute(Job(program="import sys\nsys.exit(0)"))

    assert facts(run) == {"raised": "SystemExit", "message": "0"}
    assert run.complete


def test_a_crash_is_told_by_its_signal(sandbox):
    """A segmentation fault is not an exit code."""
    run = sandbox.execute(Job(program="import ctypes\nctypes.string_at(0)"))

    assert (run.ranks[0].signal, run.ranks[0].exit_code) == (signal.SIGSEGV, None)
    assert not run.complete


def test_each_rank_ends_in_its_own_way(sandbox):
    """Exit codes and signals are told rank by rank; the others end by themselves."""
    program = "import os\nif rank == 1: os._exit(3)\nif rank == 2: os.kill(os.getpid(), 9)"
    run = sandbox.execute(Job(program=program, world_size=3))

    assert [(rank.exit_code, rank.signal) for rank in run.ranks] == [
        (0, None),
        (3, None),
        (None, 9),
    ]
    assert [rank.complete for rank in run.ranks] == [True, False, False]


def test_a_rank_that_waits_for_one_that_left_learns_of_it(sandbox):
    """A deadlock of ranks ends in an exception long before the clock."""
    program = (
        "import torch, torch.distributed as dist\nif rank == 0: dist.all_reduce(torch.ones(1))\n"
    )
    run = sandbox.execute(Job(program=program, world_size=2), JobLimits(teardown_seconds=0.2))

    assert facts(run, 0)["raised"] in ("RuntimeError", "DistBackendError")
    assert not run.timed_out


def test_a_flood_is_cut_and_reported(sandbox):
    """A program that never stops talking is ended; it fills neither memory nor disk."""
    limits = JobLimits(output_bytes=1 << 20)
    run = sandbox.execute(Job(program="while True: report(a='x' * 10000)"), limits)

    assert run.ranks[0].flaw == "More than 1048576 bytes were sent."
    assert 0 < len(run.ranks[0].frames) < 200
    assert not run.timed_out


FORGERIES = {
    "garbage": "os.write(fd, b'garbage' * 10)",
    "a number twice": "forge(1)",
    "a number ahead": "forge(7)",
    "a record closed early": "forge(2, 'closed', {'count': 2})",
    "a record closed at another count": "forge(2, 'closed', {'count': 9})",
}


@pytest.mark.parametrize("act", FORGERIES.values(), ids=FORGERIES)
def test_forged_frames_do_not_close_the_record(sandbox, act):
    """Numbers and counts must agree. Content can be forged: the oracle recomputes what it can."""
    program = (
        "import json, os, struct\n"
        "fd = channel._fd\n"
        "def forge(seq, kind='fact', data={}):\n"
        "    text = json.dumps(dict(seq=seq, kind=kind, data=data, tensors=[])).encode()\n"
        "    os.write(fd, struct.pack('>IQ', len(text), 0) + text)\n"
        f"report(a=1)\n{act}\nreport(a=2)\n"
    )
    run = sandbox.execute(Job(program=program))

    assert not run.complete
    assert run.ranks[0].flaw


def test_two_jobs_run_at_the_same_time(sandbox):
    """The first waits, stopped by itself, until the second is done; were it alone, it would wait for ever."""
    zygote = facts(sandbox.execute(Job(program="import os\nreport(zygote=os.getppid())")))["zygote"]
    stop = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nreport(first=True)"
    first = sandbox.submit(Job(program=stop), JobLimits(wall_seconds=600))
    assert eventually(lambda: stopped(zygote))
    second = facts(sandbox.execute(Job(program="report(second=True)")))
    was_running = not first.done()
    for pid in stopped(zygote):
        os.kill(pid, signal.SIGCONT)

    assert second == {"second": True}
    assert was_running
    assert facts(first.result()) == {"first": True}


def stopped(zygote: int) -> list[int]:
    """Its children that a signal holds up; others may end meanwhile."""
    states: dict[int, str] = {}
    for pid in children(zygote):
        with contextlib.suppress(OSError):
            states[pid] = Path(f"/proc/{pid}/stat").read_text()
    return [pid for pid, state in states.items() if state.rpartition(")")[2].split()[0] == "T"]


def test_nothing_stays_of_a_scratch_folder(sandbox):
    """Files of a job end with it."""
    program = (
        "import os\nopen('left', 'w').write('x')\nreport(cwd=os.getcwd(), home=os.environ['HOME'])"
    )
    found = facts(sandbox.execute(Job(program=program)))

    assert found["cwd"] == found["home"]
    assert sandbox.settle(PATIENCE)
    assert not Path(found["cwd"]).exists()


ELSEWHERE = """
import sys
sys.modules.update(fcntl=None, resource=None)
from harness.sandbox.jail.report import JailPolicy
from harness.sandbox.pool import Sandbox
sys.platform = "darwin"
try:
    Sandbox()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_system_without_a_jail_is_told_so_in_one_sentence():
    """Importing works anywhere; running candidates needs Linux and says so."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith("CannotExecuteHere Running candidates needs Linux")
    assert done.stderr == ""


def test_the_parent_never_loads_torch():
    """The pool answers fast and holds nothing that a candidate could reach."""
    program = "import sys, harness.sandbox.pool\nprint('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.stdout == "False\n"


def test_a_closed_sandbox_refuses_jobs():
    """It does not start another zygote behind the caller's back."""
    own = Sandbox(worker="tests.fakes.exec_worker", parallel=1)
    own.close()

    with contextlib.closing(own), pytest.raises((HarnessFault, RuntimeError)):
        own.execute(Job(program=""))
