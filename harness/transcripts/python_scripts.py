"""What a short Python script does to files: ``text.replace(old, new)`` between reading and writing.

Agents edit by such scripts (``python - <<'EOF'``). Only literal texts are followed; nothing is run.
A script that writes in a way that is not followed is named for every Python file that it mentions.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.domain.file_edit import Append, Edit, FileEdit, Replacement, Unshown, Write
from harness.syntax import tree_of
from harness.transcripts.unfollowed import ANY, named_files

_MOST_STEPS = 500
_LONGEST = 1 << 18  # characters
_LONGEST_NAME = 4096  # bytes of a path, or of a command line that names one
_FILE = re.compile(r"[\w./-]*[A-Za-z_][\w-]*\.[a-z]\w*")
_COMMANDS = {
    *("system", "popen", "exec", "truncate", "urlretrieve"),
    *("link", "symlink", "replace", "rename", "unlink", "remove", "rmtree"),
    *("copy", "copy2", "copyfile", "copytree", "move"),
}
_ANYWHERE = {
    *("system", "popen", "urlretrieve", "extractall", "unpack_archive", "run_path", "run_module"),
}
_RUN_FILES = ("run_path", "run_module")
_STARTS = {"run", "call", "check_call", "check_output", "Popen", "getoutput"}
_CHANGERS = {"sed", "perl", "patch", "mv", "cp", "rm", "tee", "sh", "bash"}
_RUNS = re.compile(r"\s*(?:python|torchrun|pytest|accelerate)\b")
_MODULES = ("os", "shutil", "request", "Path")
_WRITES = ("write", "write_text", "writelines", "write_bytes", "FileInput", "input")


def edits_of_python(script: str) -> tuple[FileEdit, ...]:
    """Changes to files, in order."""
    try:
        tree = tree_of(script)
    except SyntaxError:
        return ()
    follower = _Follower()
    try:
        follower.body(tree.body)
    except (_NotFollowedError, RecursionError):
        return tuple(_unfollowed(tree))
    return tuple(follower.edits)


class _NotFollowedError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Path:
    """A path, or the file that was opened there."""

    path: str
    mode: str = "r"


@dataclass(frozen=True, slots=True)
class _Text:
    """What stood in a file, with replacements made."""

    path: str
    made: tuple[Replacement, ...] = ()


@dataclass(frozen=True, slots=True)
class _Unknown:
    """A value that nothing is known of but that using it changes no file."""


_Value = str | _Path | _Text | _Unknown
_UNKNOWN = _Unknown()


class _Follower:
    def __init__(self) -> None:
        self.edits: list[FileEdit] = []
        self._names: dict[str, _Value] = {}
        self._steps = 0

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise _NotFollowedError
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._names[name] = self._value(value)
            case ast.Expr(value=value):
                self._value(value)
            case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.Pass():
                pass
            case ast.With(items=[ast.withitem(call, ast.Name(id=name))], body=body):
                self._names[name] = self._value(call)
                self.body(body)
            case ast.If(test=ast.Compare(ops=[ast.In()]), body=body, orelse=[]):
                self.body(body)  # "if old in text": without it, replacing does nothing either
            case _:
                raise _NotFollowedError

    def _value(self, node: ast.expr) -> _Value:
        value = self._found(node)
        if isinstance(value, str) and len(value) > _LONGEST:  # doubled forty times
            raise _NotFollowedError
        return value

    def _found(self, node: ast.expr) -> _Value:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id=name):
                return self._names.get(name, _UNKNOWN)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                one, other = self._value(left), self._value(right)
                return one + other if isinstance(one, str) and isinstance(other, str) else _UNKNOWN
            case ast.Call():
                return self._call(node)
            case _:
                return self._looked_into(node)

    def _call(self, node: ast.Call) -> _Value:
        if _commands(node.func) or _starts(node):
            raise _NotFollowedError
        match node:
            case ast.Call(func=ast.Name(id="open"), args=[path, *rest], keywords=keywords):
                return self._opened(path, rest, keywords)
            case ast.Call(func=ast.Name(id="Path") | ast.Attribute(attr="Path"), args=[path]):
                given = self._value(path)
                return _Path(given) if isinstance(given, str) else _UNKNOWN
            case ast.Call(func=ast.Attribute(value=on, attr=name), args=args):
                return self._method(self._value(on), name, args)
            case _:
                return self._looked_into(node)

    def _opened(self, path: ast.expr, rest: list[ast.expr], keywords: list[ast.keyword]) -> _Value:
        given = self._value(path)
        place = given.path if isinstance(given, _Path) else given
        modes = [*rest[:1], *(k.value for k in keywords if k.arg == "mode")]
        mode = self._value(modes[0]) if modes else "r"
        if not isinstance(place, str) or not isinstance(mode, str):
            raise _NotFollowedError
        return _Path(place, mode)

    def _method(self, on: _Value, name: str, args: list[ast.expr]) -> _Value:
        given = [self._value(arg) for arg in args]
        match on, name, given:
            case _Path(path), "read" | "read_text", _:
                return _Text(path)
            case _Path(path, mode), "write" | "write_text", [content]:
                self._write(path, content, appends=name == "write" and "a" in mode)
                return _UNKNOWN
            case _Text(path, made), "replace", [str(old), str(new), *count]:
                step = Replacement(old=old, new=new, everywhere=not count, optional=True)
                return _Text(path, (*made, step))
            case _, changing, _ if changing in _WRITES:
                raise _NotFollowedError
            case _:
                return _UNKNOWN

    def _write(self, path: str, content: _Value, *, appends: bool) -> None:
        match content:
            case str(text):
                edit = Append if appends else Write
                self.edits.append(edit(path=path, content=text))
            case _Text(same, made) if same == path and not appends:
                self.edits.append(Edit(path=path, replacements=made))
            case _:
                raise _NotFollowedError

    def _looked_into(self, node: ast.expr) -> _Value:
        """The value of an expression that is no text: unknown. Raises ``_NotFollowedError`` where it
        may write a file.
        """
        if any(map(_writes, ast.walk(node))):
            raise _NotFollowedError
        return _UNKNOWN


def _writes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        (isinstance(node.func, ast.Attribute) and node.func.attr in _WRITES)
        or (isinstance(node.func, ast.Name) and node.func.id == "open" and len(node.args) > 1)
        or _commands(node.func)
        or _starts(node)
    )


def _starts(call: ast.Call) -> bool:
    """Whether it starts a program that changes a file, by a command line that it holds."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _STARTS or not call.args:
        return False
    constants = (n.value for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant))
    words = [word for value in constants if isinstance(value, str) for word in value.split()]
    return bool(words) and (
        words[0] in _CHANGERS or (bool(named_files(words)) and not _RUNS.match(words[0]))
    )


def _commands(called: ast.expr) -> bool:
    """Whether it is a function that changes files by their names, or runs what is not shown."""
    if isinstance(called, ast.Name):
        return called.id in ("exec", "eval")
    if not isinstance(called, ast.Attribute):
        return False
    of_a_module = isinstance(called.value, ast.Name) and called.value.id in _MODULES
    return called.attr in _ANYWHERE or (called.attr in _COMMANDS and of_a_module)


def _unfollowed(tree: ast.Module) -> Iterator[FileEdit]:
    writing = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call) and _writes(n)]
    if not writing:
        return
    texts = [str(n.value) for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    texts = [t for t in texts if len(t) <= _LONGEST_NAME]
    meant = named_files(t for t in texts if "\n" not in t and not _RUNS.match(t))
    runs_text = any(isinstance(called, ast.Name) and _commands(called) for called in writing)
    by_name = any(map(_FILE.fullmatch, texts)) or all(map(_commands, writing))
    runs_text = runs_text or any(getattr(c, "attr", "") in _RUN_FILES for c in writing)
    put_together = any(name.rsplit("/")[-1] == ".py" for name in meant)
    unpacks = any(isinstance(c, ast.Attribute) and c.attr in _ANYWHERE for c in writing)
    if runs_text or put_together or (not meant and (unpacks or not by_name)):
        meant = (ANY,)
    for path in meant:
        yield Unshown(path=path, why="a Python script changed it")
