from tests.fakes.traces import probe, rank, skipped, trace, update
from tests.properties.verdicts import on

ID = "first-update-not-lost"


def at(*rates, **fields):
    """One update at each of these rates; the parameters move in proportion."""
    return [
        update(i, learning_rates=(rate,), **{"moved": 0.1 * rate, **fields})
        for i, rate in enumerate(rates)
    ]


def test_a_first_update_at_rate_zero_fails():
    """Its gradient was there, and nothing moved."""
    verdict = on(ID, trace(probe("plain", *at(0.0, 0.1, 0.2))))
    assert verdict.outcome == "fail"
    assert "1 update of 3" in verdict.sentence


def test_a_rate_that_moves_nothing_is_as_good_as_zero():
    """LinearLR does not take a factor of 0, so people write 1e-8."""
    assert on(ID, trace(probe("plain", *at(1e-9, 0.1, 0.2)))).outcome == "fail"


def test_every_update_before_the_first_rate_counts():
    """A staircase stays at zero for a while."""
    verdict = on(ID, trace(probe("plain", *at(0.0, 0.0, 0.1, 0.2))))
    assert "2 updates of 4" in verdict.sentence


def test_a_ramp_that_begins_above_zero_passes():
    """At a fifth, at a thousandth, or without any ramp."""
    for first in (0.04, 2e-4, 0.2):
        assert on(ID, trace(probe("plain", *at(first, 0.1, 0.2)))).outcome == "pass"


def test_a_decay_that_ends_at_zero_is_no_start():
    """The last update of a linear decay may have no rate left."""
    assert on(ID, trace(probe("plain", *at(0.2, 0.1, 0.0)))).outcome == "pass"


def test_a_group_that_rests_beside_others_is_a_choice():
    """The backbone is thawed later."""
    updates = [update(i, learning_rates=(0.0, 0.1), moved=0.01) for i in range(3)]
    assert on(ID, trace(probe("plain", *updates))).outcome == "pass"


def test_a_step_without_a_gradient_and_one_that_was_skipped_lose_nothing():
    """A step that silences a warning; an overflow at the start."""
    silent = update(0, consumed=0.0, coefficients=(), learning_rates=(0.0,), moved=0.0)
    for first in (silent, skipped(0)):
        rest = [update(i, learning_rates=(0.1,), moved=0.01) for i in (1, 2)]
        assert on(ID, trace(probe("plain", first, *rest))).outcome == "pass"


def test_a_rate_of_zero_throughout_fails_where_nothing_moved():
    """The updates of an integer division: whatever rate would have come later, these are lost."""
    verdict = on(ID, trace(probe("plain", *at(0.0, 0.0, 0.0))))
    assert verdict.outcome == "fail"
    assert "3 updates of 3" in verdict.sentence


def test_one_update_at_rate_zero_or_one_that_moved_says_nothing():
    """Too little was seen, or the rate that was seen is not the one that counts."""
    moving = [update(i, learning_rates=(0.0,), moved=0.1) for i in range(3)]
    for updates in (at(0.0), moving):
        assert on(ID, trace(probe("plain", *updates))).outcome == "inconclusive"


def test_parameters_that_moved_all_the_same_are_no_lost_update():
    """An optimizer that does not go by its group's rate."""
    first, *rest = at(0.0, 0.1, 0.2)
    moving = first.model_copy(update={"moved": 0.02})
    assert on(ID, trace(probe("plain", moving, *rest))).outcome == "inconclusive"


def test_what_older_traces_do_not_hold_is_not_told():
    """How far an update moved anything is not stored in them."""
    assert on(ID, trace(probe("plain", *at(0.0, 0.1, moved=None)))).outcome == "inconclusive"


def test_each_rank_is_looked_at():
    """One rank whose schedule begins at zero is enough."""
    ranks = [rank(at(0.1, 0.2)), rank(at(0.0, 0.2), number=1)]
    verdict = on(ID, trace(probe("plain", ranks=ranks)))
    assert verdict.outcome == "fail"
    assert "rank 1" in verdict.sentence


def two_groups(*pairs):
    made = [update(i, learning_rates=pair, moved=0.01) for i, pair in enumerate(pairs)]
    return on(ID, trace(probe("plain", *made)))


def test_a_group_whose_warm_up_begins_at_zero_fails_though_others_move():
    """Its part of the first window is thrown away."""
    verdict = two_groups((0.1, 0.0), (0.2, 0.1), (0.3, 0.2))
    assert verdict.outcome == "fail"
    assert "group 1" in verdict.sentence


def test_a_group_that_is_thawed_later_is_not_told():
    """It may rest on purpose; one that rests throughout does."""
    assert two_groups((0.1, 0.0), (0.1, 0.1), (0.1, 0.1)).outcome == "inconclusive"
    assert two_groups((0.1, 0.0), (0.1, 0.0), (0.1, 0.0)).outcome == "pass"


def test_a_warm_up_that_begins_anew_begins_above_zero():
    """Where the rate had been falling, a decay may have ended."""
    again = on(ID, trace(probe("plain", *at(0.1, 0.2, 0.0, 0.1))))
    assert again.outcome == "fail"
    assert "begins anew" in again.sentence
    ended = on(ID, trace(probe("plain", *at(0.2, 0.1, 0.0, 0.2))))
    assert ended.outcome == "inconclusive"


def test_a_first_update_at_the_full_rate_before_the_warm_up_is_not_told():
    """A decay that restarts is no warm-up, and neither is a ramp from its first update on."""
    assert on(ID, trace(probe("plain", *at(0.3, 0.1, 0.2, 0.3)))).outcome == "inconclusive"
    assert on(ID, trace(probe("plain", *at(0.2, 0.1, 0.2, 0.1)))).outcome == "pass"
    assert on(ID, trace(probe("plain", *at(0.1, 0.2, 0.3, 0.4)))).outcome == "pass"


def test_a_rate_of_all_parameters_that_grows_without_end_is_no_group_at_rest():
    """Nothing trains beside it, so no part of a window is thrown away."""
    rates = [1e-9 * 2**i for i in range(31)]
    assert on(ID, trace(probe("plain", *at(*rates, moved=0.01)))).outcome == "inconclusive"
