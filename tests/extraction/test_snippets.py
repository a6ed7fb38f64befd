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


@pytest.mark.parametrize(("mark", "changed"), [("-", DELETED), (" ", LOOP)])
def test_a_diff_may_begin_deeper_than_it_goes_on(mark, changed):
    """Its first line had not been Python, so that there was no block at all."""
    lines = (
        f"         optimizer.step()\n{mark}        clip_grad_norm_(model.parameters(), 1.0)\n-log()"
    )
    diff = f"@@ -6,3 +6,2 @@\n{lines}\n+log(i)"

    assert proposed(fenced(diff, "diff"), LOOP + "log()\n") == changed + "log(i)\n"


def test_what_unscales_below_a_division_by_hand_may_be_meant_in_its_place():
    """Both together take the scale out twice, and nobody had said that both stay."""
    divided = SCALED.replace("    clip", "    for p in ps:\n        p.grad /= 2\n    clip")
    lines = fenced("scaler.unscale_(optimizer)\nclip_grad_norm_(model.parameters(), 1.0)")

    assert "not clear" in proposed(f"Like this:\n{lines}", divided)


def test_the_posted_loop_with_remarks_is_no_proposal_beside_a_line_that_changes():
    """It had been judged, for it was the only block that trains."""
    remarks = SCALED.replace("clip_grad", "# too early\n    clip_grad")
    shown = f"What you run:\n{fenced(remarks)}\nYou need one line before the clip:\n"
    line = fenced("scaler.unscale_(optimizer)\nclip_grad_norm_(model.parameters(), 1.0)")

    assert proposed(shown + line, SCALED) == SCALED.replace(
        "    clip", "    scaler.unscale_(optimizer)\n    clip"
    )


SCALED = """\
for x, y in loader:
    scaler.scale(criterion(model(x), y)).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
"""
UNSCALE = fenced("scaler.unscale_(optimizer)")


def test_a_second_snippet_may_take_what_the_first_one_puts_and_do_more_with_it():
    """First the order, then the same call again with its norm logged: no place was clear for it."""
    order = "clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()"
    logged = "norm = clip_grad_norm_(model.parameters(), 1.0)\nprint(norm)"

    program = proposed(fenced(order) + "And log the norm:" + fenced(logged))

    assert program == SWAPPED.replace("        clip_grad", "        norm = clip_grad").replace(
        "1.0)\n", "1.0)\n        print(norm)\n"
    )


def alternatives(answer: str) -> list[str]:
    asked = Message(role="user", text=f"```python\n{LOOP}```")
    transcript = Transcript(messages=(asked, Message(role="assistant", text=answer)), agent="a")
    found = extract(transcript, scenario())
    assert not isinstance(found, NoCandidate), found.reason
    return [one.program for one in found]


ORDER = fenced("clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()")


def test_lines_that_are_offered_instead_of_others_are_a_program_of_their_own():
    """A wrong second option of a few lines had been left out of the verdict."""
    late = fenced("optimizer.step()\nclip_grad_norm_(model.parameters(), 0.5)")

    assert alternatives(f"Swap them:{ORDER}Alternatively, a tighter clip:{late}") == [
        SWAPPED,
        LOOP.replace("1.0)", "0.5)"),
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "optimizer = SGD(model.parameters(), 1e-4)",
        "optimizer.step()",
        "clip_grad_norm_(model.parameters(), 0.5)",
    ],
)
def test_lines_that_only_add_to_others_are_none(lines):
    """Without the others the loop would be as wrong as it was posted."""
    assert alternatives(f"Swap them:{ORDER}Alternatively:{fenced(lines)}") == [SWAPPED]


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


METHODS = """\
class Window:
    def add(self, loss):
        loss.backward()
        self.count += 1
        if self.count == steps:
            self.close()

    def close(self):
        optimizer.step()
        optimizer.zero_grad()
        self.count = 0

window = Window()
"""
FUNCTION = """\
def update(x, y):
    criterion(model(x), y).backward()
    optimizer.step()

"""
HIDDEN = {
    "a method calls the one that steps": f"{METHODS}for x, y in loader:\n    window.add(criterion(model(x), y))\n",
    "under another name": f"{METHODS}take = window.add\nfor x, y in loader:\n    take(criterion(model(x), y))\n",
    "in a comprehension": f"{FUNCTION}_ = [update(x, y) for x, y in loader]\n",
    "mapped": f"{FUNCTION}list(map(update, *zip(*loader)))\n",
    "handed over": f"{FUNCTION}def run(do):\n    for x, y in loader:\n        do(x, y)\n\nrun(update)\n",
    "without a loop": FUNCTION.replace("update(x, y)", "update(rest)").replace(
        "    crit", "    x, y = next(rest)\n    crit"
    )
    + "    update(rest)\n\nupdate(iter(loader))\n",
}


@pytest.mark.parametrize("code", HIDDEN.values(), ids=HIDDEN)
def test_a_loop_whose_update_is_elsewhere_is_no_snippet(code):
    """It was put in front of the posted loop, and both ran."""
    set_up = "steps = 4\noptimizer.zero_grad()\n"

    assert proposed(fenced(set_up + code), posted=set_up + LOOP).strip() == (set_up + code).strip()


def test_blocks_that_are_files_find_each_other():
    helper = "class Clip:\n    def now(self):\n        self.step()\n"
    loop = f"from clip import Clip\n{LOOP}Clip().now()\n"

    program = proposed(fenced(helper) + fenced(loop))

    assert "# from clip import Clip" in program
    assert program.index("class Clip") < program.index("for i")


FLUSH = "if (i + 1) % steps != 0:\n    optimizer.step()"


@pytest.mark.parametrize("where", ["After the loop, for what is left:", "**After the loop**"])
def test_what_goes_after_the_loop_replaces_nothing_in_it(where):
    """A leftover's step looks like the step of the loop, and took its place."""
    assert "not clear" in proposed(where + fenced(FLUSH))


def test_a_snippet_does_not_take_back_what_another_one_put_there():
    first = "if (i + 1) % steps == 0:\n    clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()"
    second = "if i + 1 == len(loader):\n    clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()"

    assert "not clear" in proposed(fenced(first) + "And then:" + fenced(second))


TWO = """\
for real in loader:
    loss_d = judge(D(real), D(fake.detach()))
    loss_d.backward()
    opt_d.step()
    loss_g = judge(D(fake))
    loss_g.backward()
    opt_g.step()
"""


def test_fragments_for_two_networks_go_to_the_lines_of_each():
    """``loss_d.backward()`` is another call than ``loss_g.backward()``."""
    clipped = TWO.replace("    opt_d", "    clip_grad_norm_(D.parameters(), 1.0)\n    opt_d")
    clipped = clipped.replace("    opt_g", "    clip_grad_norm_(G.parameters(), 1.0)\n    opt_g")
    halves = (
        fenced(
            f"loss_{n}.backward()\nclip_grad_norm_({n.upper()}.parameters(), 1.0)\nopt_{n}.step()"
        )
        for n in "dg"
    )

    assert proposed("and the other one:".join(halves), TWO) == clipped


CLIPPED_FIRST = "loss.backward()\nclip_grad_norm_(model.parameters(), 1.0)"


@pytest.mark.parametrize(
    "said",
    [
        "Use Adam instead of SGD.",
        "Don't move the clip.",
        "The bias term belongs to the head.",
        "Remove `optimizer.zero_grad()` below the step.",
    ],
)
def test_a_call_is_not_taken_away_where_no_sentence_moves_it(said):
    """Nothing names the clip, so it is not known whether there are two of them now."""
    assert "not clear" in proposed(said + fenced(CLIPPED_FIRST))


@pytest.mark.parametrize(
    "said",
    [
        "Move the clip up.",
        "Move that line up.",
        "Remove the call below `optimizer.step()` and put it here:",
        "Drop that line under the step, shorten after `loss.backward()`:",
        "Take out the call after the step, it goes between backward and the step.",
    ],
)
def test_a_call_is_taken_away_where_a_sentence_moves_it(said):
    assert proposed(said + fenced(CLIPPED_FIRST)).count("clip_grad_norm_") == 1
