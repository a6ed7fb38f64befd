"""A reported validation loss is the mean over samples, not over batches.

Bug::

    total += criterion(model(x), y).item()       # a mean of 8 rows, or of the 5 of the last batch
    report(total / len(val_loader))              # each batch counts the same

Signature: what was reported is not the mean over all rows of the validation set at the parameters
then, which is computed anew outside of the jail.

Masked by: a validation set that the batches fill; rows that are all alike.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number, show
from harness.properties.property import Property

from ._passes import Report, facts_of

ID = "validation-weighs-samples"

ROUNDING = 1e-4
"""Relative: means of some tens of numbers in single precision, each rounded to 2**-24."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The first report that is no mean over samples."""
    del expectations
    right = 0
    for probe in trace.probes:
        facts = facts_of(probe)
        for rank, seen in enumerate(facts.ranks if facts is not None else ()):
            for turn, report in enumerate(seen.reports, 1):
                where = f"{probe.probe}, report {turn} of rank {rank}"
                if not _is(report.said, report.over_samples):
                    return _wrong(report, where)
                right += not _is(report.over_samples, report.over_batches)
    if not right:
        return inconclusive(ID, "No validation loss was reported that could show the difference.")
    return passed(
        ID,
        f"{count(right, 'report')} gave the mean over samples, where that over batches is another.",
        number("reports", right),
    )


def _is(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))


def _wrong(report: Report, where: str) -> Verdict:
    means = (
        " It is the mean of the batches' means." if _is(report.said, report.over_batches) else ""
    )
    return failed(
        ID,
        f"In {where} the loss was said to be {show(report.said)}, and over all samples it is "
        f"{show(report.over_samples)}.{means} Weigh each batch by its size: sum the loss times the "
        "number of rows, leave out no row, and divide by the number of rows.",
        number("reported", report.said, where),
        number("mean over samples", report.over_samples, where),
        number("mean over batches", report.over_batches, where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    needs="a report on a validation set that batches do not fill",
)
