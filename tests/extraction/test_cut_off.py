"""Lines of a posted program shown with new ones among them, that break off at a head."""

import pytest

from harness.extraction.cut_off import with_cut_off

POSTED = """def fit(model, loader):
    for epoch in range(3):
        model.train()
        for x, y in loader:
            step(x, y)
"""


def test_new_lines_go_between_the_old_ones_at_their_margin():
    shown = "for epoch in range(3):\n    model.train()\n    hold(model)  # again\n    for x, y in loader:"
    changed = with_cut_off(POSTED, shown)

    assert changed is not None
    assert changed.split("\n")[2:5] == [
        "        model.train()",
        "        hold(model)  # again",
        "        for x, y in loader:",
    ]


@pytest.mark.parametrize(
    "shown",
    [
        "for epoch in range(3):\n            model.train()\n            a()\n            for x, y in loader:",
        "for epoch in range(9):\n    model.train()\n    hold(model)\n    for x, y in loader:",
        "for epoch in range(3):\n    model.train()\n    hold(model)",
        "for x, y in loader:",
    ],
)
def test_a_deeper_margin_another_head_no_head_or_nothing_below_one_says_nothing(shown):
    """What does not parse behind the exchange is no exchange."""
    assert with_cut_off(POSTED, shown) is None
