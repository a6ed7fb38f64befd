"""Programs that define, construct and expect things that nobody gives them bind all the same."""

import pytest

from tests.sampling import sampled
from tests.sandbox.world.posted import POSTED


@pytest.mark.parametrize("posted", sampled(POSTED, 8, named=lambda p: p.about))
def test_a_posted_program_binds_and_trains(run, posted):
    """It runs to the end and makes the optimizer steps that it says."""
    ran = run(posted.program, workload=posted.workload)

    assert ran.outcome == "ran"
    assert ran.steps == posted.steps
