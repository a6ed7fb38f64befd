"""An answer as sentences, prose and code, with quotes as they stand."""

from harness.domain.lexicon import Signal
from harness.rubric.matching import found, shows
from harness.rubric.reading import AnswerReading


def sentences(answer, **known):
    return [place.text for place in AnswerReading(answer, **known).sentences]


def committed(text):
    signal = Signal(any=("clip harder",), positive=("x",), negative=("x",))
    return shows(signal, text, {}, fault=True)


def test_list_items_headings_and_table_rows_are_sentences_and_so_are_comments_in_code():
    answer = "# Fix\n\nFirst. Second,\nwrapped.\n\n1. one\n- two\n\n| a | b |\n|---|---|\n\n```python\nx = 1  # why it works\n```\n"

    assert sentences(answer) == [
        "# Fix", "First.", "Second, wrapped.", "1. one", "- two", "| a | b |", "why it works",
    ]  # fmt: skip


def test_marks_are_gone_for_patterns_and_kept_in_quotes():
    (place,) = AnswerReading("You **must** call `unscale_` \u2013 it\u2019s\nmissing.").sentences

    assert place.text == "You must call unscale_ - it's missing."
    assert place.quote(10) == "You **must** call `unscale_` \u2013 it\u2019s\nmissing."


def test_the_users_own_words_are_not_the_answers():
    assert sentences("> Should I clip? \n\nNo.", known="I wonder. Should I clip?") == ["No."]


def test_code_is_no_prose_and_prose_no_code():
    reading = AnswerReading("Say this.\n\n```python\ndo_that()\n```\n")

    assert [p.text for p in reading.places("text")] == ["Say this."]
    assert [p.text for p in reading.places("code")] == ["do_that()"]


def test_a_fault_is_committed_when_it_is_advised():
    assert committed("I would clip harder.")
    assert committed("Not only that, you should clip harder.")


def test_a_fault_is_not_committed_when_it_is_denied_quoted_ascribed_or_asked():
    for text in (
        "Do not clip harder.",
        "To clip harder would be the wrong lever.",
        "If you clip harder it does nothing.",
        'The advice "clip harder, always" is around.',
        "You might think that you should clip harder, but that hides it.",
        "Should you clip harder?",
        "Rather than clip harder, look at the loss.",
    ):
        assert not committed(text), text


def test_a_denial_of_something_else_takes_nothing_back():
    assert committed("The loss is not the cause, so clip harder.")


def test_a_signal_of_several_parts_asks_for_all_of_them_in_one_place():
    signal = Signal(any=("apples", "pears", "plums"), at_least=2, all=("basket",), none=("rotten",),
                    positive=("x",), negative=("x",))  # fmt: skip

    assert shows(signal, "A basket of apples and pears.", {}, fault=False)
    for text in (
        "A basket of apples.",
        "Apples and pears.",
        "A basket of apples. And pears.",
        "A basket of rotten apples and pears.",
    ):
        assert not shows(signal, text, {}, fault=False), text


def test_what_takes_a_finding_back_may_stand_anywhere():
    from harness.domain.lexicon import Patterns

    def signal(pattern):
        return Signal(any=(pattern,), positive=("x",), negative=("x",))

    patterns = Patterns(signals=(signal("clip"),), unless=(signal("no_sync"),))

    assert found(patterns, AnswerReading("Clip it."), {}, fault=False).quote == "Clip it."
    assert found(patterns, AnswerReading("Clip it.\n\nUse no_sync."), {}, fault=False) is None
