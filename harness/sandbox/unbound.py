"""Why a program cannot be bound, or has to begin anew."""

import ast
from typing import Any

from harness.syntax import TOO_DEEP, TOO_LONG, tree_of


class Unbound(Exception):
    """Raised for a name to which no object can be given that keeps the program's meaning."""

    def __init__(self, name: str, reason: str) -> None:
        """``reason`` completes the sentence that ``name`` begins."""
        self.name = name
        self.reason = reason
        super().__init__(f"`{name}` {reason}")


class NameScouted(BaseException):
    """Raised where something unknown was used: what it is now known to be."""

    def __init__(self, name: str, role: str) -> None:
        """``role``: a role of the table; empty where the use tells nothing."""
        super().__init__(name, role)
        self.name = name
        self.role = role


def parsed(program: str, filename: str) -> ast.Module:
    """The program's syntax tree. Raises ``Unbound`` if it is not Python."""
    try:
        return tree_of(program, filename)
    except SyntaxError as error:
        if error.msg in (TOO_DEEP, TOO_LONG):
            raise Unbound("program", f"cannot be read: {error}") from error
        raise Unbound("program", f"is not valid Python: {error}") from error


def no_input(*_: Any) -> str:
    """Stands for ``input``; always raises ``Unbound``."""
    raise Unbound("input", "waits for a person")
