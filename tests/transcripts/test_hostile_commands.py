"""Commands and scripts that somebody made to keep us busy: what is not followed is unknown, at once."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.file_edit import Write
from harness.domain.transcript import Message, ToolCall, Transcript
from harness.extraction.edited import program_in_files
from harness.transcripts import files_after
from harness.transcripts.edits import edits_of_call, told_by_call
from tests.sampling import sampled

TEXT = "for x in loader:\n    loss.backward()\n    opt.step()\n"
DOUBLING = "s = 'ab' * 1\n" + "s = s + s\n" * 60 + "open('a.py', 'w').write(s)\n"
LONG = "y" * 200_000
MULTIPLYING = f"s = '{LONG}'.replace('y', '{LONG}')\nopen('a.py', 'w').write(s)\n"
LINES = "y\\n" * 100_000
INDENTING = (
    f"import textwrap\ns = textwrap.indent('{LINES}', '{LONG}')\nopen('a.py', 'w').write(s)\n"
)
PIECES = [
    *("sed -i ", "-e ", "'s/a/b/g' ", "'1,3d' ", "a.py ", "b.py ", "perl -0pi -e ", "git ", "stash "),
    *("checkout ", "-- ", "revert HEAD ", "commit -am x ", "python - <<'E'\n", "E\n", "\n", "> ", "< "),
    *("| ", "&& ", "; ", "'", '"', "\\", "$(", ")", "`", "# ", "cat ", "tail -3 ", "mv ", "find . -exec "),
    *("{} + ", "xargs ", "open('a.py','w').write('x')\n", "t = open('a.py').read()\n", "apply_patch "),
    *("*** Begin Patch\n", "*** Update File: a.py\n", "@@\n", "-x\n", "+y\n", "git apply ", "--- a/a.py\n"),
    *("+++ b/a.py\n", "@@ -1 +1 @@\n", "diff --git a/a.py b/a.py\n", "cd .. ", "*.py ", "${n} "),
]  # fmt: skip


def after(*commands, output=""):
    """Whatever the files become."""
    calls = [
        ToolCall(
            id="0", name="W", input="", status="ok", edits=(Write(path="/r/a.py", content=TEXT),)
        )
    ]
    for i, command in enumerate(commands):
        given = {"command": command}
        edits = (*edits_of_call("Bash", given, "/r"), *told_by_call("Bash", given, output, "/r"))
        calls.append(ToolCall(id=str(i + 1), name="Bash", input="", status="ok", edits=edits))
    message = Message(role="assistant", text="", calls=tuple(calls))
    transcript = Transcript(messages=(message,), agent="a")
    program_in_files(transcript)
    return files_after(transcript)


@given(
    parts=st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=25),
    output=st.lists(st.sampled_from([*PIECES, TEXT]), max_size=8),
)
def test_any_command_and_any_output(parts, output):
    """They are read to their end, and files come out."""
    assert isinstance(after("".join(parts), output="".join(output)), tuple)


@pytest.mark.parametrize(
    "command",
    sampled(
        [
            "x" * (3 << 20),
            "'" + "a" * (1 << 19),
            "$(" * (1 << 18),
            "find . -exec " * 20_000 + "rm {} +",
            f"python - <<'E'\n{DOUBLING}E",
            "sed -i '" + "s/o/oo/;" * 50_000 + "' a.py",
            "sed -i 's/./" + "&" * 200_000 + "/g' a.py",
            "sed -i '" + "s/o/&&/g;" * 60 + "' a.py",
            "perl -pi -e 's/" + "(.*)" * 12 + "x$/y/' a.py",
            "cat > a.py <<'E'\n" + "\n" * 100_000 + "E\ntail -90000 a.py",
            f"python - <<'E'\n{MULTIPLYING}E",
            f"python - <<'E'\n{INDENTING}E",
            "cat > a.py <<'E'\n" + "x\n" * 100_000 + "E\nsed -i 'a" + "y" * 500_000 + "' a.py",
            "cd " + "x/" * 50_000 + "\n" + "rm a\n" * 8_000,
        ],
        4,
    ),
    ids=range(14),
)
def test_a_command_that_was_made_to_last_ends_soon(command):
    """Unlimited they take years. Processor time: on a busy machine a clock tells something else."""
    started = time.process_time()
    after(command, output="\n" * 90_000 + "x\n")

    assert time.process_time() - started < 30


@pytest.mark.full
def test_a_chain_of_imports_that_would_overflow_the_stack_is_cut():
    edits = [
        Write(path=f"/r/m{i}.py", content=f"from m{i + 1} import x\n{TEXT}") for i in range(1500)
    ]
    call = ToolCall(id="1", name="W", input="", status="ok", edits=tuple(edits))
    message = Message(role="assistant", text="", calls=(call,))

    assert program_in_files(Transcript(messages=(message,), agent="a")) is not None
