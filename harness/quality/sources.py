"""Programs beside a scenario: legitimate alternatives and cheats, one a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.domain.errors import BankError
from harness.scenarios.files import LARGEST
from harness.scenarios.programs import decode, program_problem
from harness.scenarios.yaml_tree import Complaint
from harness.untrusted import read_bytes

ProgramKind = Literal["alternatives", "cheats"]


@dataclass(frozen=True, slots=True)
class NamedSource:
    """One program by name."""

    name: str
    """``reference``, or the file's name without ``.py``."""
    text: str
    """The program."""


def read_sources(bank: Path, scenario: str, kind: ProgramKind) -> tuple[NamedSource, ...]:
    """Every program of one kind, by name; empty where there is no such folder.

    Raises:
        BankError: a file is no text or no Python.
    """
    return tuple(_read(path) for path in sorted((bank / scenario / kind).glob("*.py")))


def _read(path: Path) -> NamedSource:
    try:
        text = decode(read_bytes(path, LARGEST))
    except OSError as error:
        raise BankError(path, None, f"cannot be read: {error.strerror}") from error
    problem = text if isinstance(text, Complaint) else program_problem(text)
    if problem is not None:
        raise BankError(path, problem.line or None, problem.sentence)
    assert isinstance(text, str)
    return NamedSource(path.stem, text)
