"""A program that leaves out an update by itself, because its gradients overflowed, has skipped it."""

import pytest

from tests.extraction.situation import ROOT
from tests.quality.judging import SCENARIOS, Court

OWN_SCALE = ROOT / "tests/material/corpora/strange-right/all-three-techniques--03.py"


def test_a_window_that_is_cleared_because_it_is_not_finite_is_a_skipped_update(
    court: Court,
) -> None:
    """Not the beginning of the next window, which would look as if half of it had been wiped."""
    found = court.judged(SCENARIOS["all-three-techniques"], OWN_SCALE.read_text())

    overflow = next(p for p in found.trace.probes if p.probe == "overflow")
    assert [u.skipped for u in overflow.updates][:3] == [False, True, False]
    assert {u.window_size for u in overflow.updates if not u.short} == {4}
    assert not found.failed


HALVES = """
scaler = torch.amp.GradScaler("cuda")
for x, y in train_loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if torch.isfinite(norm):
        scaler.step(optimizer)
        scaler.update()
    else:
        scaler.update(scaler.get_scale() / 2)
"""


@pytest.mark.full
def test_what_follows_a_skipped_backward_belongs_to_it_and_not_to_the_next_window(
    court: Court,
) -> None:
    """``update(new_scale)`` is how a scaler is told that the step was left out."""
    found = court.judged(SCENARIOS["amp-optimizer-step"], HALVES)

    (rank,) = next(p for p in found.trace.probes if p.probe == "overflow").ranks
    lost = [b for b in rank.backwards if not b.gradients_finite]
    halved = [c for c in rank.scaler if c.method == "update" and c.scale_after < c.scale_before]
    assert len(lost) == 2
    assert [b.after_update for b in lost] == [c.after_update for c in halved]
    assert found.code == "right"
