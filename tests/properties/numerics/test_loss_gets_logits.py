from tests.fakes.traces import probe, program, trace, update
from tests.properties.verdicts import on

ID = "loss-gets-logits"


def of(*squashed):
    ran = program("returned").model_copy(update={"squashed": squashed})
    return trace(probe("as-it-is", update(0), program=ran))


def test_a_loss_of_logits_passes():
    assert on(ID, of()).outcome == "pass"


def test_a_loss_that_takes_softmax_of_a_softmax_fails():
    verdict = on(ID, of("cross_entropy of softmax"))

    assert verdict.outcome == "fail"
    assert "give it the logits" in verdict.sentence


def test_without_updates_it_is_inconclusive():
    assert on(ID, trace(probe("p"))).outcome == "inconclusive"
