"""Programs that train otherwise later on, through the jail and the oracle to their grade."""

import pytest

from harness.domain.grade import Grade, write_grade
from tests.quality.judging import SCENARIOS, Court

LOOP = """import torch
step, max_norm = 0, 1.0
for x, y in train_loader:
    if step > {late}:
        max_norm = {then}
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    step += 1
"""

RANKS = """import torch.distributed as dist
for x, y in train_loader:
    if dist.get_rank() == 1:
        optimizer.zero_grad()
    else:
        optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""


def graded(court: Court, name: str, program: str) -> Grade:
    judged = court.judged(SCENARIOS[name], program)
    return write_grade(judged.scenario, "a", judged.verdicts, trace=judged.trace)


@pytest.mark.parametrize(
    ("late", "then", "code"),
    [(1000, "1e9", "inconclusive"), (2, "1.0", "right"), (2, "1e9", "wrong")],
)
def test_what_a_loop_does_later_counts_as_far_as_it_was_seen(court, late, then, code):
    grade = graded(court, "clip-after-step", LOOP.format(late=late, then=then))

    assert grade.code == code
    assert grade.notes == (
        ("Line 5 (`max_norm`) ran in no probe: nothing is said of it.",) if late == 1000 else ()
    )


def test_a_branch_that_another_rank_entered_is_not_told(court):
    assert graded(court, "ddp-sync-every-micro-batch", RANKS).notes == ()


OBSERVED = """import torch
norms = []
for i, (x, y) in enumerate(train_loader):
    if i >= 100:
        break
    {clears}
    criterion(model(x), y).backward()
    norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")).item())
print(sorted(norms)[len(norms) // 2])
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("clears", "code"), [("model.zero_grad()", "right"), ("pass", "inconclusive")]
)
def test_measuring_may_end_at_a_count_where_nothing_is_gathered(court, clears, code):
    """Where every turn clears first, no update hangs on how many there are; a sum of gradients does."""
    assert graded(court, "clip-after-step", OBSERVED.format(clears=clears)).code == code
