"""Schedule: which learning rate each optimizer step gets."""

from harness.properties.schedule import first_update_not_lost, scheduler_per_update

PROPERTIES = (scheduler_per_update.PROPERTY, first_update_not_lost.PROPERTY)
"""In the order in which a reader meets them."""
