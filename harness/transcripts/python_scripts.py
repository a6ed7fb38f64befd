"""Which files a Python script may change: each Python file that it mentions, if it writes at all.

Agents edit by such scripts (``python - <<'EOF'``). What they write is not followed, and nothing is run.
"""

import ast
import re
from collections.abc import Iterator

from harness.domain.file_edit import FileEdit, Unshown
from harness.syntax import tree_of
from harness.transcripts.unfollowed import ANY, named_files

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
    """A doubt about each file that it may change."""
    try:
        return tuple(_changed(tree_of(script)))
    except SyntaxError:
        return ()


def _writes(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        (isinstance(node.func, ast.Attribute) and node.func.attr in _WRITES)
        or _opens_to_write(node)
        or _commands(node.func)
        or _starts(node)
    )


def _opens_to_write(call: ast.Call) -> bool:
    opens = isinstance(call.func, ast.Name) and call.func.id == "open"
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")] if opens else []
    return any(not isinstance(m, ast.Constant) or not {*str(m.value)} <= {*"rbtU"} for m in modes)


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


def _changed(tree: ast.Module) -> Iterator[FileEdit]:
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
