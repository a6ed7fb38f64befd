"""Every operator: ways in which a right loop becomes wrong."""

from harness.quality.operators import (
    accumulation,
    adversarial,
    clipping,
    depth,
    frameworks,
    loading,
    noise,
    observing,
    scaling,
    synchronising,
    updating,
    warming,
)

OPERATORS = (
    *clipping.OPERATORS,
    *scaling.OPERATORS,
    *accumulation.OPERATORS,
    *updating.OPERATORS,
    *noise.OPERATORS,
    *synchronising.OPERATORS,
    *observing.OPERATORS,
    *warming.OPERATORS,
    *depth.OPERATORS,
    *frameworks.OPERATORS,
    *adversarial.OPERATORS,
    *loading.OPERATORS,
    *clipping.WAITING,
)
"""In the order of the matrix."""
