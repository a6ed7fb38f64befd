"""The table says at a glance what was as declared and what was not."""

import pytest
from rich.console import Console

from harness.report.console import plain_text
from harness.report.table import closing_line, render_table
from tests.fakes.run import ADVISORY, grade, result, run, verdict

FAILS = verdict("finite-loss", "fail")


def plain(*results, notes=()):
    return plain_text(render_table(run(*results, notes=notes), plain=True)).rstrip().split("\n")


def test_a_scenario_that_behaves_as_declared_is_one_line():
    """What the loop failed, that this is as declared, the fix, and the time of both."""
    (_, row) = plain(result(FAILS))

    assert row.split() == ["toy-loss", "finite-loss", "as", "declared", "right", "0.50", "s"]


def test_a_fault_that_is_not_seen_is_said_with_what_was_seen_instead():
    """The row says not as declared, and the sentence below gives the verdict's reason."""
    _, row, _, surprise, why = plain(result(verdict("finite-loss", "inconclusive")))

    assert "inconclusive: finite-loss  not as declared" in row
    assert surprise.startswith("toy-loss: the faulty loop does not fail finite-loss")
    assert why == "    finite-loss is inconclusive: finite-loss was seen."


def test_a_fault_that_is_not_declared_is_a_surprise():
    """Failing more than is declared is as wrong as failing less."""
    _, row, _, surprise = plain(result(FAILS, verdict("ranks-agree", "fail")))

    assert "finite-loss, ranks-agree  not as declared" in row
    assert "fails ranks-agree, which is not declared" in surprise


def test_an_advisory_failure_flips_nothing():
    """It is left to --verbose."""
    assert len(plain(result(FAILS, verdict(ADVISORY, "fail")))) == 2


@pytest.mark.parametrize(
    ("fix", "said"),
    [
        (grade("reference", "wrong", FAILS), "wrong: finite-loss"),
        (grade("reference", "none", reason="no Python"), "no code"),
        (
            grade("reference", "inconclusive", *(verdict(n, "inconclusive") for n in "abcdef")),
            "inconclusive: a, b and 4 more",
        ),
    ],
)
def test_a_fix_that_is_not_right_says_what_is_the_matter(fix, said):
    """In the row, shortly, and below it in a sentence."""
    lines = plain(result(FAILS, reference=fix))

    assert said in lines[1]
    assert lines[3].startswith("toy-loss: the reference is")


def test_what_the_machine_lacks_is_one_line_each():
    """Nobody should read green and think that every guard held."""
    lines = plain(result(FAILS), notes=("seccomp: absent",))

    assert lines[-1] == "this machine: seccomp: absent"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_terminal_is_too_narrow(width):
    """Cells fold; every word is still there and no line is longer than the terminal."""
    console = Console(width=width, record=True, no_color=True, quiet=False, file=None)
    with console.capture() as captured:
        console.print(render_table(run(result(FAILS, verdict("ranks-agree", "fail")))))
    lines = captured.get().split("\n")

    assert max(len(line.rstrip()) for line in lines) <= width
    assert "✓" in captured.get()
    assert "✗" in captured.get()


@pytest.mark.parametrize(
    ("results", "asked", "said"),
    [
        ([result(FAILS)], 1, "1 of 1 scenario behaves as declared in 6.1 s"),
        ([result(FAILS), result()], 2, "1 of 2 scenarios behave as declared in 6.1 s"),
        ([result(FAILS)], 3, "1 of 3 scenarios behave as declared in 6.1 s"),
    ],
)
def test_the_closing_line_counts_against_what_was_asked(results, asked, said):
    """A scenario that could not be finished did not behave as declared."""
    assert closing_line(run(*results), asked).plain == said
