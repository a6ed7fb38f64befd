"""The program that an answer proposes is found among its blocks."""

import cProfile
from textwrap import indent

import pytest

from harness.domain.candidate import NoCandidate
from harness.domain.file_edit import Edit, Replacement, Write
from harness.domain.transcript import Message, Origin, ToolCall, Transcript
from harness.extraction import extract, proposals
from tests.extraction.situation import scenario

LOOP = "for x, y in loader:\n    loss = f(x, y)\n    loss.backward()\n    opt.step()\n"
OTHER = LOOP.replace("opt.step()", "opt.step()\n    opt.zero_grad()")
POSTED = "for b in loader:\n    model(b).backward()\n    opt.step()\n"
HELPER = "def clip(params):\n    return clip_grad_norm_(params, 1.0)\n"
CLIPPED = LOOP.replace("    opt.step()", "    clip(model.parameters())\n    opt.step()")


def block(code: str, before: str = "", info: str = "python") -> str:
    return f"{before}\n\n```{info}\n{code}```\n\n"


def conversation(*texts: str, asked: str = f"```python\n{POSTED}```") -> Transcript:
    """A question, and answers with a question of the user's between any two."""
    messages = [Message(role="user", text=asked)]
    for number, text in enumerate(texts):
        messages += [Message(role="user", text="That is not it.")] if number else []
        messages.append(Message(role="assistant", text=text))
    return Transcript(messages=tuple(messages), agent="someone")


def chosen(*texts: str, measures: bool = False) -> list[list[int]]:
    """The blocks of each proposal."""
    found = proposals(conversation(*texts), scenario(measures=measures))
    assert not isinstance(found, NoCandidate), found.reason
    return [list(one.blocks) for one in found]


def program(*texts: str) -> str:
    found = extract(conversation(*texts), scenario())
    assert not isinstance(found, NoCandidate), found.reason
    assert len(found) == 1
    return found[0].program


@pytest.mark.parametrize("info", ["python", "py", "Python3", "python title=x", ""])
def test_the_only_python_block_is_the_candidate(info):
    """Whatever it does: judging is not the extractor's business."""
    assert program(block("x = max(1, 2)\n", info=info)) == "x = max(1, 2)\n"


WRONG = {
    "in its first comment": block(f"# WRONG\n{OTHER}"),
    "by a cross": block(f"# \N{CROSS MARK} scales twice\n{OTHER}"),
    "as what was before": block(f"# Before:\n{OTHER}"),
    "as not recommended": block(f"# Not recommended\n{OTHER}"),
    "in the heading": block(OTHER, "## What goes wrong"),
    "in a heading with a cross": block(OTHER, "### \N{CROSS MARK} Dividing twice"),
    "as worse": block(OTHER, 'Some "fix" it like this, which would be worse:'),
    "in the sentence before": block(OTHER, "It looks harmless. Don't do this:"),
    "as a tempting version": block(OTHER, "The tempting version divides here:"),
    "as the user's own code": block(OTHER, "Your current loop does the following:"),
    "by being what the user posted": block(POSTED, "You wrote that you run:"),
    "by being what the user posted, with comments": block(f"# hm\n{POSTED}"),
    "by not parsing": block("for each batch:\n    backward\n"),
    "by being another language": block(OTHER, info="text"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("first", [True, False], ids=["wrong first", "wrong last"])
def test_what_is_shown_as_wrong_is_left_out(wrong, first):
    """Wherever it stands and however it is said."""
    right = block(LOOP, "## The loop\n\nUse this one:")

    assert program(*([wrong + right] if first else [right + wrong])) == LOOP


def test_of_a_block_with_both_the_right_half_counts():
    """Lines keep their numbers, so that what is said about a line can be found."""
    both = f"# WRONG\n{OTHER}\n# RIGHT\n{LOOP}"

    found = program(block(both))

    assert "zero_grad" not in found
    assert found.split("\n").index("# RIGHT") == both.split("\n").index("# RIGHT")


@pytest.mark.parametrize(
    "comment",
    ["# before the clip, gradients are large", "# don't step yet", "# wrongly sized batch"],
)
def test_a_remark_is_no_label(comment):
    """Comments of a sound loop speak of before and don't, too."""
    assert program(block(f"x = 1\n{comment}\n{LOOP}")) == f"x = 1\n{comment}\n{LOOP}"


JOINED = {
    "a helper above": (block(HELPER) + block(CLIPPED), [[0, 1]]),
    "a helper below": (block(CLIPPED) + block(HELPER, "where `clip` is:"), [[0, 1]]),
    "a helper of a helper": (block("MAX = 1.0\n") + block(HELPER.replace("1.0", "MAX")) + block(CLIPPED), [[0, 1, 2]]),
    "an import": (block("from math import f\n") + block(LOOP), [[0, 1]]),
    "a model set up above": (block("opt = torch.optim.SGD(p, 1)\n") + block(LOOP), [[0, 1]]),
    "a function and its call": (
        block("def train(loader):\n" + indent(LOOP, "    ")) + block("train(data)\n"),
        [[0, 1]],
    ),
    "a helper that nobody uses": (block(HELPER) + block(LOOP), [[1]]),
    "a diagnostic below": (block(LOOP) + block("print(p.grad.norm())\n", "Check it:"), [[0]]),
    "a measurement below": (
        block(LOOP) + block("def time_it(opt):\n    for _ in r:\n        f().backward()\n        opt.step()\n"),
        [[0]],
    ),
    "a line of the loop above": (block("loss = loss / 4\n") + block(LOOP), [[1]]),
    "a loop for another setting": (block(LOOP) + block(OTHER, "## With FSDP"), [[0]]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "blocks"), JOINED.values(), ids=JOINED)
def test_what_the_loop_needs_comes_along(text, blocks):
    """And nothing else."""
    assert chosen(text) == blocks


ALTERNATIVES = {
    "options": block(LOOP, "## Option A") + block(OTHER, "## Option B"),
    "or": block(LOOP, "Reset after the step:") + block(OTHER, "Or, if you prefer:"),
    "two loops": block(LOOP, "## Simple") + block(OTHER, "## With a reset"),
}


@pytest.mark.parametrize("text", ALTERNATIVES.values(), ids=ALTERNATIVES)
def test_equally_valid_alternatives_are_a_candidate_each(text):
    """A reader may take either."""
    assert chosen(text) == [[0], [1]]


def test_the_complete_program_replaces_the_steps_towards_it():
    """An answer that builds up to a whole proposes the whole."""
    assert chosen(block(LOOP, "First:") + block(OTHER, "## The complete loop")) == [[1]]


def test_a_later_correction_wins():
    """The user objected, and the loop was written anew."""
    assert chosen(block(LOOP), block(OTHER)) == [[1]]


def test_a_corrected_helper_replaces_the_first_one():
    """The loop stays; the function is put in the place of the one it corrects."""
    mended = HELPER.replace("1.0", "0.5")

    found = program(block(HELPER + CLIPPED), block(mended))

    assert "0.5" in found
    assert "1.0" not in found
    assert found.index("def clip") < found.index("for x, y")


def test_where_a_measurement_is_asked_for_it_is_part_of_the_proposal():
    """The block that reads the clock belongs to the loop."""
    timing = block("start = time.perf_counter()\nclip(p)\nprint(time.perf_counter() - start)\n")

    assert chosen(block(LOOP) + timing, measures=True) == [[0, 1]]


def test_what_stands_for_the_readers_own_is_not_run():
    """``model = ...`` would bind the name to an ellipsis."""
    assert (
        program(block(f"model = ...\ntrain(...)\n{LOOP}")) == f"# model = ...\n# train(...)\n{LOOP}"
    )


HOSTILE = {
    "deep": "x = " + "(" * 90 + "1" + ")" * 90 + "\n",
    "long": "x = " + " + ".join("a" * 3000) + "\n",
    "twice the same argument": "def f(a, a):\n    pass\n",
    "nonlocal": "nonlocal x\n",
    "return": "return loss\n",
    "null": "x = '\x00'\n",
    "tabs": "if x:\n\ty\n        z\n",
    "unclosed": "x = '''\n",
}


@pytest.mark.parametrize("code", HOSTILE.values(), ids=HOSTILE)
def test_strange_blocks_do_no_harm(code):
    """The loop beside them is found."""
    assert program(block(code) + block(LOOP)) == LOOP
    extract(conversation(block(code)), scenario())


NONE = {
    "Just divide it.": "the answer holds no Python block",
    block("ls\n", info="bash"): "the answer holds no Python block",
    block(
        "for each batch:\n"
    ): "Python block 1 of the answer does not parse (line 1: invalid syntax)",
    block(f"# WRONG\n{LOOP}"): "every Python block of the answer is labelled as wrong",
    block("# nothing\n"): "the Python blocks of the answer hold nothing but comments",
    block("f()\n") * 1001: "the answer holds 1001 Python blocks, and no more than 1000 are read",
}


@pytest.mark.parametrize(("text", "reason"), NONE.items())
def test_without_a_candidate_there_is_a_reason(text, reason):
    """The user's own block in the question is not the answer's."""
    assert extract(conversation(text), scenario()) == NoCandidate(reason=reason)


@pytest.mark.parametrize("comment", ["# WRONG\n", "# The posted loop, with the clip moved.\n"])
def test_a_python_file_is_what_it_holds_whatever_a_comment_calls_it(comment):
    """Where an answer shows what is wrong, it proposes nothing; a file has nothing else to show."""
    said = conversation(block(comment + LOOP), asked="")
    file = said.model_copy(update={"origin": Origin(file="a.py", format="python")})

    assert isinstance(extract(said, scenario()), NoCandidate)
    assert [one.program for one in extract(file, scenario())] == [comment + LOOP]


def calls_for(blocks: int) -> int:
    """How many functions are called to read an answer whose loops stand each in a function."""
    loop = LOOP.replace("\n", "\n    ")
    pairs = (
        block(f"def train{n}():\n    {loop}\n") + block(f"train{n}()\n") for n in range(blocks)
    )
    told = conversation("".join(pairs))
    profile = cProfile.Profile()
    profile.runcall(extract, told, scenario())
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.full
def test_twice_the_blocks_are_about_twice_the_work():
    """Ten thousand blocks had each been held against each other."""
    assert calls_for(100) < 2.5 * calls_for(50)


def call(*edits) -> ToolCall:
    return ToolCall(id="1", name="Edit", input="", status="ok", edits=edits)


def edited(*calls: ToolCall, text: str = "Done.") -> Transcript:
    return Transcript(
        messages=(Message(role="assistant", text=text, calls=calls),), agent="someone"
    )


def test_the_final_state_of_an_edited_file_counts():
    """Not what was written first, nor what is said at the end."""
    change = Edit(path="train.py", replacements=(Replacement(old="opt.step()", new="opt.step(f)"),))

    found = extract(
        edited(call(Write(path="train.py", content=LOOP)), call(change), text=block(OTHER)),
        scenario(),
    )

    assert [(c.program, c.origin) for c in found] == [
        (LOOP.replace("step()", "step(f)"), "file train.py")
    ]


def test_what_a_file_imports_from_another_edited_one_stands_in_its_place():
    """The jail has no files of the agent's."""
    main = f"from helpers import clip\n{CLIPPED}"

    found = extract(
        edited(
            call(Write(path="helpers.py", content=HELPER)), call(Write(path="a.py", content=main))
        ),
        scenario(),
    )

    assert found[0].program == f"{HELPER}\n# {main}"


def test_edits_of_other_files_leave_the_choice_to_what_was_said():
    """Notes and tests are no proposal."""
    notes = call(Write(path="NOTES.md", content="x"), Write(path="test_a.py", content=LOOP))

    found = extract(edited(notes, text=block(OTHER)), scenario())

    assert found[0].program == OTHER
