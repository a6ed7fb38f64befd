"""Clipping: of which gradient, over which parameters, to which norm, and when."""

from harness.properties.clipping import (
    clip_before_step,
    clip_global_norm,
    clip_inactive_when_small,
    clip_once_per_update,
    clip_per_group,
    groups_bounded,
)

PROPERTIES = (
    clip_before_step.PROPERTY,
    clip_global_norm.PROPERTY,
    clip_once_per_update.PROPERTY,
    clip_inactive_when_small.PROPERTY,
    clip_per_group.PROPERTY,
    groups_bounded.PROPERTY,
)
"""In the order in which a reader meets them."""
