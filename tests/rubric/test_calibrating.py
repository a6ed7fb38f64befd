"""A judge beside labels: the figures, their limits, and files that are not as they must be."""

import pytest

from harness.domain.answer import Alternative, AnswerGrade
from harness.domain.assessment import Assessment
from harness.domain.errors import UserError
from harness.domain.grade import write_grade
from harness.report.calibration import render_calibration
from harness.report.console import plain_text
from harness.rubric import calibrate
from harness.rubric.agreement import agreement
from harness.rubric.judge import NoJudge
from tests.rubric.situation import BANK, scenario, verdict

LIGHTNING = scenario("lightning-clipping")


class Constant:
    """Says the same of everything."""

    name = "constant"

    def __init__(self, state):
        self.state = state

    def assess(self, answer, scenario, criteria):
        return {c.id: Assessment(state=self.state, quote="as said") for c in criteria}


def labels(folder, text=None):
    (folder / "a.md").write_text("An answer.")
    text = (
        text
        or "a.md:\n  scenario: lightning-clipping\n  note: kept\n  criteria:\n    trainer-argument: {met: true, why: so}\n"
    )
    (folder / "labels.yaml").write_text(text)
    return folder


def test_kappa_is_agreement_beyond_chance():
    """20 both met, 5 missed, 10 false, 15 neither: agreement 0.7, by chance 0.5, kappa 0.4."""
    cells = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    measured = agreement([[cell] for cell in cells])

    assert measured.share == pytest.approx(0.7)
    assert measured.kappa == pytest.approx(0.4)
    assert measured.kappa_interval.low < 0.4 < measured.kappa_interval.high
    assert (measured.share_interval.low, measured.share_interval.high) == pytest.approx(
        (0.554, 0.821), abs=1e-3
    )


def test_below_five_labels_of_a_class_kappa_is_not_measurable():
    assert agreement([[(True, True)]] * 20 + [[(False, False)]] * 4).kappa is None
    assert agreement([[(True, True)]] * 20 + [[(False, False)]] * 5).kappa == 1.0


def test_what_a_judge_leaves_open_counts_nowhere_else():
    measured = agreement([[(True, None), (False, False)]])

    assert (measured.n, measured.unassessed, measured.share) == (1, 1, 1.0)


def test_a_judge_that_reads_nothing_is_measured_without_a_crash(tmp_path):
    measured = calibrate(NoJudge(), labels(tmp_path), BANK)

    assert measured.pooled.n == 0
    assert "nothing was assessed" in plain_text(render_calibration(measured, plain=True))


def test_words_and_execution_that_differ_are_the_say_do_gap(tmp_path):
    grade = write_grade(LIGHTNING, "a.md", ())
    grade = grade.model_copy(
        update={"verdicts": (verdict(outcome="fail"), verdict("clip-global-norm"))}
    )
    graded = {
        "a.md": AnswerGrade(
            file="a.md", alternatives=(Alternative(origin="", program="", grade=grade),)
        )
    }

    measured = calibrate(Constant("met"), labels(tmp_path), BANK, graded)

    assert measured.say_do.compared == 1
    (gap,) = measured.say_do.gaps
    assert (gap.criterion, gap.says, gap.does) == ("trainer-argument", "met", "not_met")
    page = plain_text(render_calibration(measured, plain=True))
    assert "say-do gap: words and execution differ on 1 of 1 criterion" in page
    assert "a.md trainer-argument: the words say met, execution not met ('as said')" in page


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a.md:\n  scenario: lightning-cliping\n  criteria: {}\n", r"labels.yaml:2: there is no scenario .*did you mean"),
        ("a.md:\n  scenario: lightning-clipping\n  criteria:\n    magic: {met: true}\n", r"labels.yaml:4: .* no criterion magic"),
        ("a.md:\n  scenario: lightning-clipping\n  criteria:\n    how-it-works: {met: perhaps}\n", r"labels.yaml:4: .*expected FILE"),
        ("- a\n", r"labels.yaml:1: .*expected FILE"),
        ("a: [\n", r"labels.yaml:\d: this is not YAML"),
        ("b.md:\n  scenario: lightning-clipping\n  criteria: {how-it-works: {met: true}}\n", r"b.md: .*expected"),
    ],
)  # fmt: skip
def test_labels_that_are_not_as_they_must_be_are_one_clear_line(tmp_path, text, sentence):
    with pytest.raises(UserError, match=sentence):
        calibrate(NoJudge(), labels(tmp_path, text), BANK)


def test_a_missing_file_of_labels_is_one_clear_line(tmp_path):
    with pytest.raises(UserError, match="cannot be read as a file of labels"):
        calibrate(NoJudge(), tmp_path / "none.yaml", BANK)
