from harness.domain.event import Backward, Clip, Event, Forward, OptimizerStep, ScalerCall
from harness.oracle.event_lines import event_lines
from harness.oracle.facts import Consumed, RankRun


def forward(number: int) -> Forward:
    return Forward(
        id=number,
        model="model",
        training=True,
        differentiable=True,
        autocast=None,
    )


BACKWARD = Backward(function="backward", roots=(), loss_scale=None, gradients_finite=True)
STEP = OptimizerStep(optimizer=0, type="torch.optim.sgd.SGD", groups=())
CLIP = Clip(function="clip_grad_norm_", threshold=1.0, returned=3.5, parameters=6)
UNSCALE = ScalerCall(scaler=0, method="unscale_", enabled=True, scale_before=4.0, scale_after=4.0)


def run(*events: Event) -> RankRun:
    steps = [at for at, event in enumerate(events) if isinstance(event, OptimizerStep)]
    updates = [Consumed([], {}, [], {}, {}, skipped=False, position=p, loss_scale=1) for p in steps]
    return RankRun(events, {}, {}, {}, updates, [], 0, sampled=False)


def test_a_window_is_told_in_order_and_like_lines_are_counted():
    """Two micro-batches, the scaler, the clip, the step."""
    events = (forward(0), BACKWARD, forward(1), BACKWARD, UNSCALE, CLIP, STEP)

    assert event_lines(run(*events), 0) == (
        "2 x forward, backward",
        "scaler.unscale_ at scale 4",
        "clip_grad_norm_ at 1 on 6 gradients, returned 3.5",
        "SGD.step",
    )


def test_a_clip_after_the_step_belongs_to_the_window_that_it_came_too_late_for():
    """And not to the next one."""
    events = run(forward(0), BACKWARD, STEP, CLIP, forward(1), BACKWARD, STEP)

    assert event_lines(events, 0)[-1].startswith("clip_grad_norm_")
    assert event_lines(events, 1) == ("forward, backward", "SGD.step")


def test_a_forward_without_a_backward_is_told_by_itself():
    """An evaluation in the middle of a window."""
    assert event_lines(run(forward(0), forward(1), BACKWARD, STEP), 0)[:2] == (
        "forward",
        "forward, backward",
    )
