"""Schedule: which learning rate each optimizer step gets, and that a run that is taken up goes on."""

from harness.properties.schedule import (
    first_update_not_lost,
    resume_goes_on,
    scheduler_per_update,
)

PROPERTIES = (
    scheduler_per_update.PROPERTY,
    first_update_not_lost.PROPERTY,
    resume_goes_on.PROPERTY,
)
"""In the order in which a reader meets them."""
