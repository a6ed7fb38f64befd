"""Files that are there whole or not at all: a disk may fill up, a process may be killed."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes, draft: str = ".draft-") -> None:
    """Write beside the file first and put that in its place: an older one stays until then.

    ``draft``: how the name beside it begins. Raises ``OSError``.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=draft)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(_mode(path))
        Path(name).replace(path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            Path(name).unlink()
        raise


def _mode(path: Path) -> int:
    """That of the older file; of a new one what everybody's files have here, who may read the folder."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    umask = os.umask(0o022)
    os.umask(umask)
    return 0o666 & ~umask
