"""Every operator: ways in which a right loop becomes wrong."""

from harness.quality.operators import (
    accumulation,
    clipping,
    observing,
    scaling,
    synchronising,
    updating,
)

OPERATORS = (
    *clipping.OPERATORS,
    *scaling.OPERATORS,
    *accumulation.OPERATORS,
    *updating.OPERATORS,
    *synchronising.OPERATORS,
    *observing.OPERATORS,
)
"""In the order of the matrix."""
