"""Whether two machines run the same harness: verdicts are worth nothing otherwise."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

import harness
from harness.domain.workload import DECLARED
from harness.properties import PROPERTIES
from harness.workbench import torch_version

FOLDER = Path(harness.__file__).parent
"""Where the harness lies."""

_BANK = FOLDER / "bank"  # in a wheel; what is needed of it travels with the answers


@dataclass(frozen=True, slots=True)
class HarnessBuild:
    """What decides a verdict besides the program."""

    harness: str
    """Digest of every file of the harness."""
    torch: str
    """Version of torch."""
    names: frozenset[str] = frozenset()
    """Properties and declared workloads, by name: banks and other packages may add some."""

    @classmethod
    def here(cls) -> Self:
        """That of this process."""
        return cls(
            _digest(), torch_version().partition("+")[0], frozenset({*PROPERTIES, *DECLARED})
        )

    def refusal_of(self, other: Self) -> str | None:
        """Why a node with another one takes no programs; ``None`` where it does."""
        if self.harness != other.harness:
            return (
                f"it has another harness ({other.harness[:12]}) than the one that asks "
                f"({self.harness[:12]}): remove what is installed there, or install the same"
            )
        if self.torch != other.torch:
            return f"it has torch {other.torch}, and torch {self.torch} is here: install the same"
        if missing := self.names - other.names:
            return f"it lacks {', '.join(sorted(missing))}: install the package that brings it"
        return None


@cache
def _digest() -> str:
    """Of names and contents, without what Python makes of them."""
    whole = hashlib.sha256()
    for path in sorted(p for p in FOLDER.rglob("*") if _belongs(p)):
        whole.update(f"{path.relative_to(FOLDER).as_posix()}\0".encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _belongs(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and _BANK not in path.parents


def digest_of(data: bytes) -> str:
    """The digest by which a part of the bank is known."""
    return hashlib.sha256(data).hexdigest()
