"""Linear warm-up, then cosine decay, counted in updates and never zero.

``step / warmup`` starts at 0, so the first update is computed and thrown away. ``(step + 1) /
warmup`` starts at one part and reaches the full rate after ``warmup`` updates.
"""

from math import cos, pi


def learning_rate_factor(update: int, warmup: int, total: int, lowest: float = 0.0) -> float:
    """What to multiply the base learning rate with at an update, for ``LambdaLR``.

    Args:
        update: updates made so far, from 0. Not micro-batches.
        warmup: updates of warm-up; 0 for none.
        total: updates of the whole training.
        lowest: factor that the decay ends at.

    Returns:
        Above 0 and at most 1 until ``total``, ``lowest`` from there on.

    Raises:
        ValueError: total is not above warmup, or a count is negative.
    """
    if update < 0 or warmup < 0 or total <= warmup:
        raise ValueError(f"need 0 <= update, 0 <= warmup < total: {update}, {warmup}, {total}")
    if update < warmup:
        return (update + 1) / warmup
    progress = min(1.0, (update - warmup) / (total - warmup))
    return lowest + (1.0 - lowest) * 0.5 * (1.0 + cos(pi * progress))
