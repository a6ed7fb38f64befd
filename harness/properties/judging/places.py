"""From a verdict to the window of the trace that it speaks of."""

import re

from harness.domain.trace import Trace, Update
from harness.domain.verdict import Verdict

_PLACE = re.compile(r"(?P<probe>[^,]+), update (?P<update>\d+)(?:, rank (?P<rank>\d+))?")


def story_around(trace: Trace, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """What happened in the window of the first failure that names a place; empty where none does."""
    for verdict in verdicts:
        for number in verdict.numbers if verdict.outcome == "fail" else ():
            if found := _PLACE.match(number.where or ""):
                update = _update(trace, found)
                if update is not None and update.story:
                    return (f"{found.group()}:", *update.story)
    return ()


def _update(trace: Trace, place: re.Match[str]) -> Update | None:
    wanted = int(place["update"]), int(place["rank"] or 0)
    return next(
        (
            update
            for probe in trace.everything
            if probe.probe == place["probe"]
            for rank in probe.ranks
            for update in rank.updates
            if (update.index, rank.rank) == wanted
        ),
        None,
    )
