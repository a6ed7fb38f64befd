"""Whose fault it was, as a tree.

HarnessError
    UserError               the user's input or environment: one sentence, exit code 2
        BankError           a scenario file is not as it must be (file and line in the sentence)
        UsageError          an argument names something that does not exist
        CannotExecuteHere   this machine lacks what running candidates needs
    HarnessFault            ours: exit code 3, with the traceback
"""

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
        return f"{where}: {first['msg']}" if where else first["msg"]
    if isinstance(error, UnicodeDecodeError):
        return f"it is no UTF-8 text (byte {error.start})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0]
