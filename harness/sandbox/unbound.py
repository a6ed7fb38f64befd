"""Why a program cannot be bound."""

import ast
from typing import Any

from harness.syntax import tree_of


class Unbound(Exception):
    """Raised for a name to which no object can be given that keeps the program's meaning."""

    def __init__(self, name: str, reason: str) -> None:
        """``reason`` completes the sentence that ``name`` begins."""
        self.name = name
        self.reason = reason
        super().__init__(f"`{name}` {reason}")


def parsed(program: str, filename: str) -> ast.Module:
    """The program's syntax tree. Raises ``Unbound`` if it is not Python."""
    try:
        return tree_of(program, filename)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unbound("program", f"is not valid Python: {error}") from error


def no_input(*_: Any) -> str:
    """Stands for ``input``; always raises ``Unbound``."""
    raise Unbound("input", "waits for a person")
