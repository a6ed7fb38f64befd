"""The patterns of the bank: their own examples, their independence of the dev answers, their worth."""

import re
import time

import pytest

from harness.domain.lexicon import Lexicon
from harness.rubric import calibrate
from harness.rubric.lexical import LexicalJudge, rationalizations
from harness.rubric.matching import shows
from harness.scenarios.patterns import compiled
from tests.rubric.situation import BANK, ROOT, WITH_PATTERNS

ANSWERS = ROOT / "tests/material/corpora/dev"
COMPLETE = [s for s in BANK.scenarios if (ROOT / "scenarios" / s.id / "answers").is_dir()]


def signals(scenario):
    """Each signal with its place, and whether it is one of something that must not be said."""
    fault = {c.id: c.polarity == "must_not" for c in scenario.rubric}
    lexicon = scenario.lexicon
    for group in (lexicon.criteria, lexicon.rationalizations):
        for name, patterns in group.items():
            for i, signal in enumerate(patterns.signals):
                yield f"{name}, signal {i + 1}", signal, fault.get(name, True)
            for i, signal in enumerate(patterns.unless):
                yield f"{name}, unless {i + 1}", signal, False


@pytest.mark.parametrize("scenario", WITH_PATTERNS, ids=lambda s: s.id)
def test_each_signal_is_found_in_its_positive_examples_and_not_in_its_negative_ones(scenario):
    wrong = [
        f"{place}: {'found' if expected is False else 'not found'} in {example!r}"
        for place, signal, fault in signals(scenario)
        for expected, examples in ((True, signal.positive), (False, signal.negative))
        for example in examples
        if shows(signal, example, scenario.lexicon.terms, fault=fault) is not expected
    ]

    assert wrong == []


@pytest.mark.parametrize("scenario", COMPLETE, ids=lambda s: s.id)
def test_whatever_text_can_decide_has_patterns_and_so_has_each_excuse(scenario):
    assert [c.id for c in scenario.rubric if c.by != "execution"] == list(scenario.lexicon.criteria)
    assert [r.excuse for r in scenario.rationalizations] == list(scenario.lexicon.rationalizations)


def runs_of_four(text):
    words = re.findall(r"[a-z0-9_']+", text.lower())
    return set(zip(words, words[1:], words[2:], words[3:], strict=False))


@pytest.mark.parametrize("scenario", WITH_PATTERNS, ids=lambda s: s.id)
def test_no_pattern_holds_four_consecutive_words_of_a_dev_answer(scenario):
    dev = set.union(*(runs_of_four(path.read_text()) for path in ANSWERS.glob("*.md")))

    def written(lexicon: Lexicon):
        yield from lexicon.terms.values()
        for _, signal, _ in signals(scenario):
            yield from (*signal.any, *signal.all, *signal.none)

    copied = {run for text in written(scenario.lexicon) for run in runs_of_four(text) & dev}
    assert copied == set()


@pytest.mark.parametrize("labels", ["dev", "seen", "unseen", "fresh"])
def test_patterns_agree_with_people_beyond_chance(labels):
    """Only ``fresh`` was never read by those who wrote patterns."""
    measured = calibrate(LexicalJudge(), ROOT / "tests/material/corpora" / labels, BANK)

    assert measured.pooled.kappa is not None
    assert measured.pooled.kappa >= 0.6


@pytest.mark.parametrize("scenario", COMPLETE, ids=lambda s: s.id)
def test_the_ideal_answer_misses_nothing_and_makes_no_excuse(scenario):
    answer = (ROOT / "scenarios" / scenario.id / "answers/ideal.md").read_text()
    read = LexicalJudge().assess(
        answer, scenario, [c for c in scenario.rubric if c.by != "execution"]
    )

    assert [name for name, said in read.items() if said.state != "met"] == []
    assert rationalizations(answer, scenario) == ()


@pytest.mark.parametrize("scenario", COMPLETE, ids=lambda s: s.id)
def test_in_the_rationalizing_answer_an_excuse_is_quoted_with_what_to_say_instead(scenario):
    answer = (ROOT / "scenarios" / scenario.id / "answers/rationalizing.md").read_text()
    made = rationalizations(answer, scenario)

    assert made
    assert all(one.quote in answer and one.instead for one in made)


@pytest.mark.parametrize(
    "text",
    ["if the loss " * 40_000, "clip" * 100_000, "a (" * 100_000, "| " * 100_000, "> - " * 100_000],
    ids=["words", "one word", "brackets", "table", "lists"],
)
def test_an_answer_made_to_keep_patterns_busy_takes_seconds(text):
    scenario = next(s for s in COMPLETE if s.id == "clipping-overhead")
    began = time.process_time()

    LexicalJudge().assess(text, scenario, scenario.rubric)

    assert time.process_time() - began < 20


@pytest.mark.parametrize(
    "pattern", [r"(?:never|n't) clip", r"(?:never|n't\b) clip", "(?:n't clip)"]
)
def test_a_lone_nt_in_a_pattern_stands_for_every_contraction(pattern):
    """Also as people write it who leave the apostrophe out."""
    found = [
        compiled(pattern, {}).search(f"you {verb} clip") for verb in ("don't", "wont", "isn't")
    ]

    assert all(found)
