"""The page shows what was found, and whatever came out of an answer is text on it."""

from html.parser import HTMLParser

import pytest

from harness.comparison import compare
from harness.report.html import RunEntry, render_index, render_page
from tests.report.sides import HOSTILE, answer, head, hostile, quality, report, side, unanswered


class Read(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "style" not in self.open and "script" not in self.open:
            self.text.append(data)

    def having(self, kind: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.tags if kind in (attrs.get("class") or "").split()]

    @property
    def signs(self) -> set[str | None]:
        """What a reader of the screen says of each sign of the matrix."""
        return {a.get("title") for a in self.having("sign") if a.get("role") == "img"}

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def test_a_hostile_transcript_is_text():
    """No element, attribute or link of the page comes out of an answer."""
    read, tame = (
        Read(render_page(report(side("run", hostile())))),
        Read(render_page(report(side("run", answer())))),
    )

    assert {tag for tag, _ in read.tags} <= {tag for tag, _ in tame.tags}
    assert sum(tag == "script" for tag, _ in read.tags) == 1
    for tag, attrs in read.tags:
        assert not any(name.startswith("on") for name in attrs), (tag, attrs)
        for name in ("href", "src", "xlink:href", "action"):
            assert (attrs.get(name) or "#").startswith("#"), (tag, attrs)
    assert "<script>window.owned = 1</script>" in read.words
    assert "{{ 7 * 7 }}" in read.words


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\x9b", "\u202e", "\x00"])
def test_characters_that_steer_a_terminal_do_not_reach_the_page(character):
    """Nor those that turn the direction of reading."""
    page = render_page(report(side(f"a{character}", hostile(), answer("wrong", character))))

    assert character not in page


def test_the_page_forbids_all_scripts_but_its_own_and_every_request():
    """Should something slip through after all, it does not run."""
    read = Read(render_page(report(side("run", answer()))))

    policy = next(a["content"] for _, a in read.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy
    assert "://" not in policy


def test_the_matrix_says_in_words_what_the_signs_mean():
    """One property passes once of two, another is judged in neither."""
    read = Read(render_page(report(side("run", answer("right"), answer("wrong")))))

    assert {"sign", "mixed"} in [set(a["class"].split()) for a in read.having("mixed")]
    assert "1 of 2 pass" in read.signs
    assert "1 of 2 right" in read.words


def test_an_answer_shows_verdicts_with_numbers_its_story_rubric_and_pictures():
    """And the same pictures in words."""
    read = Read(render_page(report(side("run", answer()))))

    assert "the optimizer consumed norm 17.1, threshold 1." in read.words
    assert "consumed norm (on large gradients, in its first update) = 17.1" in read.words
    assert "4 x forward, backward" in read.words
    assert "because it is late" in read.words
    said = [a["aria-label"] for a in read.having("drawing")]
    assert said == [
        "Gradient norm per update on large gradients, 4 updates: true 5 to 7, consumed 5 to 7, not finite in 1 update. The limit is 1.",
        'Gradient norm per update in the execution "spread", 3 updates: true 3 to 3, consumed 3 to 3. The limit is 1.',
        'Rounds of synchronisation per update in the execution "spread": rank 0 4 to 4; rank 1 4 to 4',
    ]


def test_the_proposed_block_is_marked_where_it_was_said():
    """The other block of the answer is not."""
    page = render_page(report(side("run", answer())))

    (block,) = (part.partition("</figure>")[0] for part in page.split('class="code proposed"')[1:])
    assert "optimizer.step()" in block
    assert "print(" not in block
    assert "<mark>" not in page


def test_of_a_block_that_was_taken_in_part_the_lines_are_marked():
    """The loop without its last line."""
    whole = answer()
    (one,) = whole.answer.alternatives
    part = one.model_copy(update={"program": one.program.replace("    optimizer.step()\n", "")})
    graded = whole.answer.model_copy(update={"alternatives": (part,)})

    page = render_page(report(side("run", whole.model_copy(update={"answer": graded}))))

    assert "<mark>    criterion(model(x), y).backward()</mark>" in page
    assert "<mark>    optimizer.step()</mark>" not in page


def test_an_answer_that_never_came_says_why():
    """It has no program, no verdict and no transcript."""
    read = Read(render_page(report(side("run", unanswered()))))

    assert "no answer: overloaded" in read.words


def test_two_runs_stand_side_by_side_under_what_the_difference_is():
    """With the interval, as a picture and in words."""
    from harness.store.arms import arm_of_answers

    old, new = side("old", answer("wrong")), side("new", answer("right"))
    arms = [arm_of_answers(s.name, s.head, s.answers) for s in (old, new)]
    read = Read(render_page(report(old, new, comparison=compare(*arms, anyway=True))))

    assert "new against old: no difference shown" in read.words
    assert {"old: 0 of 1 pass", "new: 1 of 1 pass"} <= read.signs
    assert read.having("drawing")[0]["aria-label"].startswith("Difference in right answers.")
    assert len(read.having("two")) == 1


def test_pictures_are_drawn_for_wrong_answers_first_and_the_page_says_so():
    """A page of a thousand answers has to stay usable."""
    page = render_page(report(side("run", answer("right"), answer("wrong"))), most_pictures=1)

    assert "1 program has none here" in Read(page).words
    right, wrong = page.split('id="answer-0-0-2"')
    assert 'class="drawing"' not in right
    assert 'class="drawing"' in wrong


def test_a_page_without_pictures_is_asked_for_with_zero_and_says_how_to_have_them():
    """They are most of the time that a page takes."""
    page = render_page(report(side("run", answer("wrong"))), most_pictures=0)

    assert 'class="drawing"' not in page
    assert "1 program has none here. harness report --pictures N draws more." in Read(page).words


def test_no_two_elements_share_an_id():
    """Drawings bring ids along, and many drawings stand on one page."""
    read = Read(render_page(report(side("run", answer("wrong")))))

    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_the_list_of_runs_escapes_their_names():
    """A folder may be called anything."""
    page = render_index(
        "/runs", [RunEntry(name, "now", "1 code right", head()) for name in HOSTILE]
    )

    assert not [tag for tag, _ in Read(page).tags if tag in ("script", "img", "svg")]
    assert "\x1b" not in page


def test_the_kill_matrix_says_which_property_noticed_which_fault():
    """Those that name the fault are marked; what nobody noticed is counted."""
    page = render_page(report(side("run", answer()), quality=quality()))

    assert '<span class="sign fail">1</span>' in page
    assert '<span class="sign pass">1</span>' in page
    assert "The kill matrix, 1 kind of fault" in page
