"""Reads the files of a bank, remembers what was read and collects what is wrong."""

import difflib
import errno
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from harness.scenarios.problem import Problem
from harness.scenarios.programs import decode
from harness.scenarios.yaml_tree import Complaint
from harness.untrusted import read_bytes

LARGEST = 1 << 20
"""Bytes of one file of a bank."""


def is_scenario(folder: Path) -> bool:
    """Whether a folder of a bank is meant as a scenario: not hidden, and with a file of one in it.
    So a bank may lie beside what is none: skills, pictures, its own code.
    """
    if folder.name[0] in "._":
        return False
    return any((folder / file).exists() for file in ("scenario.yaml", "prompt.md", "buggy.py"))


@dataclass(slots=True)
class BankFiles:
    """The files of one bank."""

    bank: Path
    """Its folder, with no link on the way."""
    problems: list[Problem] = field(default_factory=list)
    """What was wrong so far."""
    read: dict[str, bytes] = field(default_factory=dict)
    """What was read, by path relative to the folder that holds the bank."""
    ids: dict[str, Path] = field(default_factory=dict)
    """Which file claimed which id."""

    def text(self, path: Path, role: str) -> str | None:
        """A file as text; ``None`` after a complaint. ``role`` says what it is for."""
        try:
            self._refuse_outside(path)
            data = read_bytes(path, LARGEST)
        except FileNotFoundError:
            self.complain(path, Complaint(0, f"there is no such file ({role}){_near(path)}"))
            return None
        except OSError as error:
            self.complain(path, Complaint(0, f"cannot be read: {error.strerror}"))
            return None
        self.read[path.relative_to(self.bank.parent).as_posix()] = data
        text = decode(data)
        if isinstance(text, Complaint):
            self.complain(path, text)
            return None
        return text

    def _refuse_outside(self, path: Path) -> None:
        if not Path(os.path.realpath(path)).is_relative_to(self.bank.parent):
            raise OSError(errno.EPERM, "it is a link that leaves the bank", str(path))

    def claim(self, name: str, path: Path, line: int) -> None:
        """Take an id for a file; a second claim is a problem."""
        first = self.ids.setdefault(name, path)
        if first != path:
            sentence = f"the id {name} is already that of {_from_here(first)}"
            self.complain(path, Complaint(line, sentence))

    def complain(self, path: Path, *complaints: Complaint) -> None:
        """Remember problems of one file."""
        self.problems += [Problem(_from_here(path), c.line, c.sentence) for c in complaints]

    @property
    def digest(self) -> str:
        """Hash of everything that was read, and of where."""
        total = hashlib.sha256()
        for name, data in sorted(self.read.items()):
            total.update(f"{name}\0{len(data)}\0".encode())
            total.update(data)
        return total.hexdigest()


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _near(path: Path) -> str:
    try:
        siblings: Iterable[str] = sorted(p.name for p in path.parent.iterdir() if p.is_file())
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, list(siblings), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""
