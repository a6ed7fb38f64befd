"""The zygote: warm, clean, single-threaded, and ignorant of what is expected."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.domain.errors import HarnessFault
from harness.sandbox.pool import Job, Sandbox
from tests.fakes.runs import facts

ROOT = Path(__file__).parents[2]
FORBIDDEN = ("harness.scenarios", "harness.oracle", "harness.runner", "harness.properties")


def reported(sandbox: Sandbox, program: str) -> dict:
    return facts(sandbox.execute(Job(program=program)))


def test_nothing_that_is_expected_is_in_memory(sandbox):
    """Scenarios, references and the oracle were never loaded where candidates run."""
    found = reported(sandbox, "import sys\nreport(modules=sorted(sys.modules))")["modules"]

    assert "torch" in found
    assert not [name for name in found if name.startswith(FORBIDDEN)]


def test_the_real_worker_loads_nothing_that_is_expected():
    """The same for the recorder and the binding, which the zygote loads outside of tests."""
    program = "import sys, harness.sandbox.zygote, harness.sandbox.worker\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert "harness.sandbox.worker" in done.stdout.split(), done.stderr
    assert not [name for name in done.stdout.split() if name.startswith(FORBIDDEN)]


def test_a_child_has_one_thread_and_a_fixed_hash_seed(sandbox):
    """A fork of a threaded process hangs; a random hash seed makes runs differ."""
    found = reported(
        sandbox,
        "import os, sys, torch\n"
        "report(tasks=len(os.listdir('/proc/self/task')), threads=torch.get_num_threads(),\n"
        "       seed=os.environ['PYTHONHASHSEED'], hashed=sys.flags.hash_randomization,\n"
        "       cuda=torch.cuda.is_available(), argv=sys.argv)",
    )

    assert found == {
        "tasks": 1, "threads": 1, "seed": "0", "hashed": 0, "cuda": False, "argv": ["program.py"]
    }  # fmt: skip


def test_the_environment_of_the_parent_stays_outside(sandbox):
    """Keys and paths of whoever runs the bank are not for candidates, nor in /proc/self/environ."""
    found = reported(
        sandbox,
        "import os\nreport(names=sorted(os.environ), first=open('/proc/self/environ').read())",
    )

    assert "PYTEST_CURRENT_TEST" not in found["names"]
    assert "PYTEST_CURRENT_TEST" not in found["first"]
    assert not [name for name in found["names"] if "KEY" in name or "TOKEN=" in name]


@pytest.mark.full
def test_a_first_step_loads_nothing_new(sandbox):
    """What a training step imports lazily was imported before the fork."""
    found = reported(
        sandbox,
        "import sys, torch, lightning\n"
        "before = set(sys.modules)\n"
        "model = torch.nn.Linear(3, 2)\n"
        "optimizer = torch.optim.AdamW(model.parameters())\n"
        "scaler = torch.amp.GradScaler('cpu')\n"
        "scaler.scale(model(torch.ones(4, 3)).sum()).backward()\n"
        "scaler.step(optimizer)\n"
        "torch.manual_seed(1)\n"
        "report(new=sorted(set(sys.modules) - before))",
    )

    assert found == {"new": []}


@pytest.fixture(scope="module")
def around_a_package() -> list[dict]:
    """What programs see before and with one that names a package."""
    seen = "import sys\nreport(found={found} in sys.modules)"
    plain, naming = (seen.format(found=f) for f in ("'light' 'ning'", "'lightning'"))
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as fresh:
        return [facts(fresh.execute(Job(program=program))) for program in (plain, naming)]


@pytest.mark.full
def test_frameworks_are_there_once_a_program_names_them(around_a_package):
    """Lightning takes a second to import, and its pages make every fork slower."""
    assert [seen["found"] for seen in around_a_package] == [False, True]


@pytest.mark.full
def test_a_worker_that_cannot_be_imported_is_a_fault_with_its_reason():
    """Not a hang, and not the candidate's fault."""
    with (
        Sandbox(worker="tests.fakes.no_such_worker") as broken,
        pytest.raises(HarnessFault, match="no_such_worker"),
    ):
        broken.execute(Job(program=""))


@pytest.mark.full
def test_a_thread_left_behind_is_refused():
    """A fork would lose it, and whoever waits for it would hang."""
    with (
        Sandbox(worker="tests.fakes.threaded_worker") as broken,
        pytest.raises(HarnessFault, match="left-behind"),
    ):
        broken.execute(Job(program=""))


def test_a_thread_that_is_ending_is_awaited():
    """What was joined may be listed a moment longer; that it was called left behind ended a run."""
    program = (
        "import _thread\n"
        "from harness.sandbox import warm_up\n"
        "held = _thread.allocate_lock()\n"
        "held.acquire()\n"
        "_thread.start_new_thread(held.acquire, (True, 0.2))\n"
        "warm_up.settle()\n"
        "print('ready')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.stdout == "ready\n", done.stderr


def test_an_exception_of_the_worker_is_a_fault_and_not_a_result(sandbox):
    """What escapes work() is ours: the record stays open and the traceback is kept."""
    run = sandbox.execute(Job(program="escape = TypeError('ours')"))

    assert not run.complete
    assert "TypeError: ours" in run.ranks[0].fault
    assert run.ranks[0].exit_code == 70
