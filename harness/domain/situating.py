"""Where a program without a scenario is run until it trains: on data of one shape after the other, in
the size that it asks for.
"""

from collections.abc import Callable, Sequence

from harness.domain.fitting import SHAPES, fitted_to, of_its_ranks
from harness.domain.own import blurs, is_alone, lent, misfits, roomier, situations_of
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import ProbeTrace

Observe = Callable[[Scenario, Sequence[Probe]], tuple[ProbeTrace, ...]]
"""Executes a program in the probes of a situation, and measures what it did."""
Situated = tuple[Scenario, tuple[ProbeTrace, ...]]
"""A situation, and what a program did there."""


def situated(
    program: str, observe: Observe, *, anywhere: bool = True, brings_all: bool = False
) -> Situated:
    """The first situation in which it trains, else the one in which it came furthest, and what it did
    there. ``anywhere``: also on data of other shapes than the usual one. ``brings_all``: whether it
    has a world of its own.
    """
    tried: list[Situated] = []
    for situation in situations_of(program, brings_all=brings_all):
        same = tried and situation.workload.world_size == tried[-1][0].workload.world_size
        if same and not (anywhere and _goes_on(program, *tried[-1])):
            continue
        place, found = _in_a_size_that_fits(situation, observe, first=not tried)
        tried.append((place, found))
        if is_alone(found[0]) or misfits(found[0]) or (anywhere and blurs(program, place)):
            continue
        larger = roomier(place, found[0])
        if larger is not None:
            return larger, observe(larger, larger.probes)
        if found[0].updates:
            return tried[-1]
    return max(tried, key=lambda one: (not blurs(program, one[0]), *_came_so_far(one[1][0])))


def _came_so_far(probe: ProbeTrace) -> tuple[int, bool]:
    """Its updates; and whether it ended within a GradScaler, which refuses the order of calls."""
    return len(probe.updates), "GradScaler" in (probe.program.during or "")


def _goes_on(program: str, place: Scenario, found: tuple[ProbeTrace, ...]) -> bool:
    """Whether another situation may tell what this one does not."""
    return misfits(found[0]) or blurs(program, place)


def _in_a_size_that_fits(place: Scenario, observe: Observe, *, first: bool) -> Situated:
    """A situation, and what the program did there; the first one again in another size or kind where
    the program asks for that.
    """
    found = observe(place, place.probes)
    for _ in range(SHAPES if first else 0):
        fitting = of_its_ranks(place, found[0])
        if fitting is None and lent(found[0].program.bound):
            fitting = fitted_to(place, found[0])
        if fitting is None:
            break
        place, found = fitting, observe(fitting, fitting.probes)
    return place, found
