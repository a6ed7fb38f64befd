"""What a program shows of the files that it reads: its text, and what its first runs met."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from harness.syntax import source_of


@dataclass(frozen=True, slots=True, eq=False)
class ShownByProgram:
    """What stand-ins for absent files go by. Made once for a run: a long text takes its time."""

    tree: ast.Module
    """The program, with its modules."""
    source: str
    """Its text, each statement as Python writes it."""
    known: Mapping[str, str]
    """What first runs showed, by name."""

    @classmethod
    def of(cls, tree: ast.Module, known: Mapping[str, str]) -> Self:
        """``known``: what first runs showed."""
        return cls(tree, source_of(tree), known)
