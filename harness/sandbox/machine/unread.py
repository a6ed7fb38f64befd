"""Files that a program reads and that are not here: its settings, or a checkpoint to resume from.

What is read from them becomes a free name, which is bound by what is done with it. Files that the
program may have written itself are left alone.
"""

import ast
import math
from collections.abc import Iterable, Iterator

from harness.syntax import blocks, dotted, walk

READERS = frozenset({
    "yaml.safe_load", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "json.load", "json.loads",
    "toml.load", "toml.loads", "tomllib.load", "tomllib.loads", "tomli.load", "tomli.loads",
    "OmegaConf.load", "safe_load", "yaml_load", "full_load",
})  # fmt: skip
"""Calls that read settings."""

TEXTS = frozenset({"open", "read_text", "read_bytes", "read"})
"""Calls that return a file's content."""

WRITES = frozenset(
    {"dump", "safe_dump", "dumps", "write_text", "write", "writelines", "to_yaml", "save"}
)
"""Calls that may have created the file before."""

LEAVING = (ast.Return, ast.Continue, ast.Break)
"""Statements that leave quietly."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def leave_out(tree: ast.Module, notes: list[str]) -> ast.Module:
    """The program without the statements that read them. ``notes`` takes what was left out."""
    left = _Left(tree)
    if not (left.reads_settings or left.reads_checkpoints):
        return tree
    tree.body = left.without(tree.body)
    notes += [f"{name}: read from a file that is not here, bound by role" for name in left.names]
    return tree


class _Left:
    def __init__(self, tree: ast.Module) -> None:
        nodes = walk(tree)
        self.names: list[str] = []
        self._functions = {n.name: n for n in nodes if isinstance(n, Function)}
        self._classes = {n.name for n in nodes if isinstance(n, ast.ClassDef)}
        self._files = {
            item.optional_vars.id for n in nodes if isinstance(n, ast.With) for item in n.items
            if dotted(item.context_expr).rpartition(".")[2] == "open"
            and isinstance(item.optional_vars, ast.Name)
        }  # fmt: skip
        calls = [n for n in nodes if isinstance(n, ast.Call)]
        written = min((c.lineno for c in calls if _writes(c)), default=math.inf)
        settings = [c for c in calls if c.lineno <= written and self._reads(c)]
        self._settings = {id(c) for c in settings}
        of_readers = [c for c in calls if self._is_reader(c)]
        self._readers = {dotted(c.func) for c in of_readers}
        self._settings |= {id(c) for c in of_readers}
        asked = {id(n) for s in nodes if isinstance(s, ast.If | ast.Try) for n in walk(s)}
        # statements alone: an ``a if b else c`` has a body too, and no block
        statements = [n for n in nodes if isinstance(n, ast.stmt)]
        asked |= {id(n) for s in statements for block in blocks(s) for n in _behind_a_guard(block)}
        self._checkpoints = {
            id(c)
            for c in calls
            if dotted(c.func) == "torch.load" and c.lineno <= written and id(c) not in asked
        }
        self._states: set[str] = set()

    @property
    def reads_settings(self) -> bool:
        return bool(self._settings)

    @property
    def reads_checkpoints(self) -> bool:
        return bool(self._checkpoints)

    def without(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            found += self._statement(statement)
        return found or [ast.copy_location(ast.Pass(), body[0])]

    def _statement(self, statement: ast.stmt) -> Iterable[ast.stmt]:
        match statement:
            case ast.FunctionDef(name=name) if name in self._readers:
                return (statement,)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_read(value):
                self.names.append(name)
                if id(value) in self._checkpoints:
                    self._states.add(name)
                return ()
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if (
                self._is_read(value)
            ):
                self.names.append(name)
                return ()
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="load_state_dict"), args=[given, *_])
            ) if self._is_state(given):
                return ()
            case ast.With(items=items) if any(self._opens_settings(i, statement) for i in items):
                return self.without(statement.body)
        self._inside(statement)
        return (statement,)

    def _inside(self, statement: ast.stmt) -> None:
        for block in blocks(statement):
            block[:] = self.without(block)
        for call in (n for n in walk(statement) if isinstance(n, ast.Call)):
            for keyword in call.keywords:
                if keyword.arg is None and id(keyword.value) in self._settings:
                    keyword.value = ast.copy_location(ast.Dict([], []), keyword.value)

    def _is_read(self, value: ast.expr) -> bool:
        """Whether it is a call that reads, or wraps what is read in something that is not shown."""
        if id(value) in self._settings | self._checkpoints:
            return True
        if not isinstance(value, ast.Call) or dotted(value.func) in self._classes | {
            *self._functions
        }:
            return False
        given = [*value.args, *(k.value for k in value.keywords)]
        return len(given) == 1 and id(given[0]) in self._settings

    def _is_state(self, given: ast.expr) -> bool:
        nodes = walk(given)
        return any(
            id(n) in self._checkpoints or (isinstance(n, ast.Name) and n.id in self._states)
            for n in nodes
        )

    def _opens_settings(self, item: ast.withitem, statement: ast.With) -> bool:
        opened = dotted(item.context_expr).rpartition(".")[2] == "open"
        return opened and any(id(n) in self._settings for n in walk(statement))

    def _reads(self, call: ast.Call) -> bool:
        if dotted(call.func) not in READERS or not call.args:
            return False
        if dotted(call.func) == "OmegaConf.load":
            return True
        first = call.args[0]
        return any(
            (isinstance(n, ast.Call) and dotted(n.func).rpartition(".")[2] in TEXTS)
            or (isinstance(n, ast.Name) and n.id in self._files)
            for n in walk(first)
        )

    def _is_reader(self, call: ast.Call) -> bool:
        """Whether it calls a function that does nothing but read: ``load_config(args.config)``."""
        function = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None:
            return False
        returned = [n.value for n in walk(function) if isinstance(n, ast.Return)]
        read = {id(n) for n in walk(function)} & self._settings
        names = {
            n.targets[0].id for n in walk(function)
            if isinstance(n, ast.Assign) and id(n.value) in read and isinstance(n.targets[0], ast.Name)
        }  # fmt: skip
        return bool(returned and read) and all(
            id(v) in read
            or (isinstance(v, ast.Name) and v.id in names)
            or (isinstance(v, ast.Call) and any(id(n) in read for n in walk(v)))
            for v in returned
        )


def _behind_a_guard(block: list[ast.stmt]) -> Iterator[ast.AST]:
    """What is only reached where an ``if`` above it has not left the block."""
    guarded = False
    for statement in block:
        if guarded:
            yield from walk(statement)
        guarded |= isinstance(statement, ast.If) and isinstance(statement.body[-1], LEAVING)


def _writes(call: ast.Call) -> bool:
    path = dotted(call.func)
    if path == "open" and len(call.args) > 1:
        mode = call.args[1]
        return isinstance(mode, ast.Constant) and any(c in str(mode.value) for c in "wax")
    return path.rpartition(".")[2] in WRITES and path.partition(".")[0] not in ("wandb", "sys")
