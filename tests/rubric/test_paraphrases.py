"""The patterns of the newer scenarios on answers in other words."""

import yaml

from harness.rubric.lexical import LexicalJudge
from tests.rubric.situation import ROOT, scenario

ANSWERS = yaml.safe_load((ROOT / "tests/material/paraphrases.yaml").read_text())


def judged():
    """For each labelled criterion: where it stands, what the label says, what the patterns say."""
    for number, one in enumerate(ANSWERS, start=1):
        about = scenario(one["scenario"])
        open_ = [c for c in about.rubric if c.by != "execution"]
        said = LexicalJudge().assess(one["answer"], about, open_)
        for criterion in open_:
            good = criterion.polarity == "must_not"
            named = one["commits"] if good else one["says"]
            label = (criterion.id in named) is not good
            place = f"answer {number}, {about.id}/{criterion.id}"
            yield place, label, said[criterion.id].state == "met"


def test_every_label_is_one_of_a_criterion_that_text_decides():
    for one in ANSWERS:
        about = scenario(one["scenario"])
        for kind, polarity in (("says", "must"), ("commits", "must_not")):
            known = {c.id for c in about.rubric if c.polarity == polarity and c.by != "execution"}
            assert set(one[kind]) <= known, one


def test_patterns_find_what_is_said_in_other_words_and_little_else():
    labels = list(judged())
    off = [place for place, label, found in labels if label is not found]

    assert len(off) <= 0.02 * len(labels), off
