"""The smallest real faults lie far above what rounding can cause; docs/tolerances.md has the figures."""

import pytest

from harness.domain.scenario import Expectations
from harness.domain.trace import Update
from harness.quality.mutants import derive
from harness.quality.operators import OPERATORS
from tests.quality.judging import SCENARIOS, Court, Judged

FAR = 10.0
"""A fault lies at least so many tolerances away from the right gradient."""

NEAR = 0.2
"""Part of the tolerance that a right loop's rounding uses up at most."""

# The faults of the kill matrix that change a gradient least, by the element type of the forward.
SMALLEST = [
    ("padding-and-accumulation", "divisor-off-by-one"),  # float32, one sample of 180
    ("accumulation-loss-not-divided", "divisor-off-by-one"),  # float32, 5 instead of 4
    ("amp-clip-without-unscale", "clip-again-by-returned-norm"),  # float16
    ("all-three-techniques", "divisor-off-by-one"),  # float16, four micro-batches
    ("everything-under-ddp", "divisor-off-by-one"),  # float16, two ranks
]


def away(update: Update, expected: Expectations) -> float:
    """How far the consumed gradient is from the right one, in tolerances: direction and size."""
    errors = []
    for match in update.matches:
        if match.objective in expected.objectives and match.expected_norm > 0:
            size = min(match.expected_norm, expected.max_norm or match.expected_norm)
            errors.append(max(match.direction_error, abs(match.consumed_norm / size - 1.0)))
    return min(errors) / update.tolerance


def farthest(judged: Judged) -> float:
    """The largest distance over all full windows."""
    ranks = [rank for probe in judged.trace.probes for rank in probe.ranks]
    full = [u for r in ranks for u in r.updates if u.matches and not (u.skipped or u.short)]
    return max(away(update, judged.scenario.expectations) for update in full)


@pytest.mark.full
@pytest.mark.parametrize(("name", "operator"), SMALLEST, ids=lambda part: part)
def test_the_smallest_faults_lie_ten_tolerances_away_and_right_loops_well_inside(
    court: Court, name: str, operator: str
):
    scenario = SCENARIOS[name]
    fitting = [o for o in OPERATORS if o.id == operator]
    mutants = derive([(scenario, ())], fitting, 0)

    assert farthest(court.judged(scenario, scenario.reference)) <= NEAR
    assert mutants
    for mutant in mutants:
        found = court.judged(scenario, mutant.text)
        assert farthest(found) >= FAR, found.story()
        assert found.code == "wrong", found.story()
