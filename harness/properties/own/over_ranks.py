"""Gradients that are summed over the ranks where their mean was due, or divided by the ranks twice."""

from harness.domain.own import OwnSettings
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.divisors import SAME, Total, total
from harness.properties.evidence.consumption import account
from harness.properties.evidence.figures import close, count, middle, number, show, spread
from harness.properties.ranks.ranks_agree import ID

HALVED = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "")
"""Losses that people multiply by a half whatever the number of ranks; one that has no name may be of
them.
"""


def mean_over_ranks(verdict: Verdict, trace: Trace, settings: OwnSettings) -> Verdict:
    """The verdict on ranks that agree, or the fail for what they agree on: the number of ranks times
    the mean of their losses' gradients, or that part of it.
    """
    if verdict.property != ID or verdict.outcome == "fail" or settings.ranks < 2:
        return verdict
    totals = _totals(trace, settings)
    sizes = [t.size for t in totals]
    if not totals or spread(sizes) > SAME:
        return verdict
    factor, first = middle(sizes), totals[0].reading
    ranks, of = settings.ranks, first.update.window_size
    whole = close(first.ratio, ranks, SAME)  # else the program's own weight on its loss
    summed = close(factor, ranks, SAME) and whole and ranks != of
    twice = close(factor, 1.0 / ranks, SAME) and ranks != of and not _halved(totals)
    if not (summed or twice):
        return verdict
    why = (
        f"they were summed over {ranks} ranks and never divided: divide by the number of ranks"
        if summed
        else f"the loss was divided by the {ranks} ranks, and their mean was taken all the same"
    )
    return failed(
        ID,
        f"In {first.where} the optimizer consumed {show(factor)} times the mean of the ranks' "
        f"gradients, and so in {count(len(totals), 'window')}: {why}.",
        number("times the mean over ranks", factor, first.where),
        number("ranks", ranks, first.where),
    )


def _totals(trace: Trace, settings: OwnSettings) -> list[Total]:
    """What each window adds up to, where a program trains on a loss of its own."""
    seen = account(trace, settings.expectations)
    if seen is None or seen.objective != "as-computed":
        return []
    return [t for r in seen.readings if (t := total(r)) is not None]


def _halved(totals: list[Total]) -> bool:
    return any(b.mean_of in HALVED for t in totals for b in t.reading.window.rank_trace.backwards)
