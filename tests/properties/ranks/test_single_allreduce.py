from tests.fakes.traces import micro_batch, probe, rank, trace, update
from tests.properties.verdicts import on

ID = "single-allreduce"


def ranks(rounds, *exchanged):
    beside = exchanged or (0.0,) * 3
    return of([update(i, rounds=rounds, exchanged=e) for i, e in enumerate(beside)])


def of(made):
    return trace(probe("plain", ranks=[rank(made), rank(made, 1)]))


def test_one_round_passes_also_with_some_scalars_beside():
    """A reduced loss or flag is no round."""
    assert on(ID, ranks(1.0)).outcome == "pass"
    assert on(ID, ranks(1.02)).outcome == "pass"


def test_rounds_over_gradients_of_which_samples_were_recorded_are_not_counted():
    """All elements were reduced, and a few are known."""
    made = [rank([update(i, rounds=821.0) for i in range(3)], r) for r in (0, 1)]

    assert on(ID, trace(probe("plain", ranks=made, sampled=True))).outcome == "inconclusive"


def test_a_round_for_each_micro_batch_fails():
    """The values are right and four times the traffic."""
    verdict = on(ID, ranks(4.0))
    assert verdict.outcome == "fail"
    assert "synchronised 4 times for one update of 4" in verdict.sentence


def test_what_goes_over_the_ranks_beside_reductions_could_be_gradients():
    """Gathered after each micro-batch they are synchronised as often as by a reduction."""
    assert on(ID, ranks(1.0, 12.0, 12.0, 12.0)).outcome == "inconclusive"
    assert on(ID, ranks(4.0, 12.0, 12.0, 12.0)).outcome == "fail"


def test_parameters_that_are_sent_once_pass():
    """From rank 0 to the others at the start, or gathered after each update as ZeRO does."""
    assert on(ID, ranks(1.0, 4.0, 0.0, 0.0)).outcome == "pass"
    assert on(ID, ranks(1.0, 1.5, 1.5, 1.5)).outcome == "pass"
    alone = [update(i, rounds=1.0, exchanged=2.0, window_size=1) for i in range(3)]
    assert on(ID, of(alone)).outcome == "pass"


def test_no_round_is_another_question():
    """Whether ranks agree decides."""
    assert on(ID, ranks(0.0)).outcome == "inconclusive"


def test_one_rank_is_inconclusive():
    """Nobody to synchronise with."""
    assert on(ID, trace(probe("plain", update(0, rounds=1.0)))).outcome == "inconclusive"


def test_a_round_for_each_of_two_backwards_over_one_graph_is_told_as_that():
    """no_sync would not help a hook that reduces in the last micro-batch, and runs twice there."""
    twice = [micro_batch(i, backwards=2) for i in range(4)]
    verdict = on(ID, of([update(i, rounds=2.0, micro_batches=twice) for i in range(3)]))
    assert verdict.outcome == "fail"
    assert "Backward ran 2 times over each graph" in verdict.sentence
    assert "no_sync" in on(ID, ranks(2.0)).sentence
