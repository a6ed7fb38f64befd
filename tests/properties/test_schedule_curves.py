"""Schedules that tell no length: their curve shows whether it counts all updates."""

import math

import pytest

from tests.fakes.traces import probe, rank, trace, update
from tests.properties.verdicts import on

ID = "scheduler-per-update"
WINDOW = 4


def cosine(part):
    return 0.5 * (1 + math.cos(math.pi * part))


def line(part):
    return max(0.0, 1 - part)


def judged(rate, lengths=(6, 9)):
    """The verdict on two runs; ``rate`` gets the update, the updates of all and the micro-batches."""
    return on(ID, trace(*(one(n, rate) for n in lengths)))


def one(updates, rate):
    batches = WINDOW * updates - 2
    made = [
        update(i, learning_rates=(0.2 * rate(i, updates, batches),), scheduler_steps=1)
        for i in range(updates)
    ]
    return probe(f"of {updates}", ranks=[rank(made, batches_yielded=batches)])


LAWFUL = {
    "a cosine of updates": lambda i, n, _: cosine(i / n),
    "a line of updates": lambda i, n, _: line(i / n),
    "a line to a number of its own": lambda i, _, __: line(i / 100),
    "a constant": lambda *_: 1.0,
    "a decay by powers": lambda i, *_: 0.95**i,
    "a cosine to a tenth": lambda i, n, _: 0.1 + 0.9 * cosine(i / n),
    "a warm-up and no more": lambda i, *_: min(1.0, (i + 1) / 4),
}


@pytest.mark.parametrize("rate", LAWFUL.values(), ids=LAWFUL)
def test_a_curve_of_any_other_length_is_the_programs_choice(rate):
    assert judged(rate).outcome == "pass"


def without_rests(rate, moves=(1, 1, 0, 1, 1, 0), length=None):
    """The verdict on two passes of two full windows and a short one; ``rate`` gets the schedule's steps."""
    made = [
        update(
            i,
            learning_rates=(0.2 * rate(sum(moves[:i])),),
            scheduler_steps=moves[i],
            scheduled_for=length,
            short=i in (2, 5),
        )
        for i in range(6)
    ]
    return on(ID, trace(probe("plain", *made))).outcome


def test_a_curve_of_all_updates_that_stands_still_in_short_windows_fails():
    """One that ends with the full windows, or moves in the short ones as well, is right."""
    assert without_rests(lambda k: line(k / 6)) == "fail"
    assert without_rests(lambda k: cosine(k / 6)) == "fail"
    assert without_rests(lambda k: line(k / 4)) == "pass"
    assert without_rests(lambda k: cosine(k / 4)) == "pass"
    assert without_rests(lambda k: 0.9**k) == "pass"
    assert without_rests(lambda _: 1.0) == "pass"
    assert without_rests(lambda k: line(k / 6), length=4) == "pass"
    assert without_rests(lambda k: line(k / 6), moves=(1,) * 6) == "pass"
