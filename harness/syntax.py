"""Walking through the tree of a program.

A program is walked through some twenty times between an answer and its run, and ``ast.walk`` resumes
three generators for every node.
"""

import ast
import copy
import threading

LONGEST = 1 << 20
"""Characters of a program that is read: its tree takes some six hundred times as many bytes."""

MOST_STATEMENTS = 20_000
"""Lines and semicolons of a program that is read; more is data, not a program."""

MOST_NODES = 50_000
"""Nodes of a tree that is read, where each takes a fifth of a millisecond; torch's longest modules that
are no tables have 40,000.
"""

TOO_LONG = f"it is longer than {LONGEST} characters, {MOST_STATEMENTS} lines or {MOST_NODES} nodes"
"""Why a program that is longer is not read."""

DEEPEST = 250
"""Levels of a tree that is read, where each takes a few calls; public programs have up to 21."""

TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"
"""Why a program that is deeper is not read."""

_PLAIN = frozenset({"id", "ctx", "attr", "arg", "asname", "module", "level", "kind",
                    "conversion", "is_async", "simple", "type_comment"})  # fmt: skip
"""Fields that never hold a node, but for the context of a name, which is told by its parent."""

_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}
_MIXED = frozenset({
    ast.arguments, ast.Dict, ast.Global, ast.Nonlocal, ast.MatchClass, ast.MatchMapping,
})  # fmt: skip
"""Nodes with lists that hold something else beside nodes: names, or nothing."""


_one_at_a_time = threading.Lock()
"""CPython 3.11 keeps the depth of the tree that it makes for all threads together, and raises
``SystemError`` (AST constructor recursion depth mismatch) where two make one at a time.
"""


def tree_of(code: str | bytes, name: str = "<unknown>") -> ast.Module:
    """What ``ast.parse`` makes of a program, in any thread. ``name``: of the file, for the message.

    Raises:
        SyntaxError: it is not Python, or nothing that the parser can take.
    """
    if is_too_long(code):
        raise SyntaxError(TOO_LONG)
    try:
        with _one_at_a_time:
            tree = ast.parse(code, name)
    except (RecursionError, MemoryError):  # both by depth: how much memory is left plays no part
        raise SyntaxError(TOO_DEEP) from None
    except ValueError as error:  # a byte that is no text
        raise SyntaxError(str(error)) from error
    if (why := _refusal(tree)) is not None:
        raise SyntaxError(why)
    return tree


def _refusal(tree: ast.AST) -> str | None:
    level, size = [tree], 0
    for _ in range(DEEPEST):
        below: list[ast.AST] = []
        for node in level:
            _add_children(node, below)
        level = below
        size += len(below)
        if size > MOST_NODES:
            return TOO_LONG
    return TOO_DEEP if level else None


def is_too_long(code: str | bytes) -> bool:
    """Whether a program is longer than any that is read."""
    text = code if isinstance(code, str) else code.decode("latin-1")
    return len(text) > LONGEST or text.count("\n") + text.count(";") > MOST_STATEMENTS


def source_of(tree: ast.AST) -> str:
    """What ``ast.unparse`` makes of a tree. Before Python 3.12 it cannot write an emoji with a joiner
    inside an f-string's braces: there a question mark stands for what cannot be printed.
    """
    try:
        return ast.unparse(tree)
    except ValueError:
        tree = copy.deepcopy(tree)
        for value in (n for n in walk(tree) if isinstance(n, ast.FormattedValue)):
            for text in walk(value):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    text.value = "".join(
                        c if c.isprintable() and c != "\\" else "?" for c in text.value
                    )
        return ast.unparse(tree)


def walk(tree: ast.AST) -> list[ast.AST]:
    """All nodes but contexts (``Load``, ``Store``), in the order of ``ast.walk``."""
    nodes = [tree]
    for node in nodes:  # which grows meanwhile
        _add_children(node, nodes)
    return nodes


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, contexts left out, in the order of ``ast.iter_child_nodes``."""
    found: list[ast.AST] = []
    _add_children(node, found)
    return found


def _add_children(node: ast.AST, found: list[ast.AST]) -> None:
    kind = node.__class__
    fields = _FIELDS.get(kind)
    for name in fields_of(kind) if fields is None else fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value if kind not in _MIXED else [n for n in value if isinstance(n, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)


def fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of nodes that may hold nodes, contexts left out."""
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
    return _FIELDS[kind]


def dotted(tree: ast.AST) -> str:
    """``a.b`` for a name, a chain of attributes or a call of one; empty for anything else."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{dotted(value)}.{name}"
        case ast.Call(func=func):
            return dotted(func)
    return ""


def blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The statements that one holds, block by block, handlers and cases last. They are its own."""
    found = [getattr(statement, field, None) for field in ("body", "orelse", "finalbody")]
    parts = (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ()))
    return [block for block in (*found, *(part.body for part in parts)) if block]
