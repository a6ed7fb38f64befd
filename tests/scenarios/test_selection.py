"""Scenarios are named by id or suite, and a name that does not exist gets a suggestion."""

import pytest

from harness.domain.errors import UsageError
from harness.scenarios import load_bank
from harness.scenarios.selection import find, select
from tests.fakes.bank import FakeBank


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
    ("ids", "suite", "said"),
    [
        ("alhpa", None, r"there is no scenario alhpa; did you mean alpha\?"),
        ("all", "tos", r"there is no suite tos; did you mean toy\?"),
        ("zzz", None, r"there is no scenario zzz; there are gamma, alpha, beta$"),
        ("alpha", "real", "none of the scenarios alpha is in the suite real"),
        (" , ", None, "no scenario is named"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(bank, ids, suite, said):
    """One sentence, with the nearest name."""
    with pytest.raises(UsageError, match=said):
        select(bank, ids, suite)
