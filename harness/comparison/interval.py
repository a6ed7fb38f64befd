"""An interval for the mean difference that covers with ten scenarios.

Bonett and Price (2012) adjust the interval for two paired proportions by imagining one more pair
each way before the usual formula. Here a scenario's difference is a mean over trials, the imagined
ones are as large as the noise of that many trials (at most five), and Student's t takes the place of
the normal. For single trials it is their interval. ``docs/statistics.md`` shows what it covers.
"""

import numpy as np
from scipy import stats

from harness.comparison.sign_flip import Floats


def interval(differences: Floats, noise: float, p: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Lower and upper end for each row, with confidence ``1 - alpha``.

    ``differences``: (comparisons, scenarios), each -1 to 1. ``noise``: sum of squares of the two
    imagined scenarios, 2 for single trials. ``p``: (comparisons,), of the exact test, with which
    the interval agrees: zero lies inside it exactly when the test does not reject zero.
    """
    count = differences.shape[1] + 2
    total = differences.sum(axis=1)
    centre = total / count
    variance = ((differences**2).sum(axis=1) + noise) / count - centre**2
    half = stats.t.ppf(1 - alpha / 2, count - 1) * np.sqrt(variance / count)
    low, high = np.maximum(centre - half, -1), np.minimum(centre + half, 1)
    kept, up = p > alpha, total > 0
    low = np.where(kept, np.minimum(low, 0), np.where(up, np.maximum(low, 0), low))
    high = np.where(kept, np.maximum(high, 0), np.where(up, high, np.minimum(high, 0)))
    return low, high
