"""What is asked of the judge, and in which order."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AskedProgram:
    """One program to be judged."""

    scenario: str
    """Id of the scenario."""
    program: str
    """Its text."""
    work: Callable[[], None]
    """What is to be done with it."""


def mixed(asked: list[AskedProgram]) -> list[AskedProgram]:
    """Each scenario spread over the whole: where those that are slow to measure came together, the
    jail stood still. What several scenarios ask of one program comes together.
    """
    sizes, seen = Counter(one.scenario for one in asked), Counter[str]()
    places: dict[str, tuple[float, int]] = {}
    for one in asked:
        place = (seen[one.scenario] + 0.5) / sizes[one.scenario]
        places.setdefault(one.program, (place, len(places)))
        seen[one.scenario] += 1
    return sorted(asked, key=lambda one: places[one.program])
