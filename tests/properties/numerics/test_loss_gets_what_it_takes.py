import pytest

from tests.fakes.traces import probe, program, trace, update
from tests.properties.verdicts import on

ID = "loss-gets-what-it-takes"


def of(*misfed):
    ran = program("returned").model_copy(update={"misfed": misfed})
    return trace(probe("as-it-is", update(0), program=ran))


def test_a_loss_of_logits_passes():
    assert on(ID, of()).outcome == "pass"


def test_a_loss_that_takes_softmax_of_a_softmax_fails():
    verdict = on(ID, of("cross_entropy of what softmax returned"))

    assert verdict.outcome == "fail"
    assert "give it the logits" in verdict.sentence


def test_without_updates_it_is_inconclusive():
    assert on(ID, trace(probe("p"))).outcome == "inconclusive"


def test_rows_beside_columns_fail():
    verdict = on(ID, of("mse_loss of (8, 1) beside (8,)"))

    assert verdict.outcome == "fail"
    assert "compared with each target" in verdict.sentence


@pytest.mark.parametrize(
    ("steps", "updates", "outcome"), [(3, 9, "fail"), (1, 1, "fail"), (1, 2, "pass")]
)
def test_a_critic_that_the_policys_loss_trains_again_and_again_fails(steps, updates, outcome):
    ran = program("returned").model_copy(update={"critics_misled": steps})
    seen = trace(probe("as-it-is", *map(update, range(updates)), program=ran))

    assert on(ID, seen).outcome == outcome
