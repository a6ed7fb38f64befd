"""Whose fault it was, as a tree.

HarnessError
    UserError               the user's input or environment: one sentence, exit code 2
        BankError           a scenario file is not as it must be (file and line in the sentence)
        UsageError          an argument names something that does not exist
        CannotExecuteHere   this machine lacks what running candidates needs
    HarnessFault            ours: exit code 3, with the traceback
"""

import re
from pathlib import Path

from pydantic import ValidationError


class HarnessError(Exception):
    """The root: nothing raises it directly."""


class UserError(HarnessError):
    """Something that the user can repair. The message is one sentence that says how."""


class BankError(UserError):
    """A file of the bank is invalid."""

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        """Say ``path:line: problem``; ``line`` is 1-based, ``None`` when the whole file is meant."""
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {problem}")


class UsageError(UserError):
    """An argument names something that does not exist or cannot be combined."""


class NoReply(UserError):
    """A reply that a judge of the text needs was not recorded; others may be there."""


class CannotExecuteHere(UserError):
    """This machine lacks something that running candidates needs."""


class HarnessFault(HarnessError):
    """A fault of the harness itself. It is never counted against a candidate."""


def reason(error: Exception) -> str:
    """Why a file cannot be used, in half a sentence; the caller adds where."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        said = in_words(first["msg"])
        return f"{where}: {said}" if where else said
    if isinstance(error, UnicodeDecodeError):
        return f"it is no UTF-8 text (byte {error.start})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0]


PLAINLY = (
    (r" ?Value error,", ""),
    (r"Input should be greater than or equal to (\S+)", r"expected \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"expected at most \1"),
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be a valid (dictionary|list|tuple|boolean|string).*", r"expected a \1"),
    (r"Input should be ", "expected "),
    (r"^Field required", "it is missing"),
    (r"^Extra inputs are not permitted", "it is not known"),
    (r"^Got unexpected extra argument\(?s?\)? \((.*)\)", r"\1: nothing more was expected"),
)


def in_words(said: str) -> str:
    """What a library says of a value or a command line, as the harness says it."""
    for told, plain in PLAINLY:
        said = re.sub(told, plain, said)
    return said.strip()
