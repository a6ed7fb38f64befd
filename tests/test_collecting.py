"""Python's garbage collector looks seldom where there is hardly any garbage."""

import subprocess
import sys

import pytest


def said(program: str) -> str:
    """What a program prints, in a process of its own: the collector is one for all of a process."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_is_collected_during_an_import_and_again_after_it():
    program = """
import gc
from harness.collecting import uncollected
with uncollected():
    during = gc.isenabled()
print(during, gc.isenabled(), gc.get_freeze_count() > 1000)
"""
    assert said(program) == "False True True"


def test_an_import_that_fails_leaves_the_collector_on():
    program = """
import gc
from harness.collecting import uncollected
try:
    with uncollected():
        import there_is_no_such_module
except ImportError:
    print(gc.isenabled())
"""
    assert said(program) == "True"


@pytest.mark.parametrize(
    "process",
    [
        "from harness.oracle.worker import _warm; _warm()",
        "import sys; sys.argv[1:] = ['--version']\nimport harness.__main__ as m; m._run()",
    ],
    ids=["oracle", "command line"],
)
def test_processes_that_pass_records_on_collect_far_less_often(process):
    found = said(f"import gc\nusual = gc.get_threshold()[0]\n{process}\n"
                 "print(gc.isenabled(), gc.get_threshold()[0] > 20 * usual)")  # fmt: skip
    assert found.splitlines()[-1] == "True True"


def test_what_only_holds_itself_goes_in_the_end():
    program = """
import gc, weakref
from harness.collecting import SELDOM, collect_seldom
collect_seldom()
class Ring: pass
first = Ring(); first.other = first
seen = weakref.ref(first); del first
kept = [[] for _ in range(SELDOM + 1000)]
print(seen())
"""
    assert said(program) == "None"
