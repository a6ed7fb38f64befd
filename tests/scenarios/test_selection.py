"""Scenarios are named by id or suite, and a name that does not exist gets a suggestion."""

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.domain.errors import UsageError
from harness.scenarios import load_bank
from harness.scenarios.selection import find, select
from tests.fakes.bank import FakeBank
from tests.fakes.executor import FakeExecutor
from tests.fakes.oracle import opens


@pytest.fixture
def bank(tmp_path):
    fake = FakeBank(tmp_path).add("alpha").add("beta").add("gamma")
    return load_bank(fake.edit("gamma/scenario.yaml", "suite: toy", "suite: real").folder)


@pytest.mark.parametrize(
    ("ids", "suite", "found"),
    [
        ("all", None, ["gamma", "alpha", "beta"]),
        ("all", "toy", ["alpha", "beta"]),
        ("beta", None, ["beta"]),
        ("beta, alpha,", None, ["alpha", "beta"]),
        ("alpha,gamma", "real", ["gamma"]),
    ],
)
def test_ids_and_suite_choose_together(bank, ids, suite, found):
    """In the order of the bank, each once."""
    assert [s.id for s in select(bank, ids, suite).scenarios] == found


def test_in_a_large_bank_the_names_are_not_all_recited(bank):
    """A command lists them better than a sentence."""
    one = bank.scenarios[0]
    many = tuple(one.model_copy(update={"id": f"scenario-{number}"}) for number in range(40))

    with pytest.raises(UsageError, match=r"there is no scenario zzz; `harness list` names them$"):
        find(bank.model_copy(update={"scenarios": many}), "zzz")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("zero", "did you mean zero-grad or warm-up-from-zero?"),
        ("grad_zero", "did you mean zero-grad?"),
        ("Zreo", "did you mean zero-grad or warm-up-from-zero?"),
        ("up", "`harness list` names them"),
        ("scenario", f"did you mean {' or '.join(f'scenario-{n}' for n in range(5))} or one of 35"),
    ],
)
def test_a_part_of_a_name_suggests_the_names_that_hold_it(bank, name, said):
    """Whoever remembers one word of it; two letters stand in too many."""
    one = bank.scenarios[0]
    ids = ["zero-grad", "warm-up-from-zero", *(f"scenario-{number}" for number in range(40))]
    many = tuple(one.model_copy(update={"id": id_}) for id_ in ids)

    with pytest.raises(UsageError) as refused:
        find(bank.model_copy(update={"scenarios": many}), name)

    assert f"there is no scenario {name}; {said}" in str(refused.value)


@pytest.mark.parametrize(
    ("ids", "suite", "said"),
    [
        ("alhpa", None, r"there is no scenario alhpa; did you mean alpha\?"),
        ("all", "tos", r"there is no suite tos; did you mean toy\?"),
        ("zzz", None, r"there is no scenario zzz; there are gamma, alpha, beta$"),
        (
            "alpha",
            "real",
            "alpha is in the suite toy: give --suite toy, or leave out --suite$",
        ),
        ("alhpa", "real", r"there is no scenario alhpa; did you mean alpha\?"),
        (" , ", None, "no scenario is named"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(bank, ids, suite, said):
    """One sentence, with the nearest name."""
    with pytest.raises(UsageError, match=said):
        select(bank, ids, suite)


@pytest.mark.parametrize(
    "named", [("--scenario", "alpha"), ("--map", "m.csv")], ids=["option", "map"]
)
def test_an_answer_to_a_scenario_of_another_suite_is_told_where_it_is(tmp_path, monkeypatch, named):
    """It was said not to exist."""
    fake = FakeBank(tmp_path).add("alpha").add("beta")
    bank = fake.edit("beta/scenario.yaml", "suite: toy", "suite: real").folder
    (tmp_path / "a.md").write_text("```python\nloss = 1.0\n```\n")
    (tmp_path / "m.csv").write_text("a.md,alpha\n")
    monkeypatch.chdir(tmp_path)
    command = ["grade", "a.md", "--suite", "real", "--bank", str(bank), *named]

    result = CliRunner().invoke(app, command, obj=opens(FakeExecutor()))

    assert result.exit_code == 2
    said = "alpha is in the suite toy: give --suite toy, or leave out --suite"
    assert said in result.stdout + result.stderr
