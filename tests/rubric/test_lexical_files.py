"""``lexical.yaml``: what is wrong with it is said with file and line before anything runs."""

import pytest

from harness.scenarios import load_bank
from harness.scenarios.patterns import BadPattern, compiled
from harness.scenarios.problem import BankProblems
from tests.fakes.bank import FakeBank

GOOD = """\
terms: {bad: '(?:nan|inf)\\b'}
criteria:
  names-the-loss:
    signals:
      - any: ['loss ... {bad}']
        positive: ['The loss is NaN.']
        negative: ['The loss is fine.']
rationalizations:
  'it is fine':
    signals:
      - any: ['fine']
        positive: ['It is fine.']
        negative: ['It is not.']
"""


@pytest.fixture
def bank(tmp_path):
    fake = FakeBank(tmp_path)
    fake.add("toy")
    return fake


def written(bank, text):
    path = next((bank.root / "scenarios").iterdir()) / "lexical.yaml"
    path.write_text(text)
    return load_bank(bank.root / "scenarios")


def test_patterns_belong_to_the_scenario_and_to_the_banks_digest(bank):
    before = load_bank(bank.root / "scenarios")
    after = written(bank, GOOD)

    assert before.scenarios[0].lexicon.criteria == {}
    assert list(after.scenarios[0].lexicon.criteria) == ["names-the-loss"]
    assert before.digest != after.digest
    assert "lexicon" not in after.scenarios[0].model_dump()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "names-the-loss",
            "name-the-loss",
            r"lexical.yaml:3: criteria: .*did you mean names-the-loss",
        ),
        (
            "'it is fine':",
            "'all is fine':",
            r"lexical.yaml:9: rationalizations: there is no excuse",
        ),
        ("{bad}", "{worse}", r"lexical.yaml:5: there is no term worse"),
        ("loss ...", "(loss", r"lexical.yaml:5: it is no regular expression"),
        ("loss ...", "(?:a|b)* .*", r"lexical.yaml:5: it repeats without bound"),
        ("positive: ['The", "positiv: ['The", r"lexical.yaml:\d: positiv is not a key"),
        ("criteria:", "criterions:", r"lexical.yaml:2: criterions is not a key"),
    ],
)
def test_a_slip_is_named_with_its_line(bank, old, new, sentence):
    with pytest.raises(BankProblems, match=sentence):
        written(bank, GOOD.replace(old, new, 1))


def test_a_term_that_refers_to_itself_is_refused():
    with pytest.raises(BadPattern, match="refers to itself"):
        compiled("{a}", {"a": "{b}", "b": "{a}"})


def test_gaps_are_bounded_spaces_are_any_white_space_and_words_match_from_their_beginning():
    assert compiled("clip ... step", {}).search("clip\n\tthe gradient before you step")
    assert not compiled("clip ... step", {}).search("clip " + "x" * 100 + " step")
    assert not compiled("clip .. step", {}).search("clip it. Then step")
    assert not compiled("clip", {}).search("eclipse")


def test_a_lone_nt_is_any_word_that_ends_so_and_the_apostrophe_may_be_missing():
    for text in ("It doesn't matter.", "It doesnt matter.", "It does not matter."):
        assert compiled("(?:not|n't) matter", {}).search(text), text
    assert not compiled("(?:not|n't) matter", {}).search("What I want matters.")
