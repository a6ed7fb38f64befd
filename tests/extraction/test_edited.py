"""The program in the files that an agent edited."""

import pytest

from harness.domain.candidate import NoCandidate
from harness.domain.file_edit import (
    Edit,
    FileEdit,
    LineScript,
    Replacement,
    Script,
    SeenWhole,
    Write,
)
from harness.domain.transcript import Message, ToolCall, Transcript
from harness.extraction import extract
from tests.extraction.situation import scenario

LOOP = "for x, y in loader:\n    loss = f(x, y)\n    loss.backward()\n    opt.step()\n"
BY_HELPER = "for x, y in loader:\n    loss = f(x, y)\n    loss.backward()\n    {name}(model, opt)\n"
HELPER = "def update(model, opt):\n    opt.step()\n"


def session(*edits: FileEdit, asked: str = "Please.", later: str = "") -> Transcript:
    calls = tuple(
        ToolCall(id=str(i), name="Edit", input="", status="ok", edits=(edit,))
        for i, edit in enumerate(edits)
    )
    messages = [
        Message(role="user", text=asked),
        Message(role="assistant", text="Done.", calls=calls),
    ]
    if later:
        messages += [
            Message(role="user", text="No."),
            Message(role="assistant", text=later),
        ]
    return Transcript(messages=tuple(messages), agent="someone")


def program(*edits: FileEdit, asked: str = "Please.", later: str = "") -> str:
    found = extract(session(*edits, asked=asked, later=later), scenario())
    assert not isinstance(found, NoCandidate), found.reason
    (one,) = found
    return one.program


def run(code: str) -> list[str]:
    """What a program does when its loop turns once."""
    done: list[str] = []

    class Loss:
        def backward(self) -> None:
            done.append("backward")

    class Optimizer:
        def step(self) -> None:
            done.append("step")

    names = {"loader": [(1, 2)], "f": lambda *_: Loss(), "model": None, "opt": Optimizer()}
    exec(code, names)
    return done


def test_a_loop_whose_step_is_in_another_file_is_found_with_that_file() -> None:
    """The helper was edited last, and neither file trains without the other."""
    train = Write(
        path="/r/train.py",
        content="from utils.up import update\n" + BY_HELPER.format(name="update"),
    )
    helper = Write(path="/r/utils/up.py", content=HELPER.replace("opt.step", "opt.stop"))
    repair = Edit(path="/r/utils/up.py", replacements=(Replacement(old="stop", new="step"),))

    assert run(program(train, helper, repair)) == ["backward", "step"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("from up import update as go", "go"),
        ("from .up import update", "update"),
        ("import up", "up.update"),
        ("import up as u", "u.update"),
        ("from . import up", "up.update"),
        ("from lib import up as u", "u.update"),
    ],
)
def test_imports_are_followed_in_every_spelling(line: str, name: str) -> None:
    """A loop that was only read is the proposal when the agent changed what it imports."""
    train = SeenWhole(path="/r/train.py", content=f"{line}\n{BY_HELPER.format(name=name)}")
    helper = Write(path="/r/up.py", content=f"{HELPER}if __name__ == '__main__':\n    1 / 0\n")

    assert run(program(train, helper)) == ["backward", "step"]


def test_what_files_import_from_the_future_stays_first() -> None:
    first = "from __future__ import annotations\n"
    train = SeenWhole(
        path="/r/train.py",
        content=f"{first}from up import update\n{BY_HELPER.format(name='update')}",
    )
    helper = Write(path="/r/up.py", content=f"{first}{HELPER}")

    assert run(program(train, helper)) == ["backward", "step"]


def test_a_package_that_hands_names_on_is_followed() -> None:
    train = Write(
        path="/r/a.py", content=f"from lib import update\n{BY_HELPER.format(name='update')}"
    )
    package = Write(path="/r/lib/__init__.py", content="from .up import update\n")

    found = program(package, Write(path="/r/lib/up.py", content=HELPER), train)

    assert run(found) == ["backward", "step"]


def test_a_file_that_the_log_does_not_show_is_the_posted_one() -> None:
    """Where the change fits into it; one that only adds an import is somewhere else in the file."""
    asked = f"```python\n{LOOP}```"
    change = Edit(path="a.py", replacements=(Replacement(old="f(x, y)", new="f(x, y) / 4"),))
    outside = Edit(path="a.py", replacements=(Replacement(old="import os", new="import sys"),))

    assert program(change, outside, asked=asked) == LOOP.replace("f(x, y)", "f(x, y) / 4")


def test_a_change_to_what_is_not_known_of_a_posted_file_is_not_guessed_at() -> None:
    asked = f"```python\n{LOOP}```"
    change = Edit(path="a.py", replacements=(Replacement(old="f(x, y)", new="f(x, y) / 4"),))
    unknown = Edit(path="a.py", replacements=(Replacement(old="x = 1", new="opt.zero_grad()"),))

    assert isinstance(extract(session(change, unknown, asked=asked), scenario()), NoCandidate)


def test_a_stream_editor_that_is_not_followed_leaves_no_candidate() -> None:
    """What the file was before it is not what the agent proposes."""
    written = Write(path="a.py", content=LOOP)
    found = extract(
        session(written, LineScript(path="a.py", language="sed", script="y/a/b/")), scenario()
    )

    assert found == NoCandidate(reason="a.py was edited, but sed changed it in place")


def test_what_only_a_subagent_wrote_gives_way_to_what_the_agent_wrote() -> None:
    """A variant for review that nobody took over."""
    made = session(Write(path="a.py", content=LOOP), Write(path="review/b.py", content=LOOP + "#"))
    (asked, done) = made.messages
    calls = (done.calls[0], done.calls[1].model_copy(update={"by_subagent": True}))
    messages = (asked, done.model_copy(update={"calls": calls}))
    found = extract(made.model_copy(update={"messages": messages}), scenario())

    assert not isinstance(found, NoCandidate)
    assert found[0].program == LOOP


def test_edits_that_all_failed_are_told() -> None:
    made = session(Write(path="a.py", content=LOOP))
    (asked, done) = made.messages
    denied = tuple(call.model_copy(update={"status": "denied"}) for call in done.calls)
    failed = done.model_copy(update={"calls": denied})
    found = extract(made.model_copy(update={"messages": (asked, failed)}), scenario())

    assert found == NoCandidate(reason="the answer holds no Python block; no edit succeeded")


def test_what_was_only_read_was_not_tried_to_edit() -> None:
    found = extract(session(SeenWhole(path="a.py", content="x = 1\n")), scenario())

    assert found == NoCandidate(reason="the answer holds no Python block")


def test_a_module_that_is_no_python_is_left_to_the_import() -> None:
    """It broke the reader."""
    broken = Write(path="/r/cfg.py", content="def (:\n")

    assert (
        program(broken, Write(path="/r/a.py", content=f"import cfg\n{LOOP}"))
        == f"import cfg\n{LOOP}"
    )


def test_a_program_that_is_run_beside_a_corrected_loop_is_no_edit() -> None:
    """The loop in the later turn was passed over, because something was run in that turn."""
    other = LOOP.replace("opt.step()", "opt.step(); opt.zero_grad()")
    made = session(Write(path="a.py", content=LOOP), later=f"```python\n{other}```")
    run_ = ToolCall(
        id="9", name="Bash", input="", status="ok", edits=(Script(path="a.py", root="."),)
    )
    messages = (*made.messages[:-1], made.messages[-1].model_copy(update={"calls": (run_,)}))
    found = extract(made.model_copy(update={"messages": messages}), scenario())

    assert not isinstance(found, NoCandidate)
    assert found[0].program == other


def test_a_whole_loop_in_a_later_turn_corrects_the_files() -> None:
    other = LOOP.replace("opt.step()", "opt.step(); opt.zero_grad()")

    assert program(Write(path="a.py", content=LOOP), later=f"```python\n{other}```") == other
    assert program(Write(path="a.py", content=LOOP), later="```python\nprint(loss)\n```") == LOOP
