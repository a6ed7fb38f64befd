"""Known faults, each a loop that has it, fail exactly one property; known right loops fail none."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.domain.trace import ProbeTrace, Trace
from harness.properties import PROPERTIES, judge
from tests.fakes.traces import expect, learning, scenario, trace
from tests.properties import loops, loops_at_scale
from tests.properties.worlds import Loop

SIZES = {"quiet": 0.05, "loud": 20.0}
"""Gradients far below and far above the threshold of 1."""


def run(loop: Callable[[Loop], None], ranks: int = 1, **fields: Any) -> Trace:
    probes: list[ProbeTrace] = []
    for name, size in SIZES.items():
        paper = Loop(name, size, ranks=ranks)
        loop(paper)
        probes.append(paper.probe(learning=learning(moved={}), **fields))
    return trace(*probes)


def failing(seen: Trace, **expectations: Any) -> set[str]:
    verdicts = judge(seen, scenario(list(PROPERTIES), expect(**expectations)))
    return {v.property for v in verdicts if v.outcome == "fail"}


FAULTS: list[tuple[Callable[[Loop], None], int, str]] = [
    (loops.not_divided, 1, "accumulation-equals-large-batch"),
    (loops.divided_twice, 1, "accumulation-equals-large-batch"),
    (loops.wrong_divisor, 1, "accumulation-equals-large-batch"),
    (loops.own_count_on_top, 1, "accumulation-equals-large-batch"),
    (loops.running_loss, 1, "accumulation-equals-large-batch"),
    (loops.wiped_each_time, 1, "accumulation-not-wiped"),
    (loops.wiped_halfway, 1, "accumulation-not-wiped"),
    (loops.cleared_before_step, 1, "every-parameter-learns"),
    (loops.never_cleared, 1, "gradients-start-fresh"),
    (loops.off_by_one, 1, "one-update-per-window"),
    (loops.step_each_micro_batch, 1, "one-update-per-window"),
    (loops.step_before_full, 1, "one-update-per-window"),
    (loops.stepped_twice, 1, "one-update-per-window"),
    (loops.spurious_updates_in_the_tail, 1, "one-update-per-window"),
    (loops.tail_carried_over, 1, "no-batch-lost"),
    (loops.no_clip, 1, "clip-before-step"),
    (loops.clip_after_step, 1, "clip-before-step"),
    (loops.clip_before_each_backward, 1, "clip-before-step"),
    (loops.clip_each_micro_batch, 1, "clip-once-per-update"),
    (loops.clip_twice, 1, "clip-once-per-update"),
    (loops.exhausted_generator, 1, "clip-global-norm"),
    (loops.head_only, 1, "clip-global-norm"),
    (loops.each_parameter_alone, 1, "clip-global-norm"),
    (loops.by_value, 1, "clip-global-norm"),
    (loops.every_third_update, 1, "clip-global-norm"),
    (loops.other_threshold, 1, "clip-global-norm"),
    (loops.threshold_far_too_low, 1, "clip-inactive-when-small"),
    (loops.normalised, 1, "clip-inactive-when-small"),
    (loops_at_scale.clip_while_scaled, 1, "unscaled-norm"),
    (loops_at_scale.unscaled_twice, 1, "unscaled-norm"),
    (loops_at_scale.past_the_scaler, 1, "scaler-protocol"),
    (loops_at_scale.past_the_scaler_clipped, 1, "scaler-protocol"),
    (loops_at_scale.update_each_micro_batch, 1, "scaler-protocol"),
    (loops_at_scale.unscale_each_micro_batch, 1, "scaler-protocol"),
    (loops_at_scale.sync_each_backward, 2, "single-allreduce"),
    (loops_at_scale.synced_twice, 2, "single-allreduce"),
    (loops_at_scale.never_synced, 2, "ranks-agree"),
    (loops_at_scale.tail_never_synced, 2, "ranks-agree"),
    (loops_at_scale.last_only_synced, 2, "ranks-agree"),
    (loops_at_scale.summed_over_ranks, 2, "accumulation-equals-large-batch"),
    (loops_at_scale.clip_before_sync, 2, "clip-global-norm"),
    (loops_at_scale.schedule("schedule_each_micro_batch", len), 1, "scheduler-per-update"),
]


@pytest.mark.parametrize(
    ("loop", "ranks", "name"), FAULTS, ids=[f"{f[0].__name__}-{f[2]}" for f in FAULTS]
)
def test_a_known_fault_fails_exactly_the_property_that_names_it(loop, ranks, name):
    """One fault, one failure, whatever else it breaks."""
    assert failing(run(loop, ranks)) == {name}


UNCLIPPED = [
    (loops.not_divided, "accumulation-equals-large-batch"),
    (loops.wiped_without_clip, "accumulation-not-wiped"),
    (loops.never_cleared_nor_clipped, "gradients-start-fresh"),
]


@pytest.mark.parametrize(("loop", "name"), UNCLIPPED, ids=[name for _, name in UNCLIPPED])
def test_a_fault_of_accumulation_is_named_where_no_clipping_was_asked_for(loop, name):
    """The scenario's expectations do not change what is wrong with a loop."""
    assert failing(run(loop), max_norm=None) == {name}


def test_a_clip_before_the_only_backward_of_a_window_comes_at_the_wrong_moment():
    """With windows of one it has nothing to clip; that is no empty iterator."""
    seen = failing(run(loops.clip_before_backward_single), accumulates=False)
    assert seen == {"clip-before-step"}


def test_a_lost_batch_within_a_pass_is_named_by_the_property_about_batches():
    """The loader's own count says so."""
    assert failing(run(loops.right, batches_lost=4, lost_at_end=4)) == {"no-batch-lost"}


SOUND: list[tuple[str, Callable[[Loop], None], int]] = [
    ("loss over N, clip, step, zero", loops.right, 1),
    ("every real sample weighs the same", loops.sample_mean, 1),
    ("sum of losses, gradients divided later", loops.sums_divided_later, 1),
    ("a norm without a threshold, for the log", loops.norm_for_the_log, 1),
    ("a short last window divided by the full count", loops.short_window_underweighted, 1),
    ("zero_grad at the start", loops.zero_at_the_start, 1),
    ("real loss scaling", loops_at_scale.amp, 1),
    ("loss scale halved after each window", loops_at_scale.amp_scale_falls, 1),
    ("unscaled by hand", loops_at_scale.unscaled_by_hand, 1),
    ("one all-reduce a window", loops_at_scale.ddp, 2),
    ("a schedule per update", loops_at_scale.schedule("schedule", lambda w: 1), 1),
    (
        "a schedule per epoch",
        loops_at_scale.schedule("schedule", lambda w: int(len(w) < loops.N)),
        1,
    ),
    (
        "one step an update and one an epoch",
        loops_at_scale.schedule("schedule", lambda w: 1 + (len(w) < loops.N)),
        1,
    ),
    ("no schedule", loops_at_scale.schedule("schedule", lambda w: 0), 1),
]


@pytest.mark.parametrize(("loop", "ranks"), [s[1:] for s in SOUND], ids=[s[0] for s in SOUND])
def test_a_right_loop_fails_nothing(loop, ranks):
    """Spelling, order and weighting vary; the gradient is right."""
    assert failing(run(loop, ranks)) == set()


def test_a_loop_that_clips_although_nobody_asked_fails_nothing():
    """A common norm of the loud windows is a threshold, whatever its value."""
    assert failing(run(loops.right), max_norm=None) == set()
    assert failing(run(loops.other_threshold), max_norm=None) == set()


def test_a_loop_may_choose_its_threshold_where_the_scenario_lets_it():
    """Any constant threshold between the bounds is right."""
    bounds = {"max_norm": None, "max_norm_between": (0.5, 5.0)}
    assert failing(run(loops.other_threshold), **bounds) == set()


def test_clipping_by_group_fails_nothing_where_no_clipping_was_asked_for():
    """Per-layer, per-group and value clipping are choices."""
    assert failing(run(loops.head_only), max_norm=None) == set()
    assert failing(run(loops.by_value), max_norm=None) == set()
