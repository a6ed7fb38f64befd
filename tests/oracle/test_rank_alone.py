"""What the judge makes of real programs whose ranks decide for themselves, or together."""

import pytest

from tests.quality.judging import SCENARIOS, Court

ALL = SCENARIOS["everything-under-ddp"]
BACKWARD = "        scaler.scale(loss).backward()"


@pytest.mark.full
@pytest.mark.parametrize(
    "alone",
    [
        "        if not torch.isfinite(loss): continue\n" + BACKWARD,
        "        if torch.isfinite(loss): scaler.scale(loss).backward()",
        "        if loss.item() > 1e4: continue\n" + BACKWARD,
    ],
)
def test_a_rank_that_skips_by_itself_tears_the_ranks_apart(court: Court, alone: str) -> None:
    """The others wait for it in the all-reduce, or go on without it."""
    assert BACKWARD in ALL.reference
    found = court.judged(ALL, ALL.reference.replace(BACKWARD, alone))
    assert found.code == "wrong", found.story()


def test_two_ranks_consume_the_mean_over_ranks_of_what_each_one_accumulated(court: Court) -> None:
    """Not the mean over all micro-batches: how many there are is the program's to divide by."""
    several = SCENARIOS["ddp-sync-every-micro-batch"]

    trace = court.judged(several, several.reference).trace

    updates = [u for u in trace.probes[0].ranks[0].updates if u.window_size == 4]
    computed = [m for u in updates if (m := u.match("as-computed"))]
    assert computed
    assert all(m.relative_error < 1e-5 for m in computed)


@pytest.mark.full
def test_ranks_that_skip_together_are_right(court: Court) -> None:
    """The flag is reduced before anybody acts on it."""
    flagged = ALL.reference.replace(
        BACKWARD,
        "        bad = bad + (~torch.isfinite(loss.detach())).float()\n" + BACKWARD,
    ).replace(
        "        scaler.unscale_(optimizer)",
        "        torch.distributed.all_reduce(bad)\n"
        "        skip, bad = bad.item() > 0, torch.zeros(())\n"
        "        if skip:\n"
        "            optimizer.zero_grad()\n"
        "            continue\n"
        "        scaler.unscale_(optimizer)",
    )
    found = court.judged(ALL, "import torch\nbad = torch.zeros(())\n" + flagged)
    assert found.code == "right", found.story()


@pytest.mark.full
def test_what_all_ranks_skip_may_be_each_one_s_own(court: Court) -> None:
    """Averaged by hand, what a backward left is still the rank's; it overflows, and nobody uses it."""
    by_hand = ALL.reference.replace(
        "        scaler.unscale_(optimizer)",
        "        for p in model.parameters():\n"
        "            torch.distributed.all_reduce(p.grad)\n"
        "            p.grad /= torch.distributed.get_world_size()\n"
        "        scaler.unscale_(optimizer)",
    ).replace("nullcontext() if last else model.no_sync()", "model.no_sync()")
    found = court.judged(ALL, by_hand)
    assert found.code == "right", found.story()


def test_ranks_that_are_all_given_the_rows_of_one_prove_nothing(court: Court) -> None:
    """They would agree without being synchronised."""
    asked = SCENARIOS["ddp-module-bypassed"]
    shared = (
        "train_loader = list(train_loader)\n"
        "__import__('torch').distributed.broadcast_object_list(train_loader, src=0)\n"
    )
    found = court.judged(asked, shared + asked.reference)
    assert found.code == "inconclusive", found.story()


@pytest.mark.full
def test_bfloat16_is_right_where_one_rank_has_a_gradient_far_above_the_others(court: Court) -> None:
    """Rounding is measured on the mean of all ranks, and not on the part of a quiet one."""
    without = ALL.reference.replace("torch.float16", "torch.bfloat16")
    for line, instead in {
        "scaler.scale(loss).backward()": "loss.backward()",
        "        scaler.unscale_(optimizer)\n": "",
        "scaler.step(optimizer)": "optimizer.step()",
        "        scaler.update()\n": "",
    }.items():
        assert line in without
        without = without.replace(line, instead)
    found = court.judged(ALL, without)
    assert found.code == "right", found.story()
