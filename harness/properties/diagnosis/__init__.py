"""Diagnosis: what a program measures and says of its training, and that looking changes nothing."""

from harness.properties.diagnosis import diagnosis_is_right, measurement_is_fair, training_unchanged

PROPERTIES = (
    training_unchanged.PROPERTY,
    diagnosis_is_right.PROPERTY,
    measurement_is_fair.PROPERTY,
)
"""In the order in which a reader meets them."""
