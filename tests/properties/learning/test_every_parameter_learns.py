import math

from tests.fakes.traces import (
    backward,
    learning,
    match,
    parameter,
    probe,
    program,
    rank,
    trace,
    update,
)
from tests.properties.verdicts import on

ID = "every-parameter-learns"


def with_head(consumed):
    parts = [parameter("net.0.weight", 2.0, 2.0), parameter("head.weight", 2.0, consumed)]
    return update(0, matches=[match(parameters=parts)])


def test_parameters_that_get_their_gradient_and_move_pass():
    """Two of them."""
    assert on(ID, trace(probe("plain", update(0)))).outcome == "pass"


def test_a_parameter_without_a_gradient_fails_by_name():
    """Absent is not zero."""
    verdict = on(ID, trace(probe("plain", with_head(None))))
    assert verdict.outcome == "fail"
    assert "head.weight" in verdict.sentence


def test_a_gradient_that_is_taken_away_before_each_step_fails_as_that():
    """The optimizer holds the parameter: a clip relative to a weight of 0 left nothing."""
    verdict = on(ID, trace(probe("plain", with_head(0.0))))
    assert verdict.outcome == "fail"
    assert "head.weight was 0 or as good as 0 at each of 1 step" in verdict.sentence
    assert "Build the optimizer" not in verdict.sentence


def test_a_gradient_that_is_lost_as_a_whole_is_not_called_a_matter_of_some_parameters():
    """A threshold far too low leaves nothing of any: no parameter's own norm is the reason."""
    parts = [parameter(name, 2.0, 1e-9) for name in ("net.0.weight", "head.weight")]
    said = on(ID, trace(probe("plain", update(0, matches=[match(parameters=parts)])))).sentence
    assert "the gradient of every parameter was 0 or as good as 0" in said
    assert "own norm" not in said


def test_a_parameter_that_asks_for_no_gradient_is_said_to_be_frozen():
    """The optimizer may hold it all the same."""
    seen = with_head(None).model_copy(update={"frozen": ("head.weight",)})
    assert "requires_grad is False" in on(ID, trace(probe("plain", seen))).sentence
    assert "requires_grad is False" not in on(ID, trace(probe("plain", with_head(None)))).sentence


def test_a_parameter_that_got_its_gradient_and_rests_is_not_said_to_be_unreached():
    """Its group has a learning rate of 0, or something writes it back."""
    stuck = learning(moved={"net.0.weight": 0.1, "net.2.weight": 0.0})
    rates = (0.1, 0.0)
    said = on(ID, trace(probe("plain", update(0, learning_rates=rates), learning=stuck))).sentence
    assert "the optimizer had their gradient, and a group of it has a learning rate of 0" in said
    assert "puts them back" in on(ID, trace(probe("plain", update(0), learning=stuck))).sentence


def test_a_gradient_below_the_rounding_of_float32_is_none_and_a_small_one_is_one():
    """The floor of an adaptive clip: 1e-8 never starts a head at zero, 1e-3 does."""
    assert on(ID, trace(probe("plain", with_head(1e-9)))).outcome == "fail"
    assert on(ID, trace(probe("plain", with_head(1e-5)))).outcome == "pass"


def test_a_parameter_that_stays_the_same_fails():
    """The optimizer holds another tensor."""
    stuck = learning(moved={"net.0.weight": 0.1, "net.2.weight": 0.0})
    verdict = on(ID, trace(probe("plain", update(0), learning=stuck)))
    assert verdict.outcome == "fail"
    assert "net.2.weight did not move" in verdict.sentence


def test_updates_without_any_gradient_fail():
    """Cleared before the step, or built on other tensors."""
    empty = update(0, consumed=0.0, matches=(), coefficients=(None,) * 4)
    verdict = on(ID, trace(probe("plain", empty)))
    assert verdict.outcome == "fail"
    assert "none of 1 update" in verdict.sentence


def test_a_parameter_whose_true_gradient_is_rounding_may_rest():
    """A bias before a normalisation has none."""
    parts = [parameter("net.0.weight", 2.0, 2.0), parameter("net.0.bias", 1e-9, None)]
    seen = update(0, matches=[match(parameters=parts)])
    assert on(ID, trace(probe("plain", seen))).outcome == "pass"


def test_where_gradients_truly_vanish_nothing_is_asked():
    """Rounding may leave early layers where they are."""
    seen = trace(probe("vanishing", with_head(None)))
    assert on(ID, seen, unhealthy_probe="vanishing").outcome == "inconclusive"


def idle(backwards, implicit=0):
    seen = tuple(backward() for _ in range(backwards))
    fields = {"batches_yielded": backwards, "implicit_updates": implicit}
    return trace(probe("plain", ranks=[rank((), backwards=seen, **fields)]))


def test_a_pass_with_backward_and_without_a_step_fails():
    """Nothing was ever updated."""
    verdict = on(ID, idle(14))
    assert verdict.outcome == "fail"
    assert "nothing was ever updated" in verdict.sentence


def test_gradients_that_the_program_got_handed_over_may_have_gone_where_nobody_looks():
    got = tuple(backward().model_copy(update={"returned": True}) for _ in range(10))
    seen = trace(probe("plain", ranks=[rank((), backwards=got, batches_yielded=10)]))
    assert on(ID, seen).outcome != "fail"


def test_a_trial_of_a_few_backwards_and_an_update_by_hand_are_no_fault():
    """Somebody compares gradients, or writes p -= lr * p.grad."""
    assert on(ID, idle(4)).outcome == "inconclusive"
    assert on(ID, idle(14, implicit=14)).outcome == "inconclusive"


def test_a_learning_rate_of_zero_throughout_fails():
    """A warm-up starts there and goes on."""
    still = learning(moved={"net.0.weight": 0.0, "net.2.weight": 0.0})
    resting = [update(i, learning_rates=(0.0,)) for i in range(3)]
    verdict = on(ID, trace(probe("plain", *resting, learning=still)))
    assert verdict.outcome == "fail"
    assert "the learning rate was 0" in verdict.sentence
    warm = [update(i, learning_rates=(0.1 * i,)) for i in range(3)]
    assert on(ID, trace(probe("plain", *warm))).outcome == "pass"


def test_a_given_model_that_the_program_does_not_train_may_rest():
    """It brings a model of its own, whose parameters were fed."""
    still = learning(moved={"given.weight": 0.0})
    seen = trace(probe("plain", update(0, recomputed=False), learning=still))
    assert on(ID, seen).outcome == "pass"


def without_its_mean(name, kept, dot=None, **window):
    """What is left of a gradient of norm 2; of a projection the product with the whole is its square."""
    whole = parameter("net.0.weight", 4.0, 4.0)
    part = parameter(name, 2.0, kept).model_copy(update={"dot": kept**2 if dot is None else dot})
    made = [update(i, matches=[match(parameters=[whole, part])], **window) for i in range(2)]
    return on(ID, trace(probe("plain", *made)))


def test_what_half_precision_rounds_off_a_bias_is_no_direction():
    """A right loop in bfloat16 was told that a part of its gradient never arrives."""
    assert without_its_mean("net.0.bias", 1.996, tolerance=0.01).outcome == "pass"
    assert without_its_mean("net.0.bias", 1.9, tolerance=0.01).outcome == "fail"


def test_a_bias_whose_gradient_loses_a_direction_in_every_update_fails():
    """Matrices may be centralised, and a clip shortens without turning."""
    verdict = without_its_mean("net.0.bias", 1.5)
    assert verdict.outcome == "fail"
    assert "net.0.bias" in verdict.sentence
    assert "at least 66.1% of the norm" in verdict.sentence
    assert without_its_mean("net.2.weight", 1.5).outcome == "pass"
    assert without_its_mean("net.0.bias", 1.5, dot=3.0).outcome == "pass"
    assert without_its_mean("net.0.bias", 2.0).outcome == "pass"


def test_steps_that_are_left_out_because_no_loss_is_finite_are_not_missing():
    """One finite loss was worth a step."""
    broken = [backward(math.inf, finite=False)] * 10

    def of(*losses):
        return on(ID, trace(probe("plain", ranks=[rank((), backwards=losses, batches_yielded=10)])))

    assert of(*broken).outcome == "inconclusive"
    assert of(*broken[1:], backward()).outcome == "fail"


def test_zeros_in_a_run_that_has_exploded_are_not_called_a_lost_gradient():
    """Most gradients were not finite; saturated units give zeros."""
    zero = with_head(0.0)
    exploded = [
        update(i, matches=(), consumed_norm=math.inf, consumed_finite=False) for i in range(1, 4)
    ]
    assert on(ID, trace(probe("plain", zero, *exploded))).outcome == "inconclusive"
    assert on(ID, trace(probe("plain", zero, exploded[0]))).outcome == "fail"


def with_term(name, *values):
    """An execution whose loss has a term without a gradient."""
    return probe(name, update(0), program=program(constant_values=values))


def test_a_term_without_a_gradient_that_parts_with_the_weights_fails():
    """It begins alike, for so do the weights."""
    parted = trace(
        with_term("as-it-is", 2.0, 1.9, 1.8, 1.7), with_term("quiet", 2.0, 2.0, 2.0, 2.0)
    )

    assert "follows the weights" in on(ID, parted).sentence


def test_a_term_of_the_data_passes_in_whatever_order_another_execution_takes_them():
    """In short passes other batches come second."""
    alike = (2.0, 1.0, 3.0, 4.0)
    seen = trace(
        with_term("as-it-is", *alike),
        with_term("quiet", *alike),
        with_term("many-passes", 2.0, 1.0, 5.0, 6.0),
    )

    assert on(ID, seen).outcome == "pass"
