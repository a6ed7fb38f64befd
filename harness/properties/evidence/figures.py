"""Numbers as people read them, and as a verdict lists them."""

from collections.abc import Sequence
from statistics import median

from harness.domain.verdict import Number


def show(value: float) -> str:
    """Three significant digits: ``0.25``, ``1.53e-05``, ``nan``."""
    return f"{value:.3g}"


def show_all(values: Sequence[float]) -> str:
    """The values with commas; of more than eight, the first ones and how many there are."""
    most = 8
    text = ", ".join(show(v) for v in values[:most])
    return text if len(values) <= most else f"{text}, ... ({len(values)} in all)"


def count(number: int, noun: str) -> str:
    """``1 window``, ``3 windows``, ``2 micro-batches``."""
    plural = f"{noun}es" if noun.endswith(("tch", "nch")) else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def number(name: str, value: float, where: str = "") -> Number:
    """One figure of a verdict."""
    return Number(name=name, value=float(value), where=where)


def middle(values: Sequence[float]) -> float:
    """The median; 0 for nothing."""
    return float(median(values)) if values else 0.0


def spread(values: Sequence[float]) -> float:
    """How far positive values lie apart, relative to the smallest: 0 when all are equal."""
    if not values:
        return 0.0
    low = min(values)
    return max(values) / low - 1.0 if low > 0 else float("inf")


def close(value: float, target: float, tolerance: float) -> bool:
    """Whether ``value`` equals ``target`` up to a relative tolerance."""
    return abs(value - target) <= tolerance * abs(target)
