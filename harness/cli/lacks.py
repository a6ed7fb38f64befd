"""What a machine ran out of or does not permit, told from the error that it gave: nobody's fault but
repairable.

By the last line of the error, because half of them arrive as the text of another process.
"""

import errno
import traceback
from collections.abc import Iterator
from pathlib import Path

from harness.allowance import too_little_memory

_NO_FOLDER = "the current folder does not exist any more: change to one that does"
_MEMORY = "this process may use too little memory: free some, or give it more"
_THREADS = "this process may start too few processes or threads (ulimit -u, ulimit -v)"
_FULL = "a disk, /dev/shm or the folder for temporary files is full"
_SENTENCES = {
    "MemoryError": _MEMORY,
    "Cannot allocate memory": _MEMORY,
    "cannot allocate memory": _MEMORY,
    "failed to map segment": _MEMORY,
    "can't start new thread": _THREADS,
    "Resource temporarily unavailable": _THREADS,
    "File too large": "this process may not write a file of this size: raise ulimit -f",
    "No space left on device": f"{_FULL}: make room (df -h shows where)",
    "Disk quota exceeded": f"{_FULL} to its quota: make room",
    "No usable temporary directory": f"{_FULL}: make room, or name another one in TMPDIR",
    "'/proc/": "/proc is missing here: mount it (mount -t proc proc /proc)",
    "Unable to find address for: lo": "there is no loopback device: bring it up (ip link set lo up)",
    "Too many open files": "this process may open too few files: raise ulimit -n",
}


_UNUSABLE = (errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP)


def lacking(error: BaseException) -> str | None:
    """What the machine lacks, in a sentence; ``None`` where the error says nothing of the kind."""
    if isinstance(error, FileNotFoundError) and _has_no_folder():
        return _NO_FOLDER
    if isinstance(error, OSError) and error.errno in _UNUSABLE and error.filename is not None:
        return f"{error.filename}: {error.strerror}; name a path that this user can open"
    for line in map(_last_line, _causes(error)):
        for mark, sentence in _SENTENCES.items():
            if mark in line:
                return too_little_memory() or sentence if sentence is _MEMORY else sentence
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _last_line(error: BaseException) -> str:
    return traceback.format_exception_only(error)[-1].rstrip().rpartition("\n")[2]


def _has_no_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False
