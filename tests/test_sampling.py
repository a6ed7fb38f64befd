"""What `make test` takes of a corpus; the rest is marked for `make test-full`."""

import pytest

from tests.sampling import sampled


def marked_full(case: object) -> bool:
    return [mark.name for mark in getattr(case, "marks", ())] == ["full"]


def test_a_sample_is_spread_over_the_whole_corpus():
    cases = sampled(range(100), 4)

    assert [i for i, case in enumerate(cases) if not marked_full(case)] == [0, 25, 50, 75]


def test_every_case_of_a_corpus_stays_a_case():
    cases = sampled([("a", 1), ("b", 2), ("c", 3)], 1)

    assert cases == [
        ("a", 1),
        pytest.param("b", 2, marks=pytest.mark.full),
        pytest.param("c", 3, marks=pytest.mark.full),
    ]


def test_a_corpus_smaller_than_the_sample_runs_whole():
    assert sampled(["a", "b"]) == ["a", "b"]
