"""Lines that an answer shows without the loop around them go back into the loop that was posted."""

import pytest

from harness.domain.candidate import NoCandidate
from harness.domain.transcript import Message, Transcript
from harness.extraction import extract
from tests.extraction.situation import scenario

LOOP = """\
steps = 4
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()
    if (i + 1) % steps == 0:
        optimizer.step()
        clip_grad_norm_(model.parameters(), 1.0)
"""


def proposed(answer: str, posted: str = LOOP) -> str:
    asked = Message(role="user", text=f"```python\n{posted}```")
    transcript = Transcript(messages=(asked, Message(role="assistant", text=answer)), agent="a")
    found = extract(transcript, scenario())
    if isinstance(found, NoCandidate):
        return found.reason
    assert len(found) == 1
    return found[0].program


def fenced(code: str, info: str = "python") -> str:
    return f"\n\n```{info}\n{code}\n```\n\n"


HALVED = LOOP.replace("loss = criterion(model(x), y)", "loss = criterion(model(x), y) / steps")
SWAPPED = LOOP.replace(
    "        optimizer.step()\n        clip_grad_norm_(model.parameters(), 1.0)\n",
    "        clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()\n",
)
WRAPPED = LOOP.replace(
    "    loss = criterion(model(x), y)\n    loss.backward()\n",
    "    with context(i):\n        loss = criterion(model(x), y)\n        loss.backward()\n",
)
DELETED = LOOP.replace("        clip_grad_norm_(model.parameters(), 1.0)\n", "")

PLACED = {
    "a line that sets the same name": (fenced("loss = criterion(model(x), y) / steps"), HALVED),
    "the body of an if": (
        fenced("clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()"), SWAPPED
    ),
    "an if with its body": (
        fenced(
            "    if (i + 1) % steps == 0:\n        clip_grad_norm_(model.parameters(), 1.0)\n"
            "        optimizer.step()"
        ),
        SWAPPED,
    ),
    "lines inside of a context": (
        fenced("with context(i):\n    loss = criterion(model(x), y)\n    loss.backward()"), WRAPPED
    ),
    "quoted lines and what replaces them": (
        "Replace" + fenced("loss = criterion(model(x), y)")
        + "by" + fenced("loss = criterion(model(x), y) / steps"), HALVED
    ),
    "a diff in which every line has a mark of its own": (
        fenced("-    loss = criterion(model(x), y)\n+    loss = criterion(model(x), y) / steps", "diff"),
        HALVED,
    ),
    "a diff whose context has no blank in front": (
        fenced(
            "for i, (x, y) in enumerate(loader):\n-    loss = criterion(model(x), y)\n"
            "+    loss = criterion(model(x), y) / steps\n    loss.backward()", "diff"
        ),
        HALVED,
    ),
    "a diff that says Python": (
        fenced("-    loss = criterion(model(x), y)\n+    loss = criterion(model(x), y) / steps"), HALVED
    ),
    "a diff with headers and two hunks": (
        fenced(
            "--- a.py\n+++ a.py\n@@ -5 +5 @@\n     if (i + 1) % steps == 0:\n"
            "+        clip_grad_norm_(model.parameters(), 1.0)\n         optimizer.step()\n@@\n"
            "         optimizer.step()\n-        clip_grad_norm_(model.parameters(), 1.0)", "diff"
        ),
        SWAPPED,
    ),
    "quoted lines that are to be deleted": (
        "Delete this line:" + fenced("        clip_grad_norm_(model.parameters(), 1.0)"), DELETED
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "program"), PLACED.values(), ids=PLACED)
def test_a_snippet_stands_where_its_calls_or_names_stood(answer, program):
    assert proposed(answer) == program


def test_a_call_that_would_stand_twice_has_no_clear_place():
    """Whether the old one stays decides whether the loop is right, and the code does not say."""
    posted = LOOP.replace("    loss =", "    optimizer.zero_grad()\n    loss =")
    snippet = fenced("if (i + 1) % steps == 0:\n    optimizer.step()\n    optimizer.zero_grad()")

    assert "not clear" in proposed(f"Clear there too:{snippet}", posted)
    moved = proposed(f"Move it:{snippet}", posted)
    assert moved.count("zero_grad") == 1
    assert moved.index("step()") < moved.index("zero_grad")


def test_a_statement_that_is_deleted_in_words_is_left_out():
    posted = f"for group in groups:\n    group['lr'] *= 0.1\n{LOOP}"
    answer = "Delete the `for group in ...` loop." + fenced("loss = criterion(model(x), y) / steps")

    assert proposed(answer, posted) == f"pass\n{HALVED}"


def test_what_a_snippet_uses_is_made_once_in_front_of_the_loop():
    answer = fenced("scale = make(1)") + fenced("loss = criterion(model(x), y) / scale")

    program = proposed(answer)

    assert program.index("scale = make(1)") < program.index("for i")
    assert "/ scale" in program


def test_lines_that_a_snippet_leaves_out_and_uses_stay():
    answer = fenced("for i, (x, y) in enumerate(loader):\n    ...\n    (loss / steps).backward()")

    assert proposed(answer) == LOOP.replace("loss.backward()", "(loss / steps).backward()")


def test_an_answer_that_only_quotes_proposes_nothing():
    assert "nothing but lines" in proposed(fenced("loss.backward()"))


def test_a_program_with_a_loop_of_its_own_is_no_snippet():
    """Whatever computes its gradients."""
    alone = "for x, y in loader:\n    p.grad = torch.func.grad(f)(w, x, y)\n    optimizer.step()\n"

    assert proposed(fenced(alone)).strip() == alone.strip()


def test_blocks_that_are_files_find_each_other():
    helper = "class Clip:\n    def now(self):\n        self.step()\n"
    loop = f"from clip import Clip\n{LOOP}Clip().now()\n"

    program = proposed(fenced(helper) + fenced(loop))

    assert "# from clip import Clip" in program
    assert program.index("class Clip") < program.index("for i")
