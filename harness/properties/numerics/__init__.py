"""Numerics: losses and parameters that are finite, and the loop that has to notice."""

from harness.properties.numerics import (
    finite_loss,
    loss_finite_on_adverse_inputs,
    loss_gets_what_it_takes,
    nan_reported_before_backward,
    params_stay_finite,
)

PROPERTIES = (
    finite_loss.PROPERTY,
    loss_finite_on_adverse_inputs.PROPERTY,
    loss_gets_what_it_takes.PROPERTY,
    nan_reported_before_backward.PROPERTY,
    params_stay_finite.PROPERTY,
)
"""In the order in which a reader meets them."""
