"""When Python looks for objects that only hold each other."""

import contextlib
import gc
from collections.abc import Iterator

SELDOM = 50_000
"""New containers after which it looks; Python 3.11's own number is 700."""


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Import without Python's garbage collector, and keep from it what was imported.

    It goes through all objects again each time that their number has grown by a quarter, and finds
    nothing: during the import of torch and its compiler that took 0.7 s of 3.2 s.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def collect_seldom() -> None:
    """For a process that passes records on: they hold no cycles, and to look for some took an eighth of
    the time of the command line and of the oracle.
    """
    gc.set_threshold(SELDOM, 10, 10)
