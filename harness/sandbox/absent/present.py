"""Files that are there: what lies beside a program is laid into the folder in which it runs."""

import contextlib
import os
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from harness.domain.own import OF_ITS_OWN
from harness.sandbox.order import OwnFile

MOST = 4_000
"""So many files are laid one by one; a folder with more is laid whole, and is not written to."""

SMALL, ALL_SMALL = 1 << 16, 8 << 20
"""Bytes of a file that is copied, so that the program may write it anew, and of all of them."""

STATES = frozenset({".pt", ".pth", ".ckpt", ".tar"})
"""Endings of what a program saves itself: it is read, but nobody is told that it is there, or a training
that is over would be taken up again.
"""

_states: dict[str, str] = {}
"""Where they lie, by the place where the program would find them."""


def lay(files: Iterable[OwnFile]) -> list[str]:
    """Lay files and folders below the working folder, by links or as copies; what was laid, in words."""
    left, laid = [MOST, ALL_SMALL], list[str]()
    for one in files:
        _lay(one.path, os.path.abspath(one.name), left)
        if os.path.lexists(one.name):
            laid.append(one.name)
    return [f"{OF_ITS_OWN}{name}" for name in laid]


def state_at(file: str | os.PathLike[str]) -> str | None:
    """Where a file lies that holds what some program saved; ``None``: there is none."""
    return _states.get(os.path.abspath(file))


def _lay(source: str, place: str, left: list[int]) -> None:
    if not os.path.isdir(source):
        _lay_file(source, place, left)
        return
    try:
        with os.scandir(source) as entries:
            found = sorted(islice(entries, left[0] + 1), key=lambda one: (one.is_dir(), one.name))
    except OSError:
        return  # a link that leads out of what may be read
    if len(found) > left[0]:
        _link(source, place)
        return
    left[0] -= len(found)
    os.makedirs(place, exist_ok=True)
    for entry in found:
        if not entry.name.startswith(".") and not entry.name.endswith((".py", ".pyc")):
            _lay(entry.path, f"{place}/{entry.name}", left)


def _lay_file(source: str, place: str, left: list[int]) -> None:
    size = os.path.getsize(source) if os.path.exists(source) else SMALL + 1
    if Path(source).suffix in STATES:
        _states[place] = source
    elif size > min(SMALL, left[1]):
        _link(source, place)
    else:
        left[1] -= size
        os.makedirs(os.path.dirname(place), exist_ok=True)
        copy = f"{place}.{os.getpid()}"
        with contextlib.suppress(OSError):  # a link that leads out of what may be read
            shutil.copyfile(source, copy)
            os.replace(copy, place)  # another rank may lay the same


def _link(source: str, place: str) -> None:
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with contextlib.suppress(FileExistsError):  # another rank may lay the same
        os.symlink(source, place)
