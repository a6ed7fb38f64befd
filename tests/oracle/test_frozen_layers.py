"""Layers that are frozen for a while ask for no gradient, and none is missed of them then."""

import pytest

from tests.quality.judging import SCENARIOS, Court

GROUPS = """
import torch
optimizer = torch.optim.SGD([
    {"params": model.backbone.parameters(), "lr": 2e-4},
    {"params": model.head.parameters(), "lr": 2e-3},
])
"""

TWO_CLIPS = """
    torch.nn.utils.clip_grad_norm_(model.backbone.parameters(), 0.5)
    torch.nn.utils.clip_grad_norm_(model.head.parameters(), 7.0)
"""

LOOP = """
for step, (x, y) in enumerate(train_loader):
    {thaw}
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    {between}
    {clips}
    optimizer.step()
"""

THAW = "model.backbone.requires_grad_(step >= 4)"

LAYERS = (
    "for place, layer in enumerate(m for m in model.backbone if hasattr(m, 'weight')):\n"
    "        for p in layer.parameters():\n            p.requires_grad = step >= 2 * (2 - place)"
)


def judged(
    court: Court, thaw: str, *, clips: str = TWO_CLIPS, between: str = ""
) -> tuple[str, set[str]]:
    loop = LOOP.format(thaw=thaw, clips=clips, between=between)
    found = court.judged(SCENARIOS["parameter-groups"], GROUPS + loop)
    return found.code, {verdict.property for verdict in found.verdicts if verdict.outcome == "fail"}


@pytest.mark.parametrize("thaw", [THAW, LAYERS])
def test_a_backbone_that_is_thawed_late_starves_in_no_update(court: Court, thaw: str) -> None:
    assert judged(court, thaw)[0] == "right"


@pytest.mark.parametrize(
    ("thaw", "said"),
    [
        ("model.backbone.requires_grad_(False)", {"every-parameter-learns"}),
        (THAW, {"clip-per-group", "clip-before-step"}),
    ],
)
def test_what_is_wrong_without_it_is_wrong_with_it(court: Court, thaw: str, said: set[str]) -> None:
    """A backbone that is never thawed; and one that shares its clip with the head."""
    together = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    code, failed = judged(court, thaw, clips=together if thaw == THAW else TWO_CLIPS)

    assert code == "wrong"
    assert failed & said


def test_a_gradient_that_is_thrown_away_is_missed(court: Court) -> None:
    """Nothing is frozen here: in every third update the backbone is left with nothing."""
    away = "if step % 3 == 0:\n        model.backbone.zero_grad()"
    code, failed = judged(court, "pass", between=away)

    assert (code, "clip-per-group" in failed) == ("wrong", True)


LATER = """
import torch

first = next(m for m in model.modules() if isinstance(m, torch.nn.Linear))
first.requires_grad_(False)
{made}
late = 500 + len(train_loader)
for step, (x, y) in enumerate(train_loader):
    if step == late:
        first.requires_grad_({flag})
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""

HELD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.05)"
LEFT_OUT = (
    "optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)"
)


@pytest.mark.parametrize("made", [HELD, LEFT_OUT])
def test_of_layers_that_would_be_thawed_after_all_that_ran_nothing_is_told(
    court: Court, made: str
) -> None:
    """Neither that they never learn, nor that they will."""
    found = court.judged(SCENARIOS["clip-after-step"], LATER.format(made=made, flag=True))

    (learns,) = [v for v in found.verdicts if v.property == "every-parameter-learns"]
    assert learns.outcome == "inconclusive"
    assert all(b.waits for p in found.trace.probes for b in p.program.unentered or ())


@pytest.mark.parametrize("written", [("== late", "== 500"), ("500 + len(train_loader)", "500")])
@pytest.mark.parametrize(("made", "outcome"), [(HELD, "pass"), (LEFT_OUT, "fail")])
def test_a_step_that_is_written_where_layers_are_thawed_comes_soon(
    court: Court, made: str, outcome: str, written: tuple[str, str]
) -> None:
    """``step == 500`` is ``step == 4`` here, by whatever name, and what an optimizer left out shows."""
    loop = LATER.format(made=made, flag=True).replace(*written)
    found = court.judged(SCENARIOS["clip-after-step"], loop)

    (learns,) = [v for v in found.verdicts if v.property == "every-parameter-learns"]
    assert learns.outcome == outcome


def test_a_branch_that_also_thaws_is_one_that_thaws(court: Court) -> None:
    """It is told by the first few names that it touches, and known by all of them."""
    much = (
        "optimizer.param_groups[0]['lr'] = 0.01\n        "
        "optimizer.zero_grad()\n        "
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)\n        "
        "optimizer.step()\n        "
    )
    loop = LATER.format(made=HELD, flag=True).replace("first.requires_grad_(True)", "{0}")
    found = court.judged(
        SCENARIOS["clip-after-step"], loop.format(much + "first.requires_grad_(True)")
    )

    (branch,) = found.trace.probes[0].program.unentered or ()
    assert (branch.thaws, "requires_grad_" in branch.touches) == (True, False)
    (learns,) = [v for v in found.verdicts if v.property == "every-parameter-learns"]
    assert learns.outcome == "inconclusive"
