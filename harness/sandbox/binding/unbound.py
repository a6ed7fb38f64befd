"""Why a program cannot be bound."""

import ast
from typing import Any


class Unbound(Exception):
    """A name has no object that would mean what the program means by it."""

    def __init__(self, name: str, reason: str) -> None:
        """``reason`` completes the sentence that ``name`` begins."""
        self.name = name
        self.reason = reason
        super().__init__(f"`{name}` {reason}")


def parsed(program: str, filename: str) -> ast.Module:
    """The program's tree. Raises ``Unbound`` where it is no Python."""
    try:
        return ast.parse(program, filename)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Unbound("program", f"is not valid Python: {error}") from error


def no_input(*_: Any) -> str:
    """Stands for ``input``; always raises ``Unbound``."""
    raise Unbound("input", "waits for a person")
