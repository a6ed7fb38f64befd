"""Parts that are trained against each other are judged one by one: each has its own windows,
its own threshold and its own leftovers, and the loop is right when it is right for every part.
"""

from collections.abc import Callable

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict, inconclusive
from harness.properties.completion import verdict
from harness.properties.property import Property


def by_part(judged: Property, trace: Trace, expectations: Expectations) -> Verdict:
    """One property's verdict over all parts: that of the first part that fails, or of all of them
    together, else of the first that is inconclusive, else a pass that joins all of them.
    """
    seen = parts_of(trace)
    found = [verdict(judged, of_part, expectations) for of_part in seen]
    failing = next((v for v in found if v.outcome == "fail"), None)
    decisive = failing or next((v for v in found if v.outcome == "inconclusive"), None)
    if decisive is not None:
        return decisive
    all_parts = max((len(p.parts) for p in trace.probes), default=0)
    if len(seen) < all_parts and not expectations.unasked:
        return inconclusive(judged.id, "Nothing shows how the other network is trained.")
    sentences = dict.fromkeys(v.sentence for v in found)
    numbers = dict.fromkeys(n for v in found for n in v.numbers)
    return found[0].model_copy(update={"sentence": " ".join(sentences), "numbers": tuple(numbers)})


def parts_of(trace: Trace) -> tuple[Trace, ...]:
    """One trace for each part, holding that part's updates only; the trace itself where there are
    no parts.
    """
    updates = (u for p in trace.probes for rank in p.ranks for u in rank.updates)
    names = dict.fromkeys(u.trains for u in updates if u.trains)
    if not names:
        return (trace,)
    return tuple(_part(trace, name) for name in names)


def only(probe: ProbeTrace, counts: Callable[[Update], bool]) -> ProbeTrace:
    """The probe with some of its updates."""
    ranks = (
        rank.model_copy(update={"updates": tuple(filter(counts, rank.updates))})
        for rank in probe.ranks
    )
    return probe.model_copy(update={"ranks": tuple(ranks)})


def _part(trace: Trace, name: str) -> Trace:
    probes = tuple(only(probe, lambda u: u.trains in ("", name)) for probe in trace.probes)
    return trace.model_copy(update={"probes": probes})
