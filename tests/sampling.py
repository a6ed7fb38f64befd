"""A corpus in `make test-full`, and a dozen of it in `make test`."""

from collections.abc import Iterable
from typing import Any

import pytest

DOZEN = 12


def sampled(cases: Iterable[Any], size: int = DOZEN) -> list[Any]:
    """Cases of ``parametrize``: all but ``size`` of them, evenly spread, are marked ``full``."""
    every = list(cases)
    kept = {i * len(every) // size for i in range(size)}
    return [
        case if i in kept else pytest.param(*_values(case), marks=pytest.mark.full)
        for i, case in enumerate(every)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
