"""A folder that nobody can list: not even root, whom permissions do not stop."""

import os
from pathlib import Path

_NAME = "x" * 250
_DEPTH = 20  # together longer than any path that the kernel takes


def folder_in(place: Path) -> Path:
    """The first of a chain so long that its end has no path; it is made from folder to folder."""
    here = os.open(place, os.O_RDONLY)
    for _ in range(_DEPTH):
        os.mkdir(_NAME, dir_fd=here)
        inner = os.open(_NAME, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    return place / _NAME
