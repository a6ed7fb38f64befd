"""What a split of records has to do."""

import random

import pytest
from answer import split

RECORDS = [{"patient": f"p{n % 20:02}", "image": n} for n in range(100)]


def images(records):
    return sorted(record["image"] for record in records)


def test_every_record_is_on_one_side():
    training, validation = split(RECORDS, 0.2)

    assert images([*training, *validation]) == list(range(100))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_patient_is_on_both_sides(seed):
    training, validation = split(RECORDS, 0.2, seed=seed)
    there = {record["patient"] for record in training}

    assert not there & {record["patient"] for record in validation}


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5])
def test_about_the_wanted_part_is_held_out(fraction):
    _, validation = split(RECORDS, fraction)

    assert len(validation) / 100 == pytest.approx(fraction, abs=0.101)


def test_the_split_is_the_same_in_every_run():
    random.seed(1)
    first = split(RECORDS, 0.2, seed=3)
    random.seed(2)
    again = split(list(RECORDS), 0.2, seed=3)

    assert [images(side) for side in first] == [images(side) for side in again]


def test_another_seed_is_another_split():
    sides = {tuple(images(split(RECORDS, 0.3, seed=seed)[1])) for seed in range(5)}

    assert len(sides) > 1
