"""The labels of the corpora are sound as data, and criteria were judged by who saw only the answers.

Four sets have labels for each criterion of their rubric, in the form of ``harness calibrate``: real
answers (``dev``), and written ones that miss chosen criteria: two halves that a judge may be tuned
on (``seen`` and ``unseen``), and a set that is only for measuring (``fresh``).
"""

import re
from collections import Counter
from functools import cache

import pytest

from harness.properties import PROPERTIES
from tests.corpora.manifest import (
    EXTREMES,
    FOLDER,
    LISTED,
    SCENARIOS,
    WITH_CRITERIA,
    Answer,
    criteria_of,
)

TUNED = [a for a in LISTED if a.set in ("seen", "unseen")]


def prose(text: str) -> str:
    """The text without its code."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`", " . ", text, flags=re.DOTALL | re.MULTILINE)


def fours(text: str) -> set[str]:
    """Every four consecutive words inside of a paragraph or between pieces of code."""
    found: set[str] = set()
    for part in re.split(r" \. |\n\s*\n|\n[-*#|] ", prose(text)):
        words = re.findall(r"[a-z0-9']+", part.lower())
        found |= {" ".join(words[i : i + 4]) for i in range(len(words) - 3)}
    return found


@cache
def fours_of_real_answers() -> set[str]:
    return {four for real in (FOLDER / "dev").glob("*.md") for four in fours(real.read_text())}


@cache
def fours_of_rubric(scenario: str) -> set[str]:
    return {four for c in SCENARIOS[scenario].rubric for four in fours(c.asks)}


def test_every_answer_has_a_row_in_the_manifest_and_every_row_an_answer():
    listed = {f"{a.set}/{a.path.name}" for a in LISTED}
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*")}

    assert len(listed) == len(LISTED)
    assert listed == found - {f"{name}/labels.yaml" for name in WITH_CRITERIA}


def test_every_row_of_the_manifest_names_a_scenario_and_a_verdict():
    codes = Counter(a.label for a in LISTED) + Counter(a.expected for a in LISTED if a.expected)

    assert {a.name for a in LISTED if a.scenario not in SCENARIOS} == set()
    assert codes.keys() <= {"right", "wrong", "inconclusive", "none"}
    assert {a.name for a in LISTED if a.label == a.expected} == set()


def test_what_is_expected_against_a_label_has_its_reason():
    assert {a.name for a in LISTED if a.expected and not a.reason} == set()


def test_the_property_that_a_fault_is_told_by_exists():
    assert {a.fails for a in LISTED if a.fails} <= PROPERTIES.keys()


@pytest.mark.parametrize("name", WITH_CRITERIA)
def test_labels_of_criteria_are_about_the_answers_of_their_set_and_agree_with_the_manifest(name):
    rows = {a.path.name: (a.scenario, a.label) for a in LISTED if a.set == name}

    assert {n: (x["scenario"], x["code"]) for n, x in criteria_of(name).items()} == rows


@pytest.mark.parametrize("answer", TUNED, ids=lambda a: a.name)
def test_a_label_speaks_about_each_criterion_and_quotes_the_answer(answer: Answer):
    label, text = criteria_of(answer.set)[answer.path.name], answer.path.read_text()

    assert list(label["criteria"]) == [c.id for c in SCENARIOS[answer.scenario].rubric]
    given = {c: said for c, said in label["criteria"].items() if "quote" in said}
    assert {c: s["quote"] for c, s in given.items() if s["quote"] not in text} == {}
    assert [c for c, s in label["criteria"].items() if not s["met"] and not s.get("why")] == []


@pytest.mark.parametrize("scenario", sorted({a.scenario for a in TUNED}))
def test_every_criterion_has_answers_that_meet_it_and_answers_that_do_not(scenario: str):
    """Three of each at least, counting the ideal and the rationalizing one; most have five."""
    labels = [x for name in WITH_CRITERIA for x in criteria_of(name).values()]
    about = [x for x in labels if x["scenario"] == scenario]

    for criterion in SCENARIOS[scenario].rubric:
        said = [x["criteria"].get(criterion.id) for x in about]  # fresh ones leave unclear ones out
        met = [one["met"] for one in said if one is not None]
        assert 1 + sum(met) >= 3, criterion.id
        assert 1 + len(met) - sum(met) >= 3, criterion.id


@pytest.mark.parametrize("answer", [*TUNED, *EXTREMES], ids=lambda a: a.name)
def test_an_answer_borrows_no_four_words_from_its_rubric_or_from_a_real_answer(answer: Answer):
    """Else a judge that knows those by heart would look better than it is."""
    known = fours_of_rubric(answer.scenario) | fours_of_real_answers()

    assert sorted(fours(answer.path.read_text()) & known) == []
