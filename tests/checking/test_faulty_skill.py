"""A skill of the project's own writing, half of it false: every fault is found, nothing else is blamed."""

from pathlib import Path

import pytest

from harness.domain.check import PartResult

SKILL = Path(__file__).resolve().parents[1] / "material" / "faulty-skill"

TOLD = {
    "SKILL.md": {
        17: "holds", 22: "holds", 28: "holds",  # clip last, first, in the middle
        37: "fails",    # marked right, clips after the step
        47: "holds", 53: "holds", 57: "holds",  # by value, by norm, too tight
        64: "fails",    # marked right, not divided
        73: "holds", 83: "holds",
        95: "runs",     # the remainder is divided by the full number: advice
        109: "holds", 120: "holds",  # no forward is shown
        132: "fails",   # clipping a scaled gradient does not do nothing
        141: "fails",   # unscaling twice makes nothing small: it raises
        151: "holds",
        162: "runs",    # its first update is idle: advice
        176: "runs", 181: "pseudo-code", 187: "inconclusive", 193: "runs", 199: "cannot-be-run",
    },
    "references/losses.md": {
        4: "holds", 8: "fails", 14: "holds", 20: "fails", 26: "holds", 29: "holds",
        34: "holds",    # its gradient breaks; that a square becomes negative is not read
    },
    "references/modules.md": {
        6: "inconclusive", 14: "holds", 26: "fails", 38: "fails", 53: "fails", 61: "holds", 72: "holds",
        80: "runs",  # which layers its comments say starve is not read
    },
}  # fmt: skip
"""By file and by the line on which an alternative begins."""


@pytest.fixture(scope="module")
def parts(checked) -> dict[tuple[str, int], PartResult]:
    blocks = checked(SKILL).blocks
    return {(block.file, part.line): part for block in blocks for part in block.parts}


def test_every_example_gets_the_status_that_it_deserves(parts):
    expected = {
        (file, line): status for file, found in TOLD.items() for line, status in found.items()
    }
    assert {place: part.status for place, part in parts.items()} == expected


def test_a_failing_claim_comes_with_numbers(parts):
    failing = [part for part in parts.values() if part.status == "fails"]
    without = [p.sentence for p in failing if not p.numbers and "No gradient" not in p.sentence]
    assert not [sentence for sentence in without if "torch refuses" not in sentence]


def test_a_statement_that_is_refuted_is_quoted(parts):
    refuted = parts["SKILL.md", 132].refuted[0]
    assert refuted.statement == "The clipping does nothing, since no gradient reaches the scale."
    consumed, true = refuted.numbers
    assert consumed.value == pytest.approx(1 / 4096, rel=0.01)
    assert true.value > 1


def test_the_exit_code_says_that_a_claim_fails(checked):
    assert checked(SKILL).exit_code == 1


def test_a_link_to_nowhere_and_a_key_of_nobody_are_errors_of_the_format(checked):
    errors = [(f.line, f.rule) for f in checked(SKILL).format if f.level == "error"]
    assert errors == [(4, "key"), (9, "reference")]
