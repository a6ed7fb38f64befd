from tests.fakes.traces import match, parameter, probe, program, trace, update
from tests.properties.verdicts import on

ID = "gradient-reaches-every-layer"

LAYERS = 12


def stack(share, *, layers=LAYERS, zeros=0, consumed=None, index=0, name="net.{}", **fields):
    """One update; the gradient falls by a constant factor a layer, to ``share`` at the first.

    ``zeros``: of how many early layers it is exactly 0.
    """
    norms = [0.0 if i < zeros else share ** (1 - i / (layers - 1)) for i in range(layers)]
    parts = [
        parameter(f"{name.format(i)}.{kind}", norm, norm if consumed is None else consumed)
        for i, norm in enumerate(norms)
        for kind in ("weight", "bias")
    ]
    seen = [match("as-computed", parameters=parts)]
    return update(index, matches=seen, **{"output_spread": 0.5, **fields})


def constant(weight, *, head=None, layers=LAYERS, bias="bias", **fields):
    """One update of a stack whose last bias gets a gradient of 1, each weight ``weight`` of it.

    ``head``: what the last weight gets instead.
    """
    weights = [weight] * (layers - 1) + [weight if head is None else head]
    parts = [parameter(f"net.{i}.weight", norm, norm) for i, norm in enumerate(weights)]
    parts += [parameter(f"net.{i}.{bias}", 0.6**i, 0.6**i) for i in range(layers)]
    seen = [match("as-computed", parameters=parts)]
    return update(fields.pop("index", 0), matches=seen, **{"output_spread": 3e-5, **fields})


def verdict_on(*updates, **expectations):
    return on(ID, trace(probe("deep", *updates)), **expectations)


def test_a_gradient_that_shrinks_in_every_layer_fails():
    """The sentence names the layer that gets least."""
    verdict = verdict_on(stack(1e-12))
    assert verdict.outcome == "fail"
    assert "6 of 12 layers" in verdict.sentence
    assert "layer net.0" in verdict.sentence


def test_layers_that_get_about_the_same_pass():
    """A thousandth is still a gradient."""
    for share in (1.0, 1e-3):
        assert verdict_on(stack(share)).outcome == "pass"


def test_between_starved_and_fed_nothing_is_said():
    """Tanh with torch's own weights is slow, and learns in the end."""
    assert verdict_on(stack(5e-6)).outcome == "inconclusive"


def test_layers_that_start_at_zero_may_catch_up():
    """Branches that begin as the identity have no gradient inside of them at the first update."""
    first, later = stack(1.0, zeros=6, moved=3.0), stack(1e-2, index=1)
    assert verdict_on(first, later).outcome == "pass"
    assert verdict_on(first, stack(1e-2, zeros=6, index=1)).outcome == "fail"


def test_layers_that_wait_for_a_head_that_hardly_moves_are_compared_among_themselves():
    """At a rate of 1e-6 all of them get a millionth of its gradient, and nothing has vanished yet."""

    def waking(last):
        norms = [last ** (1 - i / (LAYERS - 2)) * 1e-7 for i in range(LAYERS - 1)]
        parts = [parameter(f"net.{i}.weight", norm, norm) for i, norm in enumerate([*norms, 1.0])]
        return update(1, matches=[match("as-computed", parameters=parts)], output_spread=0.5)

    first = stack(1.0, zeros=LAYERS - 1, moved=1e-6)
    assert verdict_on(first, waking(0.1)).outcome == "inconclusive"
    assert verdict_on(first, waking(1e-12)).outcome == "fail"


def test_weights_that_are_thrown_about_make_another_model():
    """A rate of 10 finds some that pass gradient, after the loss has exploded."""
    assert verdict_on(stack(1e-12, moved=3.0), stack(0.3, index=1)).outcome == "fail"
    assert verdict_on(stack(5e-7, moved=1e-3), stack(1e-4, index=1)).outcome == "pass"


def test_gradients_that_are_no_derivatives_may_fail_and_not_pass():
    """A detached path starves what lies before it; where it feeds, it may lead anywhere."""
    untrue = program(untrue="`Net` gives other gradients")

    def on_it(share, name=ID):
        return on(name, trace(probe("deep", stack(share)).model_copy(update={"program": untrue})))

    assert on_it(1e-12).outcome == "fail"
    assert on_it(1.0).outcome == "inconclusive"
    assert "`Net` gives other gradients" in on_it(1.0).sentence
    assert "Nothing can be judged" in on_it(1e-12, "finite-loss").sentence


def test_a_gradient_that_was_stretched_by_layer_is_still_starved():
    """What the oracle recomputed counts, and not what was handed to the optimizer."""
    assert verdict_on(stack(1e-12, consumed=1.0)).outcome == "fail"


def test_of_a_model_with_exchanged_parts_the_consumed_gradient_counts():
    """The recomputed one is that of the parts that are gone."""
    changed = stack(1e-12, consumed=1.0, output_differs=0.9, recomputed=False)

    assert verdict_on(changed).outcome == "pass"


def test_outputs_that_do_not_depend_on_inputs_are_no_evidence():
    """Noise reaches every layer, and the model stays a constant."""
    assert verdict_on(stack(1.0, output_spread=1e-8)).outcome == "inconclusive"
    assert verdict_on(stack(1.0, output_spread=None)).outcome == "inconclusive"


def test_a_shallow_model_shows_nothing():
    """Three layers pass gradient whatever is between them."""
    assert verdict_on(stack(0.5, layers=3)).outcome == "inconclusive"


def test_a_single_dead_layer_is_no_vanishing():
    """One branch whose units all rest."""
    alive = stack(1.0).matches[0].parameters[2:]
    dead = [parameter(f"net.0.{kind}", 0.0, 0.0) for kind in ("weight", "bias")]
    parts = [*dead, *alive]
    seen = update(0, matches=[match("as-computed", parameters=parts)], output_spread=0.5)
    assert verdict_on(seen).outcome == "inconclusive"


def test_a_bias_without_a_gradient_belongs_to_its_layer():
    """A normalisation behind it takes it away."""
    parts = [
        parameter(f"net.{i}.{kind}", norm, norm)
        for i in range(LAYERS)
        for kind, norm in (("weight", 1.0), ("bias", 1e-12))
    ]
    seen = update(0, matches=[match("as-computed", parameters=parts)], output_spread=0.5)
    assert verdict_on(seen).outcome == "pass"


def test_of_two_models_the_one_that_is_trained_last_counts():
    """Somebody shows the vanishing one first."""
    before, after = stack(1e-12, name="own1.{}"), stack(0.3, index=1, name="own2.{}")
    assert verdict_on(before, after).outcome == "pass"
    assert verdict_on(after, before).outcome == "fail"


def test_where_gradients_are_meant_to_vanish_nothing_is_asked():
    """A probe of a diagnosis."""
    assert verdict_on(stack(1e-12), unhealthy_probe="deep").outcome == "inconclusive"


def test_layers_that_start_at_zero_cannot_catch_up_where_nothing_is_updated():
    """A learning rate of 0 is another fault; what is small and not 0 is starved all the same."""
    first, later = stack(1.0, zeros=6, moved=0.0), stack(1e-2, zeros=6, index=1, moved=0.0)
    assert verdict_on(first, later).outcome == "inconclusive"
    assert verdict_on(stack(1e-12, moved=0.0)).outcome == "fail"


def test_inputs_that_are_lost_on_the_way_forward_fail():
    """Each layer gets its thousandth, and the last bias learns the mean of the targets."""
    verdict = verdict_on(constant(3e-3), constant(1e-3, index=1))
    assert verdict.outcome == "fail"
    assert "3e-05 of the targets' deviation" in verdict.sentence
    assert "0.003 of the gradient that a bias got" in verdict.sentence


def test_a_last_layer_that_starts_at_zero_loses_no_inputs():
    """Its weight gets as much as its bias, while nothing else gets anything yet."""
    first = constant(0.0, head=0.5, output_spread=0.0)
    assert verdict_on(first, constant(1e-5, head=0.5, index=1)).outcome == "inconclusive"
    assert verdict_on(constant(1e-3, head=0.5)).outcome == "inconclusive"


def test_inputs_count_as_lost_only_where_all_figures_say_so():
    """An update that carries them, a spread nobody measured, weights of 0, a bias by another name."""
    lost = constant(3e-3)
    assert verdict_on(lost, constant(3e-3, index=1, output_spread=5e-4)).outcome == "inconclusive"
    assert verdict_on(lost, constant(3e-2, index=1)).outcome == "inconclusive"
    assert verdict_on(constant(3e-3, output_spread=None)).outcome == "inconclusive"
    assert verdict_on(constant(3e-3, bias="shift")).outcome == "inconclusive"
    assert verdict_on(constant(3e-3, layers=4)).outcome == "inconclusive"
    assert verdict_on(constant(0.0)).outcome == "inconclusive"
