"""Accumulation: which micro-batches an optimizer step consumes, and with what weight."""

from harness.properties.accumulation import (
    accumulation_equals_large_batch,
    accumulation_not_wiped,
    gradients_start_fresh,
    loss_as_given,
    no_batch_lost,
    one_update_per_window,
)

PROPERTIES = (
    gradients_start_fresh.PROPERTY,
    accumulation_not_wiped.PROPERTY,
    accumulation_equals_large_batch.PROPERTY,
    loss_as_given.PROPERTY,
    one_update_per_window.PROPERTY,
    no_batch_lost.PROPERTY,
)
"""In the order in which a reader meets them."""
