"""What was lent to the program of this process, in words: one candidate runs in a process."""

import os

MOST = 200
"""So many things are told; a program may read thousands of files."""

_said: list[str] = []
_guessed: list[str] = []
_doubted: list[str] = []
_hollow: set[str] = set()


def is_whole(file: str | os.PathLike[str]) -> bool:
    """Whether a file is there and holds anything: of some only the names are written."""
    return os.path.exists(file) and os.stat(file).st_size > 0


def hollow(file: str | os.PathLike[str]) -> None:
    """Note that of a file only the name was written."""
    _hollow.add(os.path.abspath(file))


def is_hollow(file: str | os.PathLike[str]) -> bool:
    """Whether that was noted."""
    return os.path.abspath(file) in _hollow


def lend(what: str) -> None:
    """Note that something was lent; the same words are noted once."""
    if what not in _said and len(_said) < MOST:
        _said.append(what)


def guess(file: str, what: str) -> None:
    """Note that something was lent for a file whose form nobody can know."""
    if file not in _guessed:
        _guessed.append(file)
    lend(f"{file}: {what}")


def doubt(file: str) -> None:
    """Note that a program found nothing where a file or a folder is not here."""
    _doubted.append(file)


def all_lent() -> tuple[str, ...]:
    """Everything so far, in order."""
    return tuple(_said)


def guessed() -> tuple[str, ...]:
    """The files of which the form was guessed."""
    return tuple(_guessed)


def doubted() -> tuple[str, ...]:
    """Where nothing was found."""
    return tuple(_doubted)
