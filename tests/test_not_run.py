"""A scenario whose packages are not installed is not run, which is neither a failure nor a success."""

import sys

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.domain.packages import how_to_get
from harness.scenarios import load_bank
from harness.scenarios.availability import runnable
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens

NEEDS = (
    "needs the extra huggingface"
    " (pip install 'gradient-skill-harness[huggingface]', or make extras in a checkout)"
)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Two scenarios; the second trains with a package that this machine has not."""
    monkeypatch.setitem(sys.modules, "transformers", None)  # what an import then finds
    bank = FakeBank(tmp_path).add("alpha").add("beta")
    needing(bank, "beta")
    return bank


def needing(bank, name):
    file = bank.file(f"{name}/scenario.yaml")
    file.write_text(f"requires: [transformers]\n{file.read_text()}")


def harness(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], obj=opens(FakeExecutor()))


def test_run_says_so_in_one_line_and_counts_it_apart(fake):
    """The closing line speaks of what was run; the exit code is that of the rest."""
    result = harness("run", "--bank", fake.folder)

    closing = result.stdout.rstrip().rpartition("\n")[2]
    assert result.exit_code == 0
    assert f"not run: beta: {NEEDS}" in result.stdout
    assert closing.startswith("1 of 1 scenario behaves as declared in ")
    assert closing.endswith(" s, 1 not run")


def test_a_run_of_nothing_else_is_no_failure(fake):
    """Not even a table."""
    result = harness("run", "--bank", fake.folder, "--scenario", "beta")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"not run: beta: {NEEDS}\n")


def test_list_marks_what_would_not_be_run(fake):
    """The scenario is listed all the same."""
    result = harness("list", "--bank", fake.folder)

    assert [line.split()[0] for line in result.stdout.split("\n")[1:3]] == ["alpha", "beta"]
    assert result.stdout.rstrip().endswith(f"not run: beta: {NEEDS}")


def test_quality_leaves_it_out(fake):
    """No mutant of it is tried."""
    result = harness("quality", "--bank", fake.folder)

    assert f"not run: beta: {NEEDS}" in result.stdout
    assert result.stdout.rstrip().endswith(" s, 1 not run")


def test_an_agent_is_not_asked_what_cannot_be_judged(fake):
    """Standard error says which; where nothing is left, that is a mistake of the call."""
    some = harness("run", "--bank", fake.folder, "--agent", "reference")
    none = harness("run", "--bank", fake.folder, "--agent", "reference", "--scenario", "beta")

    assert f"harness: not run: beta: {NEEDS}" in some.stderr
    assert some.stdout.startswith("alpha/1: code right")
    assert "beta/1" not in some.stdout
    assert (none.exit_code, none.stderr) == (2, f"harness: not run: beta: {NEEDS}\n")


@pytest.mark.full
def test_doctor_says_what_is_missing_without_the_extra(fake):
    """And the way to it."""
    result = harness("doctor", "--plain")

    assert f"not installed: what trains with it is not run: {NEEDS}" in result.stdout


def test_a_scenario_is_run_where_its_packages_are_here(fake):
    """Nothing but that decides."""
    bank = load_bank(fake.folder)

    here, left_out = runnable(bank, installed=lambda _: True)

    assert (here, left_out) == (bank, ())


def test_packages_of_two_extras_are_one_sentence():
    """And one command."""
    assert how_to_get(["transformers", "accelerate", "lightning"]) == (
        "needs the extra huggingface,lightning"
        " (pip install 'gradient-skill-harness[huggingface,lightning]', or make extras in a checkout)"
    )


def test_a_package_that_no_scenario_may_need_is_refused_with_the_near_name(fake):
    """Before anything is run."""
    file = fake.file("beta/scenario.yaml")
    file.write_text(file.read_text().replace("[transformers]", "[transformer]"))

    result = harness("run", "--bank", fake.folder)

    assert result.exit_code == 2
    assert "beta/scenario.yaml:1: requires[0]" in result.stderr
