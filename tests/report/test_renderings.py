"""Verdicts in full, data, the list, and the console they go to."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from harness.domain.assessment import CriterionState
from harness.domain.machine import Machine, Offer
from harness.domain.run import Run
from harness.report.answers import render_answer
from harness.report.console import Output, plain_text
from harness.report.machine import render_machine
from harness.report.scenario import render_list, render_scenario
from harness.report.verbose import render_verbose
from harness.scenarios import load_bank
from tests.fakes.bank import BUGGY, REFERENCE, FakeBank
from tests.fakes.run import ADVISORY, grade, result, run, verdict
from tests.report.sides import answer

FAILS = verdict("finite-loss", "fail")


def test_verbose_gives_every_verdict_its_sentence_and_numbers():
    """Both programs, advisory properties marked as such."""
    text = plain_text(render_verbose(run(result(FAILS, verdict(ADVISORY, "fail")))))

    assert "    fail          finite-loss: finite-loss was seen.\n" in text
    assert f"    fail          {ADVISORY} (advisory): " in text
    assert "        norm (on large gradients) = nan\n" in text
    assert "  reference: right, 0.25 s\n    pass          finite-loss: " in text


def test_verbose_says_why_there_is_no_code():
    """An answer without a program has a reason in place of verdicts."""
    fix = grade("reference", "none", reason="the answer holds no Python block")

    text = plain_text(render_verbose(run(result(FAILS, reference=fix))))

    assert "reference: none, 0.25 s: the answer holds no Python block" in text


def test_verbose_says_why_a_criterion_was_not_assessed():
    """A judge that cannot be asked is not told from one that had nothing to say otherwise."""
    unread = CriterionState(state="unassessed", polarity="must", reason="the judge ended with 1")
    graded = answer("right").answer.model_copy(update={"criteria": {"says-why": unread}})

    text = plain_text(render_answer(graded, verbose=True, show_program=False))

    assert "    says-why: not assessed\n      the judge ended with 1\n" in text


def test_a_run_survives_json():
    """NaN is not null: a number that was not finite is not a number that was not measured."""
    text = run(result(FAILS)).model_dump_json(indent=2)

    number = json.loads(text)["results"][0]["buggy"]["verdicts"][0]["numbers"][0]
    assert number["value"] == "NaN"
    assert Run.model_validate_json(text).model_dump_json(indent=2) == text


@pytest.fixture
def bank(tmp_path: Path):
    return load_bank(FakeBank(tmp_path).add().folder)


def test_the_list_has_a_line_for_each_scenario(bank):
    """Id, suite, title."""
    assert plain_text(render_list(bank.scenarios, plain=True)).split("\n")[1].split() == (
        ["toy-loss", "toy", "A", "loss", "that", "is", "not", "finite"]
    )


def test_a_narrow_terminal_cuts_no_word_off(bank):
    """What does not fit folds: a path or a title that ends in dots says nothing."""
    offer = Offer(name="network-namespace", have="yes", detail="/a/path/that/does/not/fit/at/all")
    console = Console(width=30, record=True, no_color=True)
    with console.capture() as captured:
        console.print(render_list(bank.scenarios), render_machine(Machine(offers=(offer,))))

    assert "…" not in captured.get()


@pytest.mark.parametrize("plain", [True, False])
def test_show_holds_everything_that_a_scenario_is(bank, plain):
    """Message, pressure, judgement, probes and both programs."""
    text = plain_text(render_scenario(bank.scenarios[0], plain=plain))

    for part in (BUGGY, REFERENCE, "Is this right?", "sure that it is fine", "loud: small grad"):
        assert part.strip() in text
    assert "required  finite-loss  (the posted loop fails it)\nguard     loss-gets" in text
    assert "advisory  still-learns" in text


def test_square_brackets_in_answers_are_not_markup(bank):
    """``x[0]`` and ``[red]`` in a sentence arrive as they are."""
    fix = grade("reference", "wrong", FAILS.model_copy(update={"sentence": "x[0] was [red]"}))

    assert "x[0] was [red]" in plain_text(render_verbose(run(result(FAILS, reference=fix))))


def test_what_is_not_a_terminal_gets_plain_lines(capsys):
    """No wrapping, no padding, no escape codes."""
    Output().show("x" * 300)

    assert capsys.readouterr().out == f"{'x' * 300}\n"
