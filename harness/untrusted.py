"""What strangers hand in: which files are opened, how much of them is read, for how long, and what of
a YAML document is built.
"""

import ctypes
import errno
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import yaml

from harness.domain.errors import UserError

LONGEST = 16 << 20
"""Bytes of one file that are read."""

SECONDS = 5.0
"""Processor time that reading one input may take; to find its program takes as much again."""

DEEPEST = 60
"""Levels of a YAML document."""

MOST_NODES = 200_000
"""Nodes of a YAML document, with everything that its aliases stand for."""

_KERNEL = ("/proc/", "/sys/")
_LOOK = 0.25  # seconds between two looks at the clock


class TooLong(UserError):
    """Reading took longer than any input may take."""


def kind_of(path: Path) -> str | None:
    """What a path is, where that is no file and no folder; links are followed. A pipe that a shell made
    (``<(...)``) has a writer, and counts as a file.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    except ValueError:
        return "a name that no file can have"
    kinds = {
        "a named pipe": stat.S_ISFIFO(mode) and not _is_of_the_kernel(path),
        "a socket": stat.S_ISSOCK(mode),
        "a device": stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
        "a file of the kernel": stat.S_ISREG(mode) and _is_of_the_kernel(path),
    }
    return next((name for name, holds in kinds.items() if holds), None)


def _is_of_the_kernel(path: Path) -> bool:
    return os.path.realpath(path).startswith(_KERNEL)


def read_bytes(path: Path, largest: int = LONGEST) -> bytes:
    """All of a file.

    Raises:
        OSError: it is no file, it is larger than ``largest``, or it cannot be read.
    """
    kind = kind_of(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
    with path.open("rb") as file:
        data = file.read(largest + 1)
    if len(data) > largest:
        said = f"it is larger than {_size(largest)}, the most that is read of one file"
        raise OSError(errno.EFBIG, said, str(path))
    return data


def _size(size: int) -> str:
    return f"{size / (1 << 20):.2g} MiB"


@contextmanager
def in_time(what: Path | str, seconds: float = SECONDS) -> Iterator[None]:
    """Break off what takes more processor time than that, in whichever thread it runs: a signal would
    reach the main one alone, and belongs to whoever imports the harness. ``what``: what is read.

    Raises:
        TooLong: it did.
    """
    limit = f"reading it took more than {seconds:.0f} s of processor time"
    sentence = f"{shown(what)}: {limit}; hand in a part of it"

    class Late(TooLong):
        def __init__(self) -> None:  # it is raised in another thread, which takes a class only
            super().__init__(sentence)

    thread, lock = threading.get_ident(), threading.Lock()
    over, late = threading.Event(), threading.Event()
    clock = time.pthread_getcpuclockid(thread)
    end = time.clock_gettime(clock) + seconds

    def look() -> None:
        while not over.wait(_LOOK):
            with lock:
                if not over.is_set() and time.clock_gettime(clock) > end:
                    late.set()
                    _raise_in(thread, Late)

    threading.Thread(target=look, name="budget", daemon=True).start()
    try:
        yield
    finally:
        with lock:
            over.set()
            if late.is_set():  # to take back what was never sent hangs cProfile on Python 3.11
                _raise_in(thread, None)


def _raise_in(thread: int, error: type[TooLong] | None) -> None:
    """Raise it in a thread between two of its steps, or take back what was not raised yet."""
    what = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


def yaml_node(text: str, loader: type[yaml.SafeLoader | yaml.CSafeLoader]) -> yaml.Node | None:
    """A YAML document as nodes, once it is known that it is neither deep nor large, aliases included.

    Raises:
        yaml.YAMLError: it is no YAML, or too much of it.
    """
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _too_much(f"it is nested more than {DEEPEST} levels deep", event)
    root: yaml.Node | None = yaml.compose(text, Loader=loader)
    if root is not None and _weight(root, {}, ()) > MOST_NODES:
        raise _too_much(f"it stands for more than {MOST_NODES} values, aliases included", root)
    return root


def _too_much(said: str, at: yaml.Node | yaml.Event) -> yaml.YAMLError:
    return yaml.composer.ComposerError(None, None, said, cast("yaml.error.Mark", at.start_mark))


def _weight(node: yaml.Node, known: dict[int, int], above: tuple[int, ...]) -> int:
    """How many values a node stands for. One that holds itself counts once."""
    if id(node) in above or isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        within = (*above, id(node))
        parts = node.value if isinstance(node, yaml.SequenceNode) else sum(node.value, ())
        known[id(node)] = 1 + sum(_weight(part, known, within) for part in parts)
    return known[id(node)]


def safe_yaml(text: str) -> object:
    """A YAML document as plain values.

    Raises:
        yaml.YAMLError: it is no YAML, or too much of it.
    """
    if yaml_node(text, yaml.SafeLoader) is None:
        return None
    try:
        return yaml.safe_load(text)
    except (ValueError, RecursionError, ArithmeticError) as error:  # a date has no month 13
        raise yaml.YAMLError(str(error).partition("\n")[0]) from error


def shown(path: Path | str) -> str:
    """A path as text; bytes of it that are no text are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")
