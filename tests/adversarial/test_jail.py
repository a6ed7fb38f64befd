"""The jail: every attack fails in it, and succeeds once the guards against it are switched off."""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.sandbox.jail.report import JailPolicy
from harness.sandbox.pool import Job, JobLimits
from tests.adversarial.attacks import ATTACKS, NETWORK, Targets
from tests.fakes.runs import SMALL, eventually, facts, is_gone, need, run


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Targets]:
    libc, key = ctypes.CDLL(None), os.getpid()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "file").chmod(0o644)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams,
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as victim,
    ):
        local.bind(str(tmp_path / "socket"))
        local.listen()
        datagrams.bind(str(tmp_path / "datagrams"))
        segment = libc.shmget(key, 4096, 0o1600)
        yield Targets(tmp_path, victim.pid, server.getsockname()[1], key)
        libc.shmctl(segment, 0, None)
        victim.kill()


@pytest.mark.parametrize("each", ATTACKS, ids=lambda each: each.name)
def test_a_jailed_program_cannot(sandbox, outside, each):
    """The attack fails with all guards up."""
    need(sandbox, *each.guards)
    (found,) = run(sandbox, outside.aim(each.program))

    assert not found.get("escaped"), found


@pytest.mark.parametrize("each", ATTACKS, ids=lambda each: each.name)
def test_without_its_guard_a_program_can(sandbox, outside, each):
    """The attack is a real one: it succeeds where its guards are down and all others are up."""
    (found,) = run(sandbox, outside.aim(each.program), *each.guards)

    assert found.get("escaped"), found


@pytest.mark.parametrize(
    ("remaining", "error"),
    [("network-namespace", "ConnectionRefusedError"), ("seccomp", "PermissionError")],
)
def test_either_guard_of_the_network_is_enough(sandbox, outside, remaining, error):
    """Where a machine offers no network namespace there are no sockets, and the reverse."""
    need(sandbox, remaining)
    (other,) = {"network-namespace", "seccomp"} - {remaining}
    _, program = NETWORK["reach a server"]
    (found,) = run(sandbox, outside.aim(program), other)

    assert found["raised"] == error


LEAVE_GROUP = "import os; os.setpgid(0, 0); escaped = True"


@pytest.mark.parametrize(("disabled", "escapes"), [((), False), (("seccomp",), True)])
def test_a_rank_stays_in_its_group(sandbox, disabled, escapes):
    """A rank that could leave would survive the kill of the group."""
    found = run(sandbox, LEAVE_GROUP, *disabled, ranks=2)

    assert [bool(rank.get("escaped")) for rank in found] == [escapes, escapes]


DAEMON = """
import os
told, tell = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        report(daemon=os.getpid())
        os.write(tell, b"!")
        wait()
    os._exit(0)
os.read(told, 1)
"""


def test_a_daemon_does_not_outlive_its_run(sandbox):
    """It cannot be made; and where it can, it is found and killed."""
    (guarded,) = run(sandbox, DAEMON)
    (unguarded,) = run(sandbox, DAEMON, "seccomp")

    assert guarded == {"raised": "PermissionError", "message": "[Errno 1] Operation not permitted"}
    assert eventually(lambda: is_gone(int(unguarded["daemon"])))


FORK_BOMB = """
import os
made = 0
for _ in range(50):
    try:
        if os.fork() == 0: os._exit(0)
        made += 1
    except OSError: pass
report(made=made)
"""


def test_a_fork_bomb_does_not_go_off(sandbox):
    """Not one process is made; without the guard all of them are."""
    assert run(sandbox, FORK_BOMB) == [{"made": 0}]
    assert run(sandbox, FORK_BOMB, "seccomp") == [{"made": 50}]


READ_BACK = """
import os
def again(fd):
    try: return os.read(os.open(f'/proc/self/fd/{fd}', os.O_RDONLY), 4).decode()
    except OSError as error: return error.strerror
read, write = os.pipe()
os.write(write, b'said')
report(pipe=again(write), channel=again(channel._fd))
"""


def test_what_was_said_cannot_be_unsaid(sandbox):
    """A pipe gives back what was written to it; the channel does not."""
    assert run(sandbox, READ_BACK) == [{"pipe": "said", "channel": "No such device or address"}]


PRIVILEGES = """
rows = dict(line.split(':', 1) for line in open('/proc/self/status'))
sets = {name: int(text, 16) for name, text in rows.items() if name.startswith('Cap')}
report(sets=sets, locked=int(rows['NoNewPrivs']), filtered=int(rows['Seccomp']))
"""


def test_no_privileges_are_held(sandbox):
    """All capability sets are empty, and nothing can be gained."""
    empty = dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), 0)

    assert run(sandbox, PRIVILEGES) == [{"sets": empty, "locked": 1, "filtered": 2}]


WAIT_UNTIL = """
import glob, os, time
def wait_until(is_so):
    end = time.monotonic() + {seconds}
    while time.monotonic() < end and not is_so(): os.sched_yield()
"""
LEAVE_A_FILE = """
open('mine', 'w').close()
wait_until(lambda: glob.glob('../*/looking'))
open('seen', 'w').close()
wait_until(lambda: not glob.glob('../*/looking'))
"""
LOOK_FOR_IT = """
open('looking', 'w').close()
wait_until(lambda: glob.glob('../*/mine'))
escaped = glob.glob('../*/mine')
wait_until(lambda: glob.glob('../*/seen'))
"""


@pytest.mark.parametrize(
    ("disabled", "seen"),
    [
        ((), False),
        pytest.param(("landlock",), False, marks=pytest.mark.full),
        (("landlock", "scratch-quota"), True),
    ],
)
def test_two_jobs_do_not_see_each_other(sandbox, disabled, seen):
    """Twice over: the other folder cannot be listed, and there it would be empty."""
    need(sandbox, "landlock", "scratch-quota")
    policy = JailPolicy(disabled=frozenset(disabled))
    limits = replace(SMALL, wall_seconds=200, cpu_seconds=200)
    begin = WAIT_UNTIL.format(seconds=60 if seen else 1)
    neighbour = sandbox.submit(Job(program=begin + LEAVE_A_FILE), limits, policy)
    found = facts(sandbox.execute(Job(program=begin + LOOK_FOR_IT), limits, policy))

    assert bool(found["escaped"]) is seen
    assert neighbour.result().complete


def test_a_program_that_stops_itself_is_ended_by_the_clock(sandbox):
    """SIGSTOP delays nothing for others and does not outlast the limit."""
    limits = JobLimits(wall_seconds=0.3)
    stop = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
    done = sandbox.execute(Job(program=stop), limits)

    assert done.inconclusive_timeout


def test_the_report_of_the_child_is_the_report_of_the_machine(sandbox):
    """Every guard that the machine offers was up in the run itself."""
    done = sandbox.execute(Job(program=""))
    assert done.ranks[0].jail is not None
    up = {guard.name for guard in done.ranks[0].jail.guards if guard.on}

    assert up == {guard.name for guard in sandbox.machine().guards if guard.on}


def test_a_guard_that_is_down_is_named(sandbox):
    """Nothing is switched off in silence."""
    done = sandbox.execute(Job(program=""), policy=JailPolicy(disabled=frozenset({"landlock"})))
    assert done.ranks[0].jail is not None

    assert [guard.name for guard in done.ranks[0].jail.missing()] == ["landlock"]
