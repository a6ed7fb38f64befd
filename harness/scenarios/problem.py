"""What is wrong with a bank: every problem at once, in the order of the files."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.domain.errors import BankError, UserError

_MANY = 30
"""A longer list of names is no help in a sentence."""


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
        super().__init__("\n".join([*(str(error) for error in self.errors), said]))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``; did you mean X?``, or what there is, or nothing when that is nothing or too much."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]}?"
    if len(names) > _MANY:
        return ""
    return f"; there {'are' if len(names) > 1 else 'is'} {', '.join(names)}" if names else ""
