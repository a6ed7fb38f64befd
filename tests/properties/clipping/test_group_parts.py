"""One group's part of a window: what it should have got, and what it got."""

import pytest

from harness.domain.scenario import Group
from harness.properties.clipping.group_parts import GroupInWindow, parts_of
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.windows import of_rank
from tests.fakes.traces import match, parameter, probe, update

GROUP = Group(prefix="head")


def parts(*parameters, **fields) -> list[GroupInWindow]:
    one = match(parameters=[parameter("body.weight", 5.0, 5.0), *parameters])
    seen = probe("loud", update(0, matches=[one], **fields))
    (window,) = of_rank(seen, seen.ranks[0])
    return parts_of([WindowReading(window, one, "turned")], GROUP)


def head(consumed, *, dot=None):
    """The head's weight, with a true gradient of norm 2; ``dot``: for one that was turned."""
    whole = parameter("head.weight", 2.0, consumed)
    return whole if dot is None else whole.model_copy(update={"dot": dot})


def test_norms_and_fraction_of_a_group_are_those_of_its_own_parameters():
    (part,) = parts(head(1.0), parameter("head.bias", 1.5, 0.75))

    assert (part.true, part.consumed, part.kept) == pytest.approx((2.5, 1.25, 0.5))


def test_a_parameter_without_a_gradient_got_nothing():
    (part,) = parts(head(None))

    assert (part.consumed, part.kept) == (0.0, 0.0)


def test_a_group_has_no_part_where_its_true_gradient_is_absent_or_zero_or_frozen():
    assert parts() == []
    assert parts(parameter("head.weight", 0.0, 0.0)) == []
    assert parts(head(2.0), frozen=("head.weight",)) == []


@pytest.mark.parametrize(
    ("consumed", "dot", "raised"),
    [(6.0, None, True), (2.0, None, False), (1.0, None, False), (6.0, 8.0, False)],
    ids=["enlarged", "as it is", "clipped", "enlarged and turned"],
)
def test_raised_is_enlarged_in_its_own_direction(consumed, dot, raised):
    (part,) = parts(head(consumed, dot=dot))

    assert part.raised is raised


@pytest.mark.parametrize(("consumed", "whole"), [(2.0, True), (1.9, False), (2.1, False)])
def test_whole_is_neither_clipped_nor_enlarged(consumed, whole):
    (part,) = parts(head(consumed))

    assert part.whole is whole
