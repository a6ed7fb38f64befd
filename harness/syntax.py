"""Walking through the tree of a program.

A program is walked through some twenty times between an answer and its run, and ``ast.walk`` resumes
three generators for every node.
"""

import ast

_PLAIN = frozenset({"id", "ctx", "attr", "arg", "asname", "module", "level", "kind",
                    "conversion", "is_async", "simple", "type_comment"})  # fmt: skip
"""Fields that never hold a node, but for the context of a name, which is told by its parent."""

_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def walk(tree: ast.AST) -> list[ast.AST]:
    """All nodes but contexts (``Load``, ``Store``), in the order of ``ast.walk``."""
    nodes = [tree]
    for node in nodes:  # which grows meanwhile
        nodes += children(node)
    return nodes


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, contexts left out, in the order of ``ast.iter_child_nodes``."""
    kind = node.__class__
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


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
