import math

from tests.fakes.traces import backward, micro_batch, probe, rank, trace, update
from tests.properties.verdicts import on

ID = "ranks-agree"


def two(disagree, first=3, second=3):
    a, b = ([update(i, rounds=1.0) for i in range(n)] for n in (first, second))
    return trace(probe("plain", ranks=[rank(a), rank(b, 1)], ranks_disagree=disagree))


def test_equal_gradients_and_parameters_pass():
    """To the last bit or to rounding."""
    assert on(ID, two(0.0)).outcome == "pass"
    assert on(ID, two(1e-7)).outcome == "pass"


def test_ranks_that_consume_different_gradients_fail():
    """By how much is told."""
    verdict = on(ID, two(0.4))
    assert verdict.outcome == "fail"
    assert "differ by 0.4" in verdict.sentence


def test_a_difference_that_is_not_finite_fails():
    """One rank is NaN and the other is not."""
    assert on(ID, two(math.inf)).outcome == "fail"
    assert on(ID, two(math.nan)).outcome == "fail"


def test_different_numbers_of_updates_fail():
    """Uneven shards."""
    assert "3, 2 updates" in on(ID, two(math.inf, 3, 2)).sentence


def test_one_rank_is_inconclusive():
    """It agrees with itself."""
    assert on(ID, trace(probe("plain", update(0)))).outcome == "inconclusive"


def test_ranks_that_trained_on_the_same_rows_show_nothing():
    """They agree whether they are synchronised or not; where they differ, they differ."""
    ranks = [rank([update(0, rounds=1.0)]), rank([update(0, rounds=1.0)], 1)]
    agreed, differ = (
        on(ID, trace(probe("plain", ranks=ranks, ranks_disagree=far, same_rows=True)))
        for far in (0.0, 0.4)
    )
    assert (agreed.outcome, differ.outcome) == ("inconclusive", "fail")
    assert "Give each rank rows of its own" in agreed.sentence


def test_ranks_whose_weights_are_made_the_same_again_may_part_in_between():
    """Once may be chance, or where training begins."""
    ranks = [rank([update(0, rounds=1.0)]), rank([update(0, rounds=1.0)], 1)]
    once, often = (
        on(ID, trace(probe("plain", ranks=ranks, ranks_disagree=0.4, brought_together=times)))
        for times in (1, 2)
    )
    assert (once.outcome, often.outcome) == ("fail", "inconclusive")
    assert "2 times their weights were made the same" in often.sentence


def parted(first, second):
    """Two ranks that disagree from their first update on."""
    ranks = [rank([update(0, **first)]), rank([update(0, **second)], 1)]
    return on(ID, trace(probe("plain", ranks=ranks, ranks_disagree=0.4)))


def batches(own, others, of=0):
    """Two micro-batches of each rank, as rank ``of`` consumed them."""
    found = [(of, own), (of, own), (1 - of, others), (1 - of, others)]
    return tuple(
        micro_batch(i, rank=number, coefficient=share) for i, (number, share) in enumerate(found)
    )


def test_micro_batches_that_were_not_synchronised_are_counted():
    """The gradient holds none of the other rank's."""
    apart = [{"micro_batches": batches(2.0, 0.0, of), "window_size": 2} for of in (0, 1)]
    said = parted(*apart).sentence
    assert "plain, update 0, rank 0" in said
    assert "without 2 of the 2 micro-batches of other ranks: they were not synchronised" in said


def test_a_reduction_whose_result_is_not_used_is_told_from_none():
    """It ran, and nothing of it was in ``.grad``."""
    apart = [
        {"micro_batches": batches(2.0, 0.0, of), "window_size": 2, "rounds": 1.0} for of in (0, 1)
    ]
    said = parted(*apart).sentence
    assert "a reduction of every parameter ran, and its result was not in .grad" in said


def test_noise_of_each_rank_is_not_called_a_lack_of_synchronisation():
    """They were synchronised, and what came on top differs."""
    said = parted(
        {"unexplained": 0.16, "rounds": 1.0}, {"unexplained": 0.15, "rounds": 1.0}
    ).sentence
    assert (
        "a part that no micro-batch of any rank gave (of the norm, rank by rank: 0.16, 0.15)"
        in said
    )
    assert "noise that each rank draws for itself" in said


def test_a_clip_on_one_rank_alone_is_not_called_a_lack_of_synchronisation():
    """The same micro-batches, at two norms."""
    said = parted(
        {"true": 5.0, "consumed": 1.0, "micro_batches": batches(0.2, 0.2), "rounds": 1.0},
        {"true": 5.0, "micro_batches": batches(1.0, 1.0, 1), "rounds": 1.0},
    ).sentence
    assert "at the norms 1, 5, rank by rank: each scaled its gradient by itself" in said


def test_a_learning_rate_of_each_rank_is_named():
    """The gradients agree."""
    said = parted({"learning_rates": (0.2,)}, {"learning_rates": (0.4,)}).sentence
    assert "the ranks stepped at different learning rates: 0.2, 0.4" in said


def of_two(sizes, rounds, *, in_vain=False):
    """Two ranks with windows of these sizes, synchronised so often, that share nothing in the first."""
    ranks = []
    for number in (0, 1):
        alone = {"micro_batches": batches(2.0, 0.0, number)}
        updates = [
            update(i, rounds=float(n), window_size=size, **({} if i else alone))
            for i, (size, n) in enumerate(zip(sizes, rounds, strict=True))
        ]
        backwards = [backward(), backward(in_vain=in_vain)]
        ranks.append(rank(updates, number, backwards=backwards))
    return on(ID, trace(probe("plain", ranks=ranks, ranks_disagree=0.4))).sentence


def test_a_step_before_the_first_synchronisation_is_told_as_that():
    """The windows go by another count than no_sync."""
    said = of_two((2, 4, 4), (0, 1, 1))
    assert "the step came before they were synchronised, after 2 micro-batches" in said
    assert "for the first time on the way to update 1" in said


def test_windows_that_are_never_synchronised_or_have_their_size_are_not_told_as_steps_too_soon():
    """Then it is the synchronisation that is missing."""
    assert "on, through the DDP model" in of_two((2, 4, 4), (0, 0, 0))
    assert "on, through the DDP model" in of_two((2, 2, 2), (0, 1, 1))
