"""What a tool call does to files, as typed records, from the tool's name and input."""

import re
from collections.abc import Callable

from pydantic import JsonValue

from harness.domain.file_edit import (
    Delete,
    Edit,
    Excerpt,
    FileEdit,
    Insert,
    Patch,
    Replacement,
    SeenWhole,
    Undo,
    Unshown,
    Write,
)
from harness.syntax import tree_of
from harness.transcripts.evidence import told_by
from harness.transcripts.patches import edits_of_patch, hunks_of
from harness.transcripts.places import moved
from harness.transcripts.python_scripts import edits_of_python
from harness.transcripts.shell import edits_of_command, script_of
from harness.transcripts.values import fields, first, items, string

_Input = dict[str, JsonValue]
_NUMBERED = re.compile(r"\s*(\d+)(?:→|\t|: )(.*)")
_SAYS = ("submit", "submit_answer", "final_answer", "attempt_completion", "finish", "exitplanmode")
_RUNS = re.compile(r"shell|bash|terminal|command|exec")
_WRITES = re.compile(r"write|create|save|edit|replace")
_PAGE = 2000  # lines that Read shows when it is not told how many


def edits_of_call(name: str, given: JsonValue, folder: str = "") -> tuple[FileEdit, ...]:
    """The changes that a call makes when it succeeds; ``folder`` is where relative paths start."""
    tool = _short(name)
    record: _Input = {"input": given} if isinstance(given, str) else fields(given)
    make = _maker(tool, record)
    if make is None:
        return ()
    place = first(record, "workdir", "cwd") or folder
    return tuple(moved(edit, place) for edit in make(record) if edit.path.strip())


def said_by_call(name: str, given: JsonValue) -> str:
    """What the agent says by a tool: its answer, where it has to hand one in."""
    if _short(name) not in _SAYS:
        return ""
    return (
        given
        if isinstance(given, str)
        else first(fields(given), "answer", "result", "text", "plan")
    )


def told_by_call(
    name: str, given: JsonValue, result: str, folder: str = ""
) -> tuple[FileEdit, ...]:
    """What a successful call showed of files, as they were after it."""
    tool, record = _short(name), fields(given)
    place = first(record, "workdir", "cwd") or folder
    if _maker(tool, record) is _shell:
        found = told_by(_command(record), result)
    else:
        viewed = _viewed(tool, record, result)
        found = (viewed,) if viewed else ()
    return tuple(moved(edit, place) for edit in found if edit.path)


def _viewed(tool: str, record: _Input, result: str) -> SeenWhole | Excerpt | None:
    part = record.get("offset") or record.get("limit") or record.get("view_range")
    is_view = _TOOLS.get(tool) is _text_editor and record.get("command") == "view"
    if not (is_view or tool in ("read", "view", "read_file")):
        return None
    lines = _numbered(result, from_the_top=not part)
    if not lines and not part and _is_a_program(_path(record), result):
        return SeenWhole(path=_path(record), content=f"{result.rstrip()}\n")
    if not lines or (not part and len(lines) >= _PAGE):
        return None
    content = "".join(f"{line}\n" for line in lines)
    if part:
        return Excerpt(path=_path(record), lines=content, to_end=False)
    return SeenWhole(path=_path(record), content=content)


def _is_a_program(path: str, result: str) -> bool:
    """Whether a listing without numbers is all of a Python file: nothing else parses as one."""
    if not path.endswith(".py") or not result.strip():
        return False
    try:
        return bool(tree_of(result).body)
    except SyntaxError:
        return False


def _maker(tool: str, record: _Input) -> Callable[[_Input], list[FileEdit]] | None:
    """What reads the call: by the tool's name, else by what it was given."""
    if tool in _TOOLS:
        return _TOOLS[tool]
    if _RUNS.search(tool) and _command(record):
        return _shell
    if _path(record) and _WRITES.search(tool):
        return _edit if any(key in record for key in ("old_string", "old_str")) else _write
    return None


def _short(name: str) -> str:
    """``mcp__files__write_file`` and ``functions.Write`` end in the tool's own name."""
    return re.split(r"__|[.:/]", name)[-1].lower().replace("-", "_")


def _path(record: _Input) -> str:
    return first(record, "file_path", "path", "filename", "filepath", "target_file")


def _write(record: _Input) -> list[FileEdit]:
    keys = ("content", "contents", "file_text", "text", "code")
    if not any(isinstance(record.get(key), str) for key in keys):
        return []
    return [Write(path=_path(record), content=first(record, *keys))]


def _replacement(record: _Input) -> Replacement:
    return Replacement(
        old=first(record, "old_string", "old_str"),
        new=first(record, "new_string", "new_str"),
        everywhere=record.get("replace_all") is True,
    )


def _edit(record: _Input) -> list[FileEdit]:
    return [Edit(path=_path(record), replacements=(_replacement(record),))]


def _multi_edit(record: _Input) -> list[FileEdit]:
    parts = tuple(_replacement(fields(part)) for part in items(record.get("edits")))
    return [Edit(path=_path(record), replacements=parts)] if parts else []


def _apply_patch(record: _Input) -> list[FileEdit]:
    return list(edits_of_patch(first(record, "input", "patch", "patch_text", "content")))


def _text_editor(record: _Input) -> list[FileEdit]:
    match string(record.get("command")):
        case "create":
            return [Write(path=_path(record), content=first(record, "file_text"))]
        case "str_replace":
            return _edit(record)
        case "insert":
            line = record.get("insert_line")
            content = first(record, "insert_text", "new_str")
            at = line if isinstance(line, int) and 0 <= line < 10**9 else 0
            return [Insert(path=_path(record), line=at, content=content)]
        case "undo_edit":
            return [Undo(path=_path(record))]
        case _:
            return []


def _notebook_edit(record: _Input) -> list[FileEdit]:
    cell = first(record, "new_source", "new_string")
    why = "only a cell of the notebook is shown"
    return [Unshown(path=first(record, "notebook_path"), why=why, pieces=(cell,))]


def _file_change(record: _Input) -> list[FileEdit]:
    """What Codex says of a patch: paths, and seldom the difference."""
    edits: list[FileEdit] = []
    for change in map(fields, items(record.get("changes"))):
        path, diff = _path(change), string(change.get("diff"))
        if change.get("kind") == "delete":
            edits.append(Delete(path=path))
        elif change.get("kind") == "update" and "@@" in diff:
            lines = [li for li in diff.splitlines() if not li.startswith(("---", "+++"))]
            edits.append(Patch(path=path, hunks=hunks_of(lines)))
        else:
            edits.append(Unshown(path=path, why="the log names the file and not the change"))
    return edits


def _delete(record: _Input) -> list[FileEdit]:
    return [Delete(path=_path(record))]


def _command(record: _Input) -> str:
    given = next((record[k] for k in ("command", "cmd", "script", "input") if record.get(k)), "")
    if isinstance(given, list):
        return script_of([string(word) for word in given])
    return string(given)


def _shell(record: _Input) -> list[FileEdit]:
    return list(edits_of_command(_command(record)))


def _python(record: _Input) -> list[FileEdit]:
    return list(edits_of_python(first(record, "code", "script", "source", "input")))


def _numbered(result: str, *, from_the_top: bool) -> list[str]:
    """Undo ``cat -n``; nothing when the listing has a hole, or does not start at 1 where it should."""
    lines: list[str] = []
    start = 1 if from_the_top else 0
    for line in result.split("\n"):
        match = _NUMBERED.fullmatch(line)
        if match is None:
            if lines:
                break
            continue
        number = int(match[1][:9])
        start = start or number
        if number != start + len(lines):
            return []
        lines.append(match[2])
    return lines


_TOOLS: dict[str, Callable[[_Input], list[FileEdit]]] = {
    **dict.fromkeys(("write", "write_file", "create_file", "create"), _write),
    **dict.fromkeys(("edit", "edit_file", "str_replace", "replace"), _edit),
    **dict.fromkeys(("multiedit", "multi_edit"), _multi_edit),
    **dict.fromkeys(("apply_patch", "applypatch"), _apply_patch),
    **dict.fromkeys(
        (
            *("str_replace_based_edit_tool", "str_replace_editor"),
            *("text_editor", "text_editor_code_execution"),
        ),
        _text_editor,
    ),
    "file_change": _file_change,
    **dict.fromkeys(("notebookedit", "notebook_edit"), _notebook_edit),
    **dict.fromkeys(("python", "execute_python", "run_python", "code_interpreter"), _python),
    **dict.fromkeys(("delete_file", "remove_file"), _delete),
    **dict.fromkeys(
        (
            *("bash", "shell", "sh", "exec", "exec_command", "local_shell", "shell_command"),
            *("bash_code_execution", "execute_command", "run_command", "run_terminal_cmd"),
        ),
        _shell,
    ),
}
