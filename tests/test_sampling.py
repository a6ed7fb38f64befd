"""What `make test` takes of a corpus; the rest is marked for `make test-full`."""

import pytest

from tests.conftest import few_of_each_table
from tests.sampling import sampled


def marked_full(case) -> bool:
    return [mark.name for mark in case.marks] == ["full"]


def test_a_sample_is_spread_over_the_whole_corpus():
    cases = sampled(range(100), 4)

    assert [i for i, case in enumerate(cases) if not marked_full(case)] == [0, 25, 50, 75]


def test_every_case_of_a_corpus_stays_a_case():
    cases = sampled([("a", 1), ("b", 2), ("c", 3)], 1)

    assert [case.values for case in cases] == [("a", 1), ("b", 2), ("c", 3)]
    assert [marked_full(case) for case in cases] == [False, True, True]


def test_a_case_is_called_what_the_table_calls_it():
    assert [case.id for case in sampled([1, 2], 1, named="number {}".format)] == [
        "number 1",
        "number 2",
    ]


def test_a_corpus_smaller_than_the_sample_runs_whole():
    assert [marked_full(case) for case in sampled(["a", "b"])] == [False, False]


@pytest.mark.full
def test_what_is_marked_full_runs_under_full_only(request):
    """Were it chosen otherwise, it would fail."""
    assert request.config.getoption("--full")


class Case:
    """A case of a table, as far as `make test` looks at it."""

    def __init__(self, table: str, number: int, fixture: str, mark: str = "") -> None:
        self.nodeid, self.fixturenames, self.mark = f"t.py::{table}[{number}]", [fixture], mark

    def get_closest_marker(self, name: str) -> str | None:
        return self.mark if name == self.mark else None


def test_a_table_that_runs_programs_is_thinned_unless_it_is_marked_whole():
    """What runs none is cheap."""
    kinds = [("thinned", "executor"), ("whole", "executor", "whole"), ("cheap", "tmp_path")]
    cases = [Case(name, number, *rest) for name, *rest in kinds for number in range(9)]

    kept = [case.nodeid for case in few_of_each_table(cases)]

    assert [name for name in kept if "thinned" in name] == [
        f"t.py::thinned[{number}]" for number in (0, 4)
    ]
    assert [name for name in kept if "thinned" not in name] == [
        case.nodeid for case in cases if "thinned" not in case.nodeid
    ]
