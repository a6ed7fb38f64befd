"""Learning: that gradients reach what is trained, and that it moves."""

from harness.properties.learning import (
    every_parameter_learns,
    gradient_reaches_every_layer,
    noise_is_new,
    statements_take_effect,
    still_learns,
    training_mode_kept,
)

PROPERTIES = (
    noise_is_new.PROPERTY,
    every_parameter_learns.PROPERTY,
    gradient_reaches_every_layer.PROPERTY,
    still_learns.PROPERTY,
    training_mode_kept.PROPERTY,
    statements_take_effect.PROPERTY,
)
"""In the order in which a reader meets them."""
