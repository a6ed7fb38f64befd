from tests.fakes.traces import probe, trace, update
from tests.properties.verdicts import on

ID = "one-update-per-window"


def sized(index, size, **fields):
    return update(index, coefficients=(1.0,) * size, **fields)


def test_a_steady_rhythm_passes():
    """The short last window is no exception."""
    seen = trace(probe("plain", sized(0, 4), sized(1, 4), sized(2, 2, short=True)))
    assert on(ID, seen).outcome == "pass"


def test_an_update_after_the_first_micro_batch_fails():
    """i % 4 == 0 is true at 0."""
    verdict = on(ID, trace(probe("plain", sized(0, 1), sized(1, 4), sized(2, 4))))
    assert verdict.outcome == "fail"
    assert "after 1 micro-batch, while windows have 4" in verdict.sentence


def test_single_micro_batches_fail_where_gathering_was_meant():
    """And pass where it was not."""
    seen = trace(probe("plain", sized(0, 1), sized(1, 1)))
    assert on(ID, seen).outcome == "fail"
    assert on(ID, seen, accumulates=False).outcome == "pass"


def test_the_same_gradient_stepped_twice_fails():
    """An update without a new micro-batch and with the old one."""
    again = update(1, coefficients=(), stale=(1.0,) * 4, matches=())
    verdict = on(ID, trace(probe("plain", sized(0, 4), again, sized(2, 4))))
    assert verdict.outcome == "fail"
    assert "a second time" in verdict.sentence


def test_a_tail_carried_over_is_not_its_business():
    """A larger window in which the data starts again."""
    carried = sized(2, 6)
    samples = [(60,), (70,), (0,), (10,), (20,), (30,)]
    window = tuple(
        m.model_copy(update={"samples": s})
        for m, s in zip(carried.micro_batches, samples, strict=True)
    )
    seen = probe(
        "plain", sized(0, 4), sized(1, 4), carried.model_copy(update={"micro_batches": window})
    )
    assert on(ID, trace(seen)).outcome == "pass"


def test_one_window_is_inconclusive():
    """One beat is no rhythm."""
    assert on(ID, trace(probe("plain", sized(0, 4)))).outcome == "inconclusive"


def test_a_step_after_each_step_fails_although_it_is_as_frequent_as_the_windows():
    """An update without a micro-batch is never the usual window."""
    again = {"coefficients": (), "stale": (1.0,) * 4, "matches": ()}
    seen = [u for i in (0, 2) for u in (sized(i, 4), update(i + 1, **again))]
    verdict = on(ID, trace(probe("plain", *seen, update(4, **again))))
    assert verdict.outcome == "fail"
    assert "a second time" in verdict.sentence
