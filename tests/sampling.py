"""A corpus in `make test-full`, and a dozen of it in `make test`; in `make test-every` also what of it
would be too much for each change.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

DOZEN = 12
MARKS = {False: pytest.mark.full, True: pytest.mark.every}


def sampled(
    cases: Iterable[Any],
    size: int = DOZEN,
    named: Callable[[Any], str] | None = None,
    seldom: Callable[[Any], bool] = lambda case: False,
) -> list[Any]:
    """Cases of ``parametrize``: all but ``size`` of them, evenly spread, are marked ``full``, and
    ``every`` if they are to run seldom.
    """
    every = list(cases)
    kept = kept_of(len(every), size)
    return [
        _case(case, named, [] if i in kept else [MARKS[seldom(case)]])
        for i, case in enumerate(every)
    ]


def kept_of(count: int, size: int) -> set[int]:
    """``size`` numbers below ``count``, evenly spread."""
    return {i * count // size for i in range(size)}


def _case(case: Any, named: Callable[[Any], str] | None, marks: list[pytest.MarkDecorator]) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=marks, id=named(case) if named else None)


def asked(request: pytest.FixtureRequest, parameter: str) -> set[Any]:
    """Cases that the chosen tests of a file ask about: a fixture that runs a table once for all of them
    runs no more.
    """
    here = (i.callspec.params for i in request.session.items if _in_file(i, request.path))
    return {params[parameter] for params in here if parameter in params}


def _in_file(item: pytest.Item, path: Path) -> bool:
    return item.path == path and hasattr(item, "callspec")
