"""What authors say about their code, and what only looks like it."""

import pytest

from harness.domain.skill import Part
from harness.skills import read_page
from harness.skills.claims import expects_failure, warns


def parts(code: str, above: str = "") -> tuple[Part, ...]:
    return read_page("SKILL.md", f"{above}\n\n```python\n{code}\n```\n").examples[0].parts


def polarities(code: str, above: str = "") -> list[str | None]:
    return [part.mark.polarity if part.mark else None for part in parts(code, above)]


@pytest.mark.parametrize(
    ("code", "polarity"),
    [
        ("# WRONG: too late\noptimizer.step()", "wrong"),
        ("# ❌ too late\noptimizer.step()", "wrong"),
        ("# BAD\noptimizer.step()", "wrong"),
        ("# ✅ in time\noptimizer.step()", "right"),
        ("# GOOD: in time\noptimizer.step()", "right"),
        ("# Better: in time\noptimizer.step()", "better"),
        ("# suboptimal: by value\noptimizer.step()", "suboptimal"),
        ("optimizer.step()  # ❌ too late", "wrong"),
        ("for x in y:\n    # ❌ each time\n    optimizer.step()", "wrong"),
    ],
)
def test_a_comment_in_the_block_marks_it(code, polarity):
    assert polarities(code) == [polarity]


@pytest.mark.parametrize(
    "code",
    [
        "# Better weights help\nx = 1",
        "# Use the right order\nx = 1",
        "x = 1  # right here",
        'print("❌ NaN")',
        "# This is a bad day\nx = 1",
        "optimizer.step()\n\n# ✅ a list of merits\n# ❌ and of others",
    ],
)
def test_words_and_signs_that_judge_something_else_are_no_marks(code):
    assert polarities(code) == [None]


@pytest.mark.parametrize(
    ("above", "polarity"),
    [
        ("**WRONG: not divided**", "wrong"),
        ("**RIGHT:**", "right"),
        ("**SUBOPTIMAL:**", "suboptimal"),
        ("**BETTER:**", "better"),
        ("## Correct order", "right"),
        ("## A whole setup (best practices)", None),
        ("**Common mistakes - WRONG ORDER:**", "wrong"),
        ("## Better weight initialisation", None),
        ("## The right size", None),
        ("**Complete loop:**", None),
        ("**Solution 2: smaller steps**", None),
        ("Two solutions come to mind.", None),
        ("### Error: the encoding has a wrong shape", None),
        ("Roots at zero. This does not work, as the mask comes too late:", "wrong"),
        ("Older code has this; it does not work any more:", "wrong"),
        ("This does not work with several ranks; there, average first:", None),
    ],
)
def test_what_stands_above_a_block_marks_it(above, polarity):
    assert polarities("optimizer.step()", above) == [polarity]


def test_the_block_itself_outweighs_what_stands_above_it():
    assert polarities("# RIGHT: now\nx = 1", "## Common mistakes") == ["right"]


def test_a_block_that_holds_alternatives_is_split_at_their_marks():
    code = "import torch\n\n# WRONG: last\nstep()\nclip()\n\n# RIGHT: between\nclip()\nstep()"
    wrong, right = parts(code)
    assert [wrong.mark.polarity, right.mark.polarity] == ["wrong", "right"]
    assert "import torch" in wrong.shared
    assert "import torch" in right.shared
    assert (wrong.line, right.line) == (6, 10)


def test_alternatives_with_and_without_something_are_split_and_marked_by_their_signs():
    code = "# WITHOUT unscaling:\nclip()  # ❌ scaled\n\n# WITH unscaling:\nunscale()\nclip()  # ✅ true"
    assert polarities(code) == ["wrong", "right"]


def test_a_rule_between_alternatives_does_not_make_them_unreadable():
    found = parts("# BAD: one\nx = 1\n\n---\n\n# GOOD: two\nx = 2")
    assert [part.flaw for part in found] == [None, None]


def test_numbers_part_alternatives_only_where_some_are_announced():
    code = "# 1. smaller\nx = 1\n\n# 2. larger\nx = 2"
    assert polarities(code, "**Solutions:**") == [None, None]
    assert polarities(code, "Do this:") == [None]


def test_marks_in_a_row_open_one_alternative():
    assert polarities("# AVOID: all of these\n# ❌ a pole\nx = 1\n# ✅ none\nx = 2") == [
        "wrong",
        "right",
    ]


@pytest.mark.parametrize(
    ("said", "warned", "failing"),
    [
        ("Before:", True, True),
        ("It trains as before:", False, False),
        ("A NaN gradient is clipped:", True, False),
        ("This raises:", True, True),
        ("Review this training loop:", True, True),
        ("Steps of a review:", False, False),
    ],
)
def test_the_subject_of_a_sentence_announces_no_failing_assertion(said, warned, failing):
    assert (warns(said), expects_failure(said)) == (warned, failing)


@pytest.mark.parametrize(
    ("said", "warned"),
    [("Skip bad batches?", False), ("A bad gradient is dropped:", False), ("Bad: no step", True)],
)
def test_bad_data_are_no_bad_code(said, warned):
    assert warns(said) is warned


@pytest.mark.parametrize(
    ("said", "warned"),
    [
        ("If it does not learn, there is a bug. The loss should fall.", False),
        ("If it does not learn, there is a bug.", True),
    ],
)
def test_what_is_said_of_one_case_before_the_last_sentence_warns_of_no_block(said, warned):
    assert warns(said) is warned
