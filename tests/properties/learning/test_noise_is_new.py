from tests.fakes.traces import probe, trace, update
from tests.properties.verdicts import on

ID = "noise-is-new"


def noisy(*same):
    """Updates to whose gradients something was added, each with those where it was the same."""
    return trace(
        probe("quiet", *(update(i, unexplained=0.2, same_rest=old) for i, old in enumerate(same)))
    )


def test_noise_that_differs_each_time_passes():
    """Nothing points the same way."""
    verdict = on(ID, noisy((), (), ()))
    assert verdict.outcome == "pass"
    assert "3 updates differs each time" in verdict.sentence


def test_noise_that_repeats_fails():
    """Seeded anew in each step, or in every other one."""
    verdict = on(ID, noisy((), (0,), (0, 1)))
    assert verdict.outcome == "fail"
    assert "quiet, update 1 the same was added to the gradients as in update 0" in verdict.sentence
    assert on(ID, noisy((), (), (0,), (1,))).outcome == "fail"


def test_one_update_or_none_with_noise_cannot_tell():
    """There is nothing to compare."""
    assert on(ID, noisy(())).outcome == "inconclusive"
    assert on(ID, trace(probe("quiet", update(0), update(1)))).outcome == "inconclusive"


def in_pass(index, epoch, old=()):
    one = update(index, coefficients=(1.0,), unexplained=0.2, same_rest=old)
    seen = tuple(m.model_copy(update={"after_batch": (epoch, 0)}) for m in one.micro_batches)
    return one.model_copy(update={"micro_batches": seen})


def test_noise_that_returns_in_the_next_pass_is_no_constant_push():
    """It is seeded by the step within the pass."""
    assert on(ID, trace(probe("quiet", in_pass(0, 0), in_pass(1, 1, (0,))))).outcome == "pass"
    assert on(ID, trace(probe("quiet", in_pass(0, 0), in_pass(1, 0, (0,))))).outcome == "fail"
