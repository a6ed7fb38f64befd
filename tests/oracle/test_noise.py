"""Which updates of a real program had the same noise added to their gradients."""

import pytest

from tests.quality.judging import SCENARIOS, Court

NOISE = SCENARIOS["noise-under-ddp"]
DRAW = "drawn = torch.randn(parameter.grad.shape, generator=generator)"


@pytest.mark.parametrize(
    "again",
    [
        "drawn = torch.randn(parameter.grad.shape, generator=generator.manual_seed(7))",
        "drawn = torch.randn(parameter.grad.shape, generator=torch.Generator().manual_seed(7))",
        "drawn = kept.setdefault(parameter, torch.randn(parameter.shape, generator=generator))",
    ],
)
def test_noise_that_is_the_same_in_every_step_is_wrong(court: Court, again: str) -> None:
    """Seeded anew, or drawn once and kept; that its size decays changes nothing."""
    assert DRAW in NOISE.reference
    found = court.judged(NOISE, "kept = {}\n" + NOISE.reference.replace(DRAW, again))
    assert found.failed == {"noise-is-new"}, found.story()


@pytest.mark.full
def test_new_noise_beside_weight_decay_by_hand_is_right(court: Court) -> None:
    """The parameters hardly move, so what they add is nearly the same each time."""
    decayed = NOISE.reference.replace(
        "    optimizer.step()",
        "    for p in model.parameters(): p.grad.add_(p.detach(), alpha=0.1)\n    optimizer.step()",
    )
    found = court.judged(NOISE, decayed)
    assert found.code == "right", found.story()
    assert found.outcomes["noise-is-new"] == "pass", found.story()
