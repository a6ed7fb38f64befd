"""Learning rates without a scheduler: what updates consumed is all there is to see."""

import math

import pytest

from harness.properties.schedule.rates_by_hand import by_hand
from tests.fakes.traces import probe, program, rank, trace, update
from tests.properties.verdicts import on

ID = "scheduler-per-update"
WINDOW = 4


def cosine(part):
    return 0.1 * (1 + math.cos(math.pi * part))


def line(part):
    return max(0.0, 0.2 * (1 - part))


def one(name, updates, rate, *, missing=0, more=0, **fields):
    """A run of two passes; ``rate`` gets the update, the micro-batches by then, and the updates of all.

    ``missing``: micro-batches that the last window of a pass is short of; ``more``: micro-batches of
    the run that no window has.
    """
    made, of_a_pass = [], updates // 2
    batches = WINDOW * of_a_pass - missing
    for i in range(updates):
        turn, place = divmod(i, of_a_pass)
        by_then = min(WINDOW * (place + 1), batches)
        whole = update(i, learning_rates=(rate(i, turn * batches + by_then, updates),))
        last = whole.micro_batches[-1].model_copy(update={"after_batch": (turn, by_then - 1)})
        window = (*whole.micro_batches[:-1], last)
        made.append(whole.model_copy(update={"micro_batches": window}))
    return probe(name, ranks=[rank(made, batches_yielded=2 * batches + more)], **fields)


def both(rate, lengths=(4, 8), **fields):
    return on(ID, trace(*(one(f"of {n}", n, rate, **fields) for n in lengths)))


def late(part):
    """A line up for five eighths of the training, and another one down for the rest."""
    return 0.32 * part if part <= 0.625 else 0.2 * (1 - part)


SPENT = {
    "a cosine": lambda i, _, n: cosine(i / n),
    "a line": lambda i, _, n: line(i / n),
    "a parabola": lambda i, _, n: 0.2 * (1 - i / n) ** 2,
    "a cosine that ends at a tenth": lambda i, _, n: 0.02 + 0.9 * cosine(i / n),
    "a cosine behind a warm-up": lambda i, _, n: min(1, (i + 1) / 2) * cosine(i / n),
    "a cosine behind a warm-up of two updates": lambda i, _, n: min(1, i / 2) * cosine(i / n),
    "a cosine of micro-batches over all of them": lambda _, m, n: cosine((m - 1) / (WINDOW * n)),
}
"""Spent when training ends, however long it is."""

TOO_FAST = {
    "a line of micro-batches over updates": lambda _, m, n: line((m - 1) / n),
    "a cosine that stays at its end": lambda _, m, n: cosine(min(1.0, (m - 1) / n)),
}
"""Spent at a quarter."""

OPEN = {
    "a constant rate": lambda *_: 0.2,
    "a decay of its own": lambda i, *_: 0.2 * 0.6**i,
    "a step that was written down": lambda i, *_: 0.2 if i < 2 else 0.02,
    "restarts": lambda i, *_: cosine((i % 3) / 3),
    "once a pass": lambda i, _, n: cosine(i // (n // 2) / 2),
    "two whole waves, as planned": lambda i, _, n: cosine(4 * i / n),
    "a length in micro-batches": lambda i, _, n: cosine(i / (WINDOW * n)),
    "the last update at nothing": lambda i, _, n: cosine((i + 1) / n),
    "a length that was written down": lambda i, *_: line(i / 2),
    "another peak for each length": lambda _, m, n: n * cosine((m - 1) / n),
    "four stairs": lambda i, _, n: 0.2 * (1 - (i // (n // 4)) / 4) ** 2,
    "a dip before the peak": lambda i, _, n: (0.05, 0.02)[i] if i < 2 else cosine(i / n),
    "a dip behind the peak": lambda i, _, n: 0.12 if (i, n) == (1, 8) else cosine(i / n),
    "a peak in the second half": lambda i, _, n: late(i / n),
}
"""Choices, and what nobody can tell from them."""


@pytest.mark.parametrize("rate", SPENT.values(), ids=SPENT)
def test_rates_that_are_spent_when_training_ends_pass(rate):
    assert both(rate).outcome == "pass"


@pytest.mark.parametrize("rate", TOO_FAST.values(), ids=TOO_FAST)
def test_rates_that_count_micro_batches_over_updates_fail(rate):
    assert both(rate).outcome == "fail"


@pytest.mark.parametrize("rate", OPEN.values(), ids=OPEN)
def test_rates_that_fit_no_count_are_inconclusive(rate):
    assert both(rate).outcome == "inconclusive"


UNKNOWN = {
    "a length that the harness chose": {"program": program(bound=("steps: total steps",))},
    "a run that broke off": {"program": program("raised")},
    "parts with rates of their own": {"parts": ("generator", "critic")},
    "passes of different lengths": {"more": 1},
}


@pytest.mark.parametrize("fields", UNKNOWN.values(), ids=UNKNOWN)
def test_rates_say_nothing_where_it_is_open_how_long_training_is(fields):
    assert by_hand([one(f"of {n}", n, SPENT["a cosine"]) for n in (4, 8)]).outcome == "pass"
    assert by_hand([one(f"of {n}", n, SPENT["a cosine"], **fields) for n in (4, 8)]) is None


def test_one_length_alone_says_nothing():
    """A number that was written down may agree with it."""
    assert both(SPENT["a cosine"], lengths=(8, 8)).outcome == "inconclusive"


def test_the_largest_of_several_groups_counts():
    """One whose rate is always small is not what training follows."""
    two = [one(f"of {n}", n, SPENT["a cosine"]) for n in (4, 8)]
    for i, each in enumerate(two):
        groups = [
            u.model_copy(update={"learning_rates": (1e-4, *u.learning_rates)}) for u in each.updates
        ]
        two[i] = probe(each.probe, ranks=[rank(groups, batches_yielded=WINDOW * len(groups))])

    assert on(ID, trace(*two)).outcome == "pass"
