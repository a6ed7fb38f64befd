"""What is wrong with a bank: every problem at once, in the order of the files."""

import difflib
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.domain.errors import BankError, UserError

_TOLD = 50  # of the problems of a bank; a folder of five thousand has more
_MANY = 30
"""A longer list of names is no help in a sentence."""

_FEW = 5
"""So many names are a suggestion; more are a list."""

_LONG = 3
"""Shorter words stand in half of the names."""

_NOT_IN_WORDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One complaint about one place."""

    path: Path
    """The file, as people would open it from where they stand."""
    line: int
    """1-based line; 0 when the whole file is meant."""
    sentence: str
    """What is wrong and what was expected."""

    @property
    def error(self) -> BankError:
        """The same as an exception."""
        return BankError(self.path, self.line or None, self.sentence)


class BankProblems(UserError):
    """A bank that cannot be used. The message has one line for each problem, and a closing one."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems sorted by file and line, each once."""
        self.errors: tuple[BankError, ...] = tuple(p.error for p in sorted(set(problems)))
        total = len(self.errors)
        said = f"{total} problem{'s' if total > 1 else ''} in the bank; nothing was run"
        left = [f"and {total - _TOLD} more"] if total > _TOLD else []
        told = (str(error) for error in self.errors[:_TOLD])
        super().__init__("\n".join([*told, *left, said]))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean X?``, or what there is, or nothing when that is nothing or too much."""
    names = list(known)
    if meant := _meant(name, names):
        more = f" or one of {len(meant) - _FEW} others" if len(meant) > _FEW else ""
        return f"; did you mean {' or '.join(meant[:_FEW])}{more}?"
    if len(names) > _MANY:
        return ""
    return f"; there {'are' if len(names) > 1 else 'is'} {', '.join(names)}" if names else ""


def _meant(name: str, names: list[str]) -> list[str]:
    """A slip of the finger, a part of a name, a worse slip, or a part with one: the first that is."""
    words, close = _words(name), functools.partial(difflib.get_close_matches, n=1)
    spelt = [next(iter(close(word, _words(" ".join(names)), cutoff=0.75)), word) for word in words]
    slip, worse = (close(name, names, cutoff=cutoff) for cutoff in (0.9, 0.6))
    return slip or _holding(words, names) or worse or _holding(spelt, names)


def _holding(words: list[str], names: list[str]) -> list[str]:
    """The names with all these words in them, the shortest first."""
    if max(map(len, words), default=0) < _LONG:
        return []
    found = [name for name in names if all(word in name.lower() for word in words)]
    return sorted(found, key=len)


def _words(name: str) -> list[str]:
    return [word for word in _NOT_IN_WORDS.split(name.lower()) if word]
