"""What the oracle says about real programs: how far updates move, and whether outputs carry anything."""

from harness.domain.trace import Update
from tests.quality.judging import SCENARIOS, Court

WARM_UP = SCENARIOS["warm-up-from-zero"]
INITIALISATION = SCENARIOS["vanishing-initialisation"]


def updates_of(court: Court, scenario_id: str, program: str) -> tuple[Update, ...]:
    return court.judged(SCENARIOS[scenario_id], program).trace.probes[0].updates


def test_an_update_at_rate_zero_moves_nothing_and_the_next_one_does(court: Court) -> None:
    """Bit for bit, not nearly."""
    first, second = updates_of(court, WARM_UP.id, WARM_UP.buggy)[:2]
    assert first.moved == 0.0
    assert second.moved is not None
    assert second.moved > 1e-4


def test_outputs_of_a_deep_stack_spread_only_where_the_signal_gets_through(court: Court) -> None:
    """The posted weights make a constant of it."""
    lost = updates_of(court, INITIALISATION.id, INITIALISATION.buggy)
    kept = updates_of(court, INITIALISATION.id, INITIALISATION.reference)
    assert max(u.output_spread or 0.0 for u in lost) < 1e-6
    assert max(u.output_spread or 0.0 for u in kept) > 1e-2


def test_outputs_differ_from_the_recomputed_ones_where_parts_of_the_model_were_exchanged(
    court: Court,
) -> None:
    """The given model with other activations is no longer the workload's."""
    other = next(a for a in INITIALISATION.alternatives if a.name == "other-activation-in-place")
    changed = updates_of(court, INITIALISATION.id, other.program)
    same = updates_of(court, INITIALISATION.id, INITIALISATION.reference)
    assert min(u.output_differs for u in changed) > 0.1
    assert max(u.output_differs for u in same) < 1e-4
