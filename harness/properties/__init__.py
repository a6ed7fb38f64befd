"""The ways in which training loops go wrong, one claim a file; each is a pure function of a trace.

Three questions, because one fault breaks many numbers: did the program run far enough to be
judged (``completion``), what does the property itself say, and which failure accounts for which
(``explanations``).
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations, PropertyRule, Scenario
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties import (
    accumulation_equals_large_batch,
    accumulation_not_wiped,
    clip_before_step,
    clip_global_norm,
    clip_inactive_when_small,
    clip_once_per_update,
    clip_per_group,
    diagnosis_is_right,
    every_parameter_learns,
    finite_loss,
    first_update_not_lost,
    gradient_reaches_every_layer,
    gradients_start_fresh,
    groups_bounded,
    inf_steps_skipped,
    loss_as_given,
    loss_finite_on_adverse_inputs,
    measurement_is_fair,
    nan_reported_before_backward,
    no_batch_lost,
    noise_is_new,
    one_update_per_window,
    params_stay_finite,
    ranks_agree,
    scaler_protocol,
    scheduler_per_update,
    single_allreduce,
    still_learns,
    training_unchanged,
    unscaled_norm,
)
from harness.properties.evidence.settings import with_own_settings
from harness.properties.judging.apart import by_part
from harness.properties.judging.bad_batches import convicted
from harness.properties.judging.explanations import explain_away
from harness.properties.judging.guards import levelled, rules_for, rules_of
from harness.properties.judging.late_clips import convicted_of_waiting
from harness.properties.judging.property import Property

__all__ = ["PROPERTIES", "Property", "judge", "judge_by", "judge_one", "judging_in"]

PROPERTIES: dict[str, Property] = {
    module.PROPERTY.id: module.PROPERTY
    for module in (
        finite_loss,
        loss_finite_on_adverse_inputs,
        nan_reported_before_backward,
        params_stay_finite,
        gradients_start_fresh,
        accumulation_not_wiped,
        accumulation_equals_large_batch,
        loss_as_given,
        one_update_per_window,
        no_batch_lost,
        clip_before_step,
        clip_global_norm,
        clip_once_per_update,
        clip_inactive_when_small,
        clip_per_group,
        groups_bounded,
        unscaled_norm,
        scaler_protocol,
        inf_steps_skipped,
        scheduler_per_update,
        first_update_not_lost,
        single_allreduce,
        ranks_agree,
        noise_is_new,
        every_parameter_learns,
        gradient_reaches_every_layer,
        still_learns,
        training_unchanged,
        diagnosis_is_right,
        measurement_is_fair,
    )
}
"""Every property by id, in the order in which a reader meets them."""


def judge(trace: Trace, scenario: Scenario) -> tuple[Verdict, ...]:
    """One verdict for each property that the scenario lists, or that the trace calls for."""
    return judge_by(trace, scenario.properties, scenario.expectations)


def judge_by(
    trace: Trace, rules: Sequence[PropertyRule], expectations: Expectations
) -> tuple[Verdict, ...]:
    """The same by rules and expectations alone: without either, a program is judged by its own
    settings.
    """
    expects = with_own_settings(expectations, trace)
    judging = rules_for(trace, rules, expectations, PROPERTIES)
    found = [judge_one(PROPERTIES[rule.id], trace, expects) for rule in judging]
    return explain_away(tuple(levelled(found, judging)), PROPERTIES)


def judging_in(scenario: Scenario) -> tuple[PropertyRule, ...]:
    """What judges a program that sets out to do just what the scenario is about."""
    return rules_of(scenario, PROPERTIES)


def judge_one(one: Property, trace: Trace, expectations: Expectations) -> Verdict:
    """What one property says by itself, explained by no other."""
    verdict = convicted(by_part(one, trace, expectations), trace)
    return convicted_of_waiting(verdict, trace, expectations)
