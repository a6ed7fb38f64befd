"""Rows of numbers, one for each layer, held against the true statistics of all layers."""

import pytest

from harness.properties.diagnosis.layer_sequences import in_sequence
from tests.fakes.traces import learning

LAYERS = ("net.0", "net.2", "net.4")
MOMENTS = (1.0, 4.0, 2.0, 8.0)
"""How much larger than at first every norm is, moment by moment."""


def norms(*kinds):
    """True norms of every layer's parameters: 0.111, 0.222, 0.333 at first, and more for a bias."""
    return {
        f"{layer}.{kind}": tuple(f * 0.111 * (i + 1) * (1 + 2.13 * j) for f in MOMENTS)
        for i, layer in enumerate(LAYERS)
        for j, kind in enumerate(kinds)
    }


def values(texts, kinds=("weight",), **fields):
    """The row that is found, as numbers; ``None`` for none."""
    row = in_sequence(texts, learning(printed_norms=norms(*kinds), **fields), 0.0)
    return row and tuple(number.value for number in row)


def lines(factor, order=LAYERS):
    """One number a layer: its first norm, times a factor."""
    return tuple(f"grad {0.111 * (LAYERS.index(layer) + 1) * factor:.3e}" for layer in order)


def mean_so_far(count):
    return sum(MOMENTS[:count]) / count


def moving_average(start, decay=0.8):
    mean = start
    for factor in MOMENTS:
        mean = decay * mean + (1 - decay) * factor
    return mean


@pytest.mark.parametrize(
    "factor",
    [
        mean_so_far(2),
        mean_so_far(4),
        moving_average(MOMENTS[0]),
        moving_average(0.0),
        moving_average(0.0) / (1 - 0.8 ** len(MOMENTS)),
    ],
    ids=["a mean", "a later mean", "from the first", "from nothing", "corrected for its start"],
)
def test_means_of_the_norms_are_recognised(factor):
    assert values(lines(factor)) == pytest.approx([0.111 * i * factor for i in (1, 2, 3)], 1e-3)


def test_a_row_is_told_first_layer_first_whichever_way_it_was_printed():
    there, back = lines(mean_so_far(2)), lines(mean_so_far(2), LAYERS[::-1])

    assert values(back) == values(there)


def test_each_of_the_rows_at_a_place_has_to_be_true():
    wrong = lines(1.93 * mean_so_far(2))

    assert values(lines(mean_so_far(2)) + lines(mean_so_far(3))) is not None
    assert values(lines(mean_so_far(2)) + wrong) is None
    assert values(wrong + lines(mean_so_far(2))) is None


def test_a_row_that_breaks_off_is_none():
    whole = lines(mean_so_far(2))

    assert values(whole + whole[:2]) is None
    assert values(whole[:2]) is None


@pytest.mark.parametrize("kind", ["weight", "bias"])
def test_a_row_may_be_of_one_kind_of_parameter(kind):
    truth = {name: v for name, v in norms("weight", "bias").items() if name.endswith(kind)}
    printed = tuple(f"grad {sum(v[:2]) / 2:.3e}" for v in truth.values())

    assert values(printed, ("weight", "bias")) == pytest.approx(
        [sum(v[:2]) / 2 for v in truth.values()], 1e-3
    )


def test_a_row_may_be_of_all_parameters():
    truth = norms("weight", "bias")
    printed = tuple(f"grad {sum(v[:2]) / 2:.3e}" for v in truth.values())

    assert len(values(printed, ("weight", "bias"))) == 2 * len(LAYERS)


def test_statistics_that_are_no_norms_are_recognised_where_they_were_measured():
    measured = {"rms": {f"{layer}.weight": (0.717 + i,) for i, layer in enumerate(LAYERS)}}
    printed = tuple(f"rms {0.717 + i:.4f}" for i in range(3))

    assert values(printed, printed_statistics=measured) == (0.717, 1.717, 2.717)
    assert values(printed) is None


def test_less_than_three_layers_may_be_chance():
    two = {name: v for name, v in norms("weight").items() if not name.startswith("net.4")}
    printed = lines(mean_so_far(2))[:2] * 2

    assert in_sequence(printed, learning(printed_norms=two), 0.0) is None
