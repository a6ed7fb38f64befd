from tests.fakes.traces import (
    backward,
    match,
    micro_batch,
    norms,
    parameter,
    probe,
    rank,
    trace,
    update,
)
from tests.properties.verdicts import on

ID = "loss-as-given"
SIZES = (6, 4, 8, 6)


def step(index, true, *, factor, after=1.0, consumed=None, **fields):
    """An update of one batch: backward computed ``factor`` times its gradient, then came ``after``."""
    got = true * factor * after if consumed is None else consumed
    found = [match("as-computed", true=true * factor, consumed=got)]
    found += [match("sample-mean", true=true, consumed=got)]
    alone = micro_batch(index, weight=factor, real_samples=SIZES[index % 4])
    return update(
        index,
        coefficients=(1.0,),
        matches=found,
        consumed_norm=got,
        micro_batches=(alone,),
        **fields,
    )


def seen(factor, *, root=None, low=0.1, name="quiet", **fields):
    """Four updates whose loss was multiplied; ``root``: by what torch's loss function says."""
    of = factor if callable(factor) else lambda size: factor
    steps = [step(i, n, factor=of(SIZES[i]), **fields) for i, n in enumerate(norms(low))]
    told = of if root is None else (lambda size: root)
    backwards = [
        backward(0.5, after=i).model_copy(update={"factor": told(SIZES[i])}) for i in range(4)
    ]
    return trace(probe(name, ranks=[rank(steps, backwards=tuple(backwards))]))


def judged(found, **expectations):
    return on(ID, found, accumulates=False, objectives=("sample-mean",), **expectations)


def test_a_quarter_of_the_loss_in_every_update_fails():
    """No clip and no scaler is why."""
    verdict = judged(seen(0.25))
    assert verdict.outcome == "fail"
    assert "multiplied by 0.25, and so in 4 updates" in verdict.sentence


def test_gradients_multiplied_on_the_way_to_the_step_fail():
    """The loss is the loss, and the optimizer gets a quarter."""
    assert judged(seen(1.0, after=0.25)).outcome == "fail"


def test_a_factor_so_large_that_quiet_gradients_are_clipped_fails():
    """A clip makes nothing larger."""
    assert judged(seen(20.0, consumed=1.0)).outcome == "fail"


def test_a_mean_divided_by_the_size_of_its_batch_fails():
    """The factor differs from batch to batch and follows a rule."""
    verdict = judged(seen(lambda size: 1 / size))
    assert verdict.outcome == "fail"
    assert "divided by the size of the batch" in verdict.sentence


def test_the_loss_as_it_is_passes():
    """And so does a loss scale that is taken out again."""
    assert judged(seen(1.0)).outcome == "pass"
    assert judged(seen(1024.0, after=1 / 1024)).outcome == "pass"


def test_a_loss_of_the_programs_own_is_not_judged():
    """Its mean is in other units, or nobody knows what it was."""
    assert judged(seen(0.25, root=1.0)).outcome == "inconclusive"
    found = seen(0.25)
    unknown = tuple(
        b.model_copy(update={"factor": None}) for b in found.probes[0].ranks[0].backwards
    )
    alone = found.probes[0].ranks[0].model_copy(update={"backwards": unknown})
    silent = trace(found.probes[0].model_copy(update={"ranks": (alone,)}))
    assert judged(silent).outcome == "inconclusive"


def test_half_a_squared_error_is_a_convention():
    """And so is a sum over samples that is divided by a usual size."""
    assert judged(seen(0.5)).outcome == "inconclusive"
    assert judged(seen(lambda size: size / 7)).outcome == "inconclusive"


def test_what_a_clip_or_adam_hides_is_not_judged():
    """A common norm is clipping."""
    assert judged(seen(0.25, low=10.0, consumed=1.0)).outcome == "inconclusive"
    assert judged(seen(0.25, optimizer="AdamW"), max_norm=None).outcome == "inconclusive"
    assert judged(seen(0.25, optimizer="AdamW")).outcome == "fail"


def test_where_updates_gather_batches_another_property_speaks():
    """There a quarter is right."""
    found = on(ID, seen(0.25), accumulates=True, objectives=("sample-mean",))
    assert found.outcome == "inconclusive"


def added(*, times=2, weight=1.0, turned=0.0, backwards=None, **fields):
    """Updates that consume the sum of several backwards over means."""
    steps = []
    for i, true in enumerate(norms(0.1)):
        got = times * weight * true
        found = [match("as-computed", true=got)]
        found += [match("micro-batch-mean", true=true, consumed=got)]
        found += [match("sample-mean", true=true, consumed=got, turned=turned)]
        own = tuple(micro_batch(times * i + k, weight=weight) for k in range(times))
        made = update(i, coefficients=(1.0,) * times, matches=found, consumed_norm=got, **fields)
        steps.append(made.model_copy(update={"micro_batches": own}))
    calls = [backward(0.5, after=i) for i in range(4) for _ in range(backwards or times)]
    return trace(probe("quiet", ranks=[rank(steps, backwards=tuple(calls))]))


def test_the_sum_of_several_backwards_in_each_update_fails():
    """A closure that ran twice and never cleared, or batches that were gathered and not divided."""
    verdict = judged(added())

    assert verdict.outcome == "fail"
    assert "the sum of 2 backwards, 2 times their mean" in verdict.sentence
    assert judged(added(times=4)).outcome == "fail"
    assert judged(added(turned=0.1)).outcome == "fail"  # batches of several sizes


def test_several_backwards_that_were_divided_are_no_sum():
    """Nor is a loss that the program adds up itself, whose terms are its own choice."""
    assert judged(added(times=4, weight=0.25)).outcome != "fail"
    assert judged(added(backwards=1)).outcome != "fail"
    assert judged(added(optimizer="AdamW"), max_norm=None).outcome != "fail"


def centralised(weight, *, kept, root=None):
    """Updates in which one parameter keeps its direction at ``kept`` of its size, and one does not."""
    steps = []
    for i, true in enumerate(norms(0.1)):
        parts = [parameter("bias", true, kept * true)]
        parts += [parameter("weight", true, 0.1 * true).model_copy(update={"dot": 0.0})]
        found = [
            match(o, true=true, consumed=kept * true, turned=0.5, parameters=parts)
            for o in ("as-computed", "sample-mean")
        ]
        own = (micro_batch(i, weight=weight),)
        steps.append(update(i, coefficients=(1.0,), matches=found, micro_batches=own))
    calls = [backward(0.5, after=i).model_copy(update={"factor": root or weight}) for i in range(4)]
    return trace(probe("quiet", ranks=[rank(steps, backwards=tuple(calls))]))


def test_a_quarter_shows_in_the_parameters_that_keep_their_direction():
    """What is centralised or clipped unit by unit points elsewhere as a whole."""
    verdict = judged(centralised(0.25, kept=0.25))

    assert verdict.outcome == "fail"
    assert "multiplied by 0.25" in verdict.sentence
    assert judged(centralised(0.25, kept=1.0)).outcome == "inconclusive"  # scaled back
    assert judged(centralised(1.0, kept=1.0)).outcome == "inconclusive"
    assert judged(centralised(0.25, kept=0.25, root=1.0)).outcome == "inconclusive"  # its own loss
