"""Code that stands in no fence of its own is found all the same."""

import subprocess
import sys
import textwrap

import pytest

from harness.extraction import canonical, extract
from harness.markdown import fenced_blocks
from tests.extraction.situation import ROOT, scenario
from tests.extraction.test_extract import (
    LOOP,
    OTHER,
    POSTED,
    block,
    chosen,
    conversation,
    program,
)
from tests.sampling import sampled

INDENTED = "".join(f"    {line}\n" for line in LOOP.splitlines())
WRITTEN = {
    "indented by four": f"Like so:\n\n{INDENTED}\nDone.\n",
    "in HTML": f"Like so:\n\n<pre><code>{LOOP.replace('.', '&#46;')}</code></pre>\nDone.\n",
    "in HTML with colours": '<div class="highlight"><pre><code>'
    + "".join(f'<span class="line">{line}</span>\n' for line in LOOP.splitlines())
    + "</code></pre></div>\n",
    "after the prompt of a shell": f"```console\n$ python3 - <<'EOF'\n{LOOP}EOF\n```\n",
    "in Markdown inside of a fence": f"~~~~markdown\nThe wiki:\n\n```python\n{LOOP}```\n~~~~\n",
    "in a fence that nobody closed": f"```python\n{LOOP}\nThat is everything. Good luck!\n",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_a_loop_is_found_however_it_is_set_apart(text):
    assert program(text).strip("\n") == LOOP.strip("\n")


def test_an_answer_with_fences_keeps_its_text():
    """What is indented beside them is output or a list."""
    text = f"{block(LOOP)}\nIt printed:\n\n    loss(3)\n"
    assert canonical.canonical(text) == text


def test_what_is_indented_and_called_wrong_is_left_out():
    wrong = "".join(f"    {line}\n" for line in OTHER.splitlines())
    assert chosen(f"Like so:\n\n{INDENTED}\nand don't do this:\n\n{wrong}\n") == [[0]]


WRONG = LOOP.replace("opt.step()", "opt.step()  # another")
BESIDE = {
    "in HTML": f"And this is the final loop:\n\n<pre><code>{WRONG}</code></pre>\n",
    "indented": f"And this is the final loop:\n\n{textwrap.indent(WRONG, '    ')}\n",
    "written by a command": f"The final loop:\n\n```bash\ncat > train.py <<'EOF'\n{WRONG}EOF\n```\n",
}
HIDDEN = {
    "in a hidden element": f"<div hidden>\n\nThe final loop:\n\n{block(WRONG)}\n</div>\n",
    "without display": f'<p style="display:none">\n\n{block(WRONG)}\n</p>\n',
    "without a size": f'<div style="font-size:0">\n\n{block(WRONG)}\n</div>\n',
    "in a comment": f"<!-- The final loop:\n\n<pre><code>{WRONG}</code></pre> -->\n",
    "in a template": f"<template>\n\n{block(WRONG)}\n</template>\n",
}


@pytest.mark.parametrize("said", BESIDE.values(), ids=BESIDE)
def test_a_loop_counts_beside_fences_however_it_is_set_apart(said):
    """The right loop stood in a fence, and what a user would paste did not."""
    assert program(f"A sketch:\n\n{block(LOOP)}\n{said}").strip("\n") == WRONG.strip("\n")


@pytest.mark.parametrize("said", HIDDEN.values(), ids=HIDDEN)
def test_what_a_page_does_not_show_is_no_part_of_the_answer(said):
    assert program(f"{block(LOOP)}\n{said}").strip("\n") == LOOP.strip("\n")


def as_it_is(text, **_):
    return text


def judged(text):
    found = extract(conversation(text), scenario())
    return [one.program.strip("\n") for one in found]


@pytest.mark.parametrize("case", [case for case in HIDDEN if case != "in a comment"])
def test_a_hidden_loop_is_judged_where_nobody_looks_for_what_a_page_hides(case, monkeypatch):
    """Of a comment Markdown itself reads no fence."""
    text = f"{block(LOOP)}\n{HIDDEN[case]}"
    assert WRONG.strip("\n") not in judged(text)

    monkeypatch.setattr(canonical, "_as_shown", as_it_is)

    assert WRONG.strip("\n") in judged(text)


GUARDS = {
    "in HTML": "_from_html",
    "indented": "_from_margin",
    "written by a command": "_from_heredocs",
}


@pytest.mark.parametrize("case", BESIDE)
def test_the_loop_of_a_fence_is_judged_where_nobody_looks_for_code_beside_fences(case, monkeypatch):
    """The right loop stands in a fence, and what a user would paste does not."""
    text = f"A sketch:\n\n{block(LOOP)}\n{BESIDE[case]}"
    assert judged(text) == [WRONG.strip("\n")]

    monkeypatch.setattr(canonical, GUARDS[case], as_it_is)

    assert judged(text) == [LOOP.strip("\n")]


def test_what_a_command_hands_to_python_is_a_program():
    handed = f"python - <<'EOF'\n{OTHER}EOF\ncat <<'EOF' | python3\n{LOOP}EOF\n"
    text = f"```sh\ntee train.py <<PY\n{LOOP}PY\n{handed}```\n"
    assert [fence.content for fence in fenced_blocks(canonical.canonical(text))] == [
        LOOP,
        OTHER,
        LOOP,
    ]


def test_a_fence_is_called_what_a_reader_sees():
    """A character of no width had made the loop to use no Python."""
    text = f"{block(OTHER)}\n{block(LOOP, 'The final loop:', chr(0x200B) + 'python')}"
    assert program(text).strip("\n") == LOOP.strip("\n")


CHANGED = POSTED.replace("    opt.step()", "    clip_grad_norm_(p, 1.0)\n    opt.step()")
MAIL = """\
From 3f1c2ab Mon Sep 17 00:00:00 2001
Subject: [PATCH] clip

diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -1,3 +1,4 @@
 for b in loader:
     model(b).backward()
+    clip_grad_norm_(p, 1.0)
     opt.step()
-- \n2.43.0
"""
MARKED = """\
<<<<<<< SEARCH
    opt.step()
=======
    clip_grad_norm_(p, 1.0)
    opt.step()
>>>>>>> REPLACE
"""


@pytest.mark.parametrize(
    "text",
    [f"```\n{MAIL}```\n", f"train.py\n{MARKED}\nDone.", f"```\n{MARKED}```\n", f"```python\n{MARKED}```\n"],
    ids=["a mailed patch", "marks without a fence", "marks in a fence", "marks in a block of Python"],
)  # fmt: skip
def test_a_change_is_applied_however_it_is_marked(text):
    assert program(text) == CHANGED


HOSTILE = {
    "conflicts that never end": "<<<<<<< a\n" * 20_000 + "=======\n" * 20_000,
    "pages that are opened and never closed": "</pre>" + "<pre><code>" * 200_000,
    "an open fence and ten thousand empty lines": "```python\n" + "x = (\n\n" * 40_000,
    "ten thousand blocks in one": "````markdown\n" + "```python\nx\n```\n" * 10_000 + "````\n",
}
READ = """
import sys
from harness.domain.transcript import Message, Transcript
from harness.extraction.blocks import blocks_of
blocks_of(Transcript(messages=(Message(role="assistant", text=sys.stdin.read()),), agent="a"))
"""


@pytest.mark.parametrize("text", sampled(HOSTILE.values(), 1))
def test_an_answer_that_is_made_to_be_slow_comes_to_an_end(text):
    """Two minutes for what takes two seconds: reading had gone back to every beginning."""
    done = subprocess.run(
        [sys.executable, "-c", READ], input=text, text=True, timeout=120, cwd=ROOT, check=False
    )

    assert done.returncode == 0
