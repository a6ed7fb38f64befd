"""One execution of an example, on a machine that may be busy."""

import pytest

from harness.checking.driving import executed
from harness.domain.candidate import Candidate
from harness.domain.instruments import Instruments
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from tests.fakes.executor import BusyExecutor, LateExecutor
from tests.fakes.oracle import FakeMeter

WORKLOAD = WorkloadSpec.model_validate({"name": "mlp", "parameters": {}})
EXAMPLE = Candidate(program="print(1)", origin="example")
SHORT = Probe(name="example", lifts="", seconds=2.0)


def test_what_the_machine_did_not_give_its_time_is_executed_again_with_more():
    found = executed(EXAMPLE, WORKLOAD, SHORT, Instruments(BusyExecutor(), FakeMeter()))

    assert (found.timed_out, len(found.ranks)) == (False, 1)


@pytest.mark.parametrize(
    ("updates", "to_its_end", "times"), [(0, False, 2), (1, False, 1), (1, True, 2)]
)
def test_what_had_its_time_is_executed_once_if_its_updates_tell_something(
    updates, to_its_end, times
):
    late = LateExecutor(updates)
    tools = Instruments(late, FakeMeter())

    found = executed(EXAMPLE, WORKLOAD, SHORT, tools, to_its_end=to_its_end)

    assert found.timed_out
    assert late.programs == ["print(1)"] * times
