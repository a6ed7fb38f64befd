"""Code as a tree, and the lines of one statement in it."""

import ast
import functools
import symtable
import warnings

from harness.syntax import tree_of


@functools.lru_cache(16)  # one block is looked at from many sides
def parsed(code: str) -> ast.Module:
    """The syntax tree. It is shared, so it must not be changed.

    Raises:
        SyntaxError: it is not Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in somebody's string is not our business
            tree = tree_of(code)
            symtable.symtable(code, "block", "exec")  # refuses more than the parser does
    except RecursionError as error:
        raise SyntaxError(str(error)) from error
    return tree


def parses(code: str) -> bool:
    """Whether it is Python."""
    try:
        parsed(code)
    except SyntaxError:
        return False
    return True


def first_line(node: ast.stmt) -> int:
    """1-based; of a decorated definition that of its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def source_of(code: str, node: ast.stmt) -> str:
    """The lines of a statement, decorators and comments included."""
    return "\n".join(code.split("\n")[first_line(node) - 1 : node.end_lineno])


def comment_out(lines: list[str], node: ast.stmt) -> None:
    """Make comments of a statement's lines, so that every other line keeps its number."""
    for number in range(node.lineno - 1, node.end_lineno or node.lineno):
        lines[number] = f"# {lines[number]}"
