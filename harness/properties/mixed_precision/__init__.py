"""Mixed precision: the loss scale, and what has to happen between backward and step."""

from harness.properties.mixed_precision import inf_steps_skipped, scaler_protocol, unscaled_norm

PROPERTIES = (unscaled_norm.PROPERTY, scaler_protocol.PROPERTY, inf_steps_skipped.PROPERTY)
"""In the order in which a reader meets them."""
