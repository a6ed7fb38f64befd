"""Schedules made for something else than what they are moved by, in runs that were cut short: how
they go on is known, and how often the program goes through its data.
"""

import ast
from typing import NamedTuple

from harness.domain.facts_of_run import ScheduleCourse
from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number
from harness.properties.schedule.spent_schedules import guessed
from harness.syntax import tree_of, walk

ID = "scheduler-per-update"

FEW = 3
"""With fewer updates in a pass, passes and updates are alike."""

ASKS = "estimated_stepping_batches"
"""What a Trainer is asked for how many updates there will be."""

FALLEN = 0.5
"""A rate above this part of its peak has not come to an end."""


class FirstPass(NamedTuple):
    """What is known of the first pass over the data."""

    whole: bool
    """Whether another one followed."""
    updates: int
    """Optimizer steps."""
    moves: int
    """Steps of the schedule."""
    planned: int | None
    """The length of the schedule, where it tells one."""


def counts_otherwise(probe: ProbeTrace) -> Verdict | None:
    """A fail when the end of the schedule is that of all passes counted in one unit, and it is moved in
    another.
    """
    course, seen = _in_all(probe), first_pass(probe)
    if course is None or seen is None or course.left > FALLEN or probe.parts or guessed(probe):
        return None
    made_for = mistaken(course, seen)
    steep = course.end - course.peak <= FEW  # a warm-up that fits no such short training
    if made_for is None or steep or not is_computed(course, probe):
        return None
    moved = "once in each" if seen.moves == 1 else "with every update"
    return failed(
        ID,
        f"In {probe.probe} the schedule comes to its end after {count(course.end, 'step')}, which "
        f"{made_for}, and it is moved {moved} of {course.passes} passes. Count its length in what it "
        "is moved by.",
        number("length of the schedule", course.end, probe.probe),
        number("passes", course.passes, probe.probe),
        number("part of the rate that is left at its end", course.left, probe.probe),
    )


def warms_up_for_ever(probe: ProbeTrace) -> Verdict | None:
    """A fail when the schedule is moved once a pass, and its highest rate lies as far away as if it were
    moved with every update.
    """
    course, seen = _in_all(probe), first_pass(probe)
    if course is None or seen is None or probe.parts or guessed(probe):
        return None
    made_for_updates = 2 * course.passes <= course.peak <= course.passes * seen.updates
    if seen.moves != 1 or seen.updates < FEW or not seen.whole or not made_for_updates:
        return None
    return failed(
        ID,
        f"In {probe.probe} the schedule has its highest rate after {count(course.peak, 'step')}, and is "
        f"moved once in each of {course.passes} passes, which have {seen.updates} updates: its warm-up "
        "is not over when training ends. Move it with every update.",
        number("steps until the highest rate", course.peak, probe.probe),
        number("passes", course.passes, probe.probe),
    )


def asks_for_updates(probe: ProbeTrace) -> Verdict | None:
    """A fail when a schedule asks its Trainer how many updates there are, and is moved once a pass."""
    seen = first_pass(probe)
    if ASKS not in probe.program.source or seen is None or not seen.whole:
        return None
    if seen.moves != 1 or seen.updates < FEW:
        return None
    return failed(
        ID,
        f"In {probe.probe} the schedule asks its Trainer how many updates there will be ({ASKS}), and "
        f"is moved once in a pass, which has {seen.updates} of them. Return it with "
        '`"interval": "step"`.',
        number("updates in a pass", seen.updates, probe.probe),
    )


def _in_all(probe: ProbeTrace) -> ScheduleCourse | None:
    """The course, with the passes that were made where the program came to its end."""
    course, updates = probe.program.course, probe.updates
    if course is None or probe.program.outcome != "returned":
        return course
    places = {u.window[-1].after_batch for u in updates if u.window} - {None}
    return course.model_copy(update={"passes": len({place[0] for place in places if place})})


def is_computed(course: ScheduleCourse, probe: ProbeTrace) -> bool:
    """Whether the program names the end nowhere, unless as the number of its passes: a constant may
    coincide with a count.
    """
    tree = tree_of(probe.program.source)
    named = {n.value for n in walk(tree) if isinstance(n, ast.Constant)} - {course.passes}
    return course.end <= course.passes or named.isdisjoint({course.end, course.end + 1})


def mistaken(course: ScheduleCourse, seen: FirstPass) -> str | None:
    """What the length of the schedule counts, where that is not what moves it."""
    passes, end = course.passes, course.end
    each = seen.moves == seen.updates >= FEW
    batches, updates = (
        seen.whole and abs(n * passes - end) <= passes + 1 for n in (course.batches, seen.updates)
    )
    if each and batches and course.batches >= 2 * seen.updates:
        return "is the number of micro-batches"
    if seen.moves == 1 and seen.updates >= FEW and (updates or batches):
        return f"is the number of {'updates' if updates else 'micro-batches'}"
    within = end <= min(seen.updates, passes + 1) and passes <= FEW * end and not course.rises
    if each and end == passes >= FEW and (seen.planned == passes or not course.rises):
        return "is the number of passes"
    if each and end >= FEW and within:
        return "is within the first pass"
    return None


def first_pass(probe: ProbeTrace) -> FirstPass | None:
    """The first pass that trains, as far as it was seen."""
    updates = probe.ranks[0].updates if probe.ranks else ()
    places = [u.window[-1].after_batch if u.window else None for u in updates]
    known = [place[0] for place in places if place is not None]
    if not known or len(known) < len(places):
        return None
    first = [u for u, number in zip(updates, known, strict=True) if number == known[0]]
    lengths = {u.scheduled_for for u in first if u.scheduler_steps}
    return FirstPass(
        whole=known[-1] != known[0],
        updates=len(first),
        moves=sum(u.scheduler_steps for u in first),
        planned=lengths.pop() if len(lengths) == 1 else None,
    )
