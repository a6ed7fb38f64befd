"""Nobody waits for what others need: the zygote warms up ahead, packages are imported beside."""

import os

import pytest

from harness.sandbox.pool import Job, Sandbox
from harness.sandbox.warm_up import frameworks_of
from tests.fakes.runs import children, eventually, facts, is_gone


def started(sandbox: Sandbox) -> int:
    """Start it; its zygote. Another sandbox of this process may fork meanwhile: children count."""
    before = children(os.getpid())
    sandbox.start()
    assert eventually(lambda: len(children(os.getpid()) - before) == 1)
    (zygote,) = children(os.getpid()) - before
    return zygote


@pytest.mark.full
def test_a_started_sandbox_warms_up_without_a_job():
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own:
        zygote = started(own)
        ran_in = facts(own.execute(Job(program="import os\nreport(zygote=os.getppid())")))["zygote"]

    assert ran_in == zygote


def test_a_sandbox_that_nobody_came_to_use_is_gone_at_once():
    """An error in the scenarios is told without waiting for torch."""
    with Sandbox(worker="tests.fakes.exec_worker", parallel=1) as own:
        zygote = started(own)
        own.start()

    assert is_gone(zygote)


@pytest.mark.parametrize(
    ("program", "packages"),
    [
        ("import lightning as L", ("lightning",)),
        ("from transformers import Trainer", ("lightning", "transformers")),
        ("package = 'transformers'  # by name", ("transformers",)),
        ("max_norm = 1.0  # usual for transformers", ()),
        ("# lightning would do this by itself\nl.backward()", ()),
    ],
)
def test_a_package_is_needed_where_code_names_it(program, packages):
    """Words of a comment are none of it: each package takes a second to import."""
    assert frameworks_of(program) == packages
