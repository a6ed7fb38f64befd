"""A figure that an author states is held against the one that was seen."""

import pytest

from harness.checking.running import BlockRun
from harness.checking.statements import statements_about
from harness.domain.own import OwnSettings
from harness.domain.skill import Part
from harness.domain.verdict import Number
from tests.fakes.run import verdict
from tests.fakes.traces import probe, trace, update


@pytest.mark.parametrize(("moved", "holds"), [(2, False), (28, True)])
def test_a_schedule_that_is_said_to_move_with_every_update_is_counted(moved, holds):
    updates = [update(index=n) for n in range(28)]
    figures = (Number(name="windows in which it moved", value=moved),)
    said = verdict("scheduler-per-update", "pass").model_copy(update={"numbers": figures})
    seen = BlockRun(
        trace(probe("as-it-is", *updates)), (said,), OwnSettings(micro_batches=1, schedule=True)
    )
    part = Part(
        code="", line=1, mark=None, comments=("stepped after every optimizer step", "a step")
    )
    assert [one.holds for one in statements_about(part, seen)] == [holds]
