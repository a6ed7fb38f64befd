"""Is the new skill better or worse, or is that inconclusive? Pure: records in, records out.

The scenario is the unit; trials of one scenario only say how well its rate is known. ``compare``
reads two runs, ``plan`` says beforehand what they could show. The statistics and what was measured
about them are on ``docs/statistics.md``.
"""

from harness.comparison.compare import compare
from harness.comparison.plan import plan
from harness.comparison.rounds import looks_of
from harness.comparison.rounds_plan import rounds_measured, rounds_plan, shapes

__all__ = [
    "compare",
    "looks_of",
    "plan",
    "rounds_measured",
    "rounds_plan",
    "shapes",
]
