"""What tool calls do to files."""

import pytest

from harness.domain.file_edit import Append, Delete, Unshown, Write
from harness.domain.transcript import Message, ToolCall, Transcript
from harness.transcripts import files_after
from harness.transcripts.edits import edits_of_call, told_by_call


def _after(*calls):
    made = tuple(
        ToolCall(id=str(i), name=n, input="", status="ok", edits=edits_of_call(n, given, "/r"))
        for i, (n, given) in enumerate(calls)
    )
    message = Message(role="assistant", text="", calls=made)
    return {f.path: f.content for f in files_after(Transcript(messages=(message,), agent="a"))}


def _bash(command):
    return ("Bash", {"command": command})


@pytest.mark.parametrize(
    "command",
    [
        "cat > a.py <<'EOF'\nx = $1\nEOF",
        'cat <<"EOF" > a.py\nx = $1\nEOF\necho done',
        "cat <<\\EOF >a.py\nx = $1\nEOF",
        "mkdir -p . && cat > 'a.py' << 'END_OF_FILE'\nx = $1\nEND_OF_FILE",
        "tee a.py <<'EOF' >/dev/null\nx = $1\nEOF",
        "cat > a.py <<EOF\nx = \\$1\nEOF",
        "cd sub && cat > ../a.py <<-'EOF'\n\tx = $1\n\tEOF",
    ],
)
def test_heredocs_are_read(command):
    """In the spellings that agents use."""
    assert _after(_bash(command)) == {"/r/a.py": "x = $1\n"}


def test_what_the_shell_fills_in_is_not_known():
    """An unquoted heredoc with a variable is not what was written."""
    (edit,) = edits_of_call("Bash", {"command": "cat > a.sh <<EOF\n$HOME\nEOF"})

    assert isinstance(edit, Unshown)


def test_a_file_is_appended_to_and_deleted():
    """`>>` adds to what is known."""
    write, append = _bash("cat > a <<'E'\n1\nE"), _bash("cat >> a <<'E'\n2\nE")

    assert isinstance(edits_of_call(*append)[0], Append)
    assert _after(write, append) == {"/r/a": "1\n2\n"}
    assert isinstance(
        edits_of_call("apply_patch", "*** Begin Patch\n*** Delete File: a")[0], Delete
    )


@pytest.mark.parametrize(
    "command",
    [
        "python - <<'EOF'\nopen('a.txt', 'w')\nEOF",
        "ls > a.txt",
        "grep x <<< word",
        "cat << 'E'\nx\nE",
    ],
)
def test_a_command_that_is_not_understood_changes_no_file_that_is_known(command):
    """They are not guessed at."""
    assert edits_of_call("Bash", {"command": command}) == ()


def test_a_patch_by_argument_list_and_by_heredoc():
    """Codex calls it in both ways."""
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch"
    expected = (Write(path="a.py", content="x\n"),)

    assert edits_of_call("shell", {"command": ["apply_patch", patch]}) == expected
    heredoc = f"apply_patch <<'EOF'\n{patch}\nEOF"
    assert edits_of_call("shell", {"command": ["bash", "-lc", heredoc]}) == expected


def test_hunks_are_placed_by_anchor_and_context():
    """The second `y` changes, the file moves, and curly quotes match straight ones."""
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@ def second():\n"
        "-    y = “1”\n+    y = 2\n@@\n+# end\n*** End of File\n*** End Patch"
    )
    text = 'def first():\n    y = "1"\ndef second():\n    y = "1"\n'
    write = ("Write", {"file_path": "/r/a.py", "content": text})

    expected = 'def first():\n    y = "1"\ndef second():\n    y = 2\n# end\n'
    assert _after(write, ("apply_patch", {"input": patch})) == {"/r/b.py": expected}


def test_an_edit_of_a_file_that_was_never_shown_is_kept_as_a_piece():
    """Its content is not known, and the reason is said."""
    call = ToolCall(
        id="1",
        name="Edit",
        input="",
        status="ok",
        edits=edits_of_call("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
    )
    transcript = Transcript(
        messages=(Message(role="assistant", text="", calls=(call,)),), agent="a"
    )
    (state,) = files_after(transcript)

    assert (state.content, state.pieces) == (None, ("y",))
    assert state.why


def test_a_relative_path_is_the_absolute_one_that_ends_like_it():
    """The shell says `a.py`, Write said `/r/a.py`, and nobody said where the shell was."""
    write = ("Write", {"file_path": "/elsewhere/a.py", "content": "1\n"})
    edit = edits_of_call("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"})
    calls = (
        ToolCall(id="1", name="W", input="", status="ok", edits=edits_of_call(*write)),
        ToolCall(id="2", name="E", input="", status="ok", edits=edit),
    )
    message = Message(role="assistant", text="", calls=calls)
    (state,) = files_after(Transcript(messages=(message,), agent="a"))

    assert (state.path, state.content) == ("/elsewhere/a.py", "2\n")


def test_a_text_editor_inserts_after_a_line():
    """Line 0 is the top."""
    name = "str_replace_based_edit_tool"
    create = (name, {"command": "create", "path": "a", "file_text": "1\n2\n"})
    insert = (name, {"command": "insert", "path": "a", "insert_line": 1, "insert_text": "x"})

    assert _after(create, insert) == {"/r/a": "1\nx\n2\n"}


@pytest.mark.parametrize(
    ("listed", "known"),
    [("x = 1\n", "x = 1\n"), ("x = 1", "x = 1\n"), ("1\tx = 1\n", "x = 1\n"), ("x = (\n", None)],
)
def test_a_listing_without_numbers_is_a_python_file_where_it_parses(listed, known):
    """What is cut off, or stands beside words of the tool, does not."""
    told = told_by_call("read_file", {"path": "a.py"}, listed)

    assert [seen.content for seen in told] == ([known] if known else [])
