"""The figures on top of the page: how many answers are right, with an interval, and what it cost."""

from dataclasses import dataclass

from harness.domain.stored import StoredAnswer
from harness.report.reported import Report, ReportSide

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Headline:
    """One side in figures."""

    name: str
    """Its name."""
    figures: tuple[tuple[str, str, str, str], ...]
    """Kind, count, word, and what stands below: share and interval."""
    cost: str | None
    """Dollars and tokens; ``None`` where nobody counted."""


def headlines_of(report: Report) -> tuple[Headline, ...]:
    """One a side."""
    return tuple(_headline(side) for side in report.sides)


def _headline(side: ReportSide) -> Headline:
    tally = side.count()
    whole = tally.right + tally.wrong + tally.inconclusive + tally.none
    named = [("right", "right"), ("wrong", "wrong"), ("inconclusive", "inconclusive")]
    named += [(kind, word) for kind, word in _RARE if getattr(tally, kind)]
    figures = []
    for kind, word in named:
        count: int = getattr(tally, kind)
        below = "" if kind == "unanswered" else _share(count, whole)
        figures.append((kind, str(count), word, below))
    return Headline(side.name, tuple(figures), _cost(list(side.all)))


_RARE = (("none", "no code"), ("unanswered", "no answer"))


def _share(count: int, whole: int) -> str:
    """Wilson's interval: it holds for few answers, and for none of them too."""
    if not whole:
        return ""
    from scipy.stats import binomtest

    found = binomtest(count, whole).proportion_ci(CONFIDENCE, method="wilson")
    return f"{count / whole:.0%} ({found.low:.0%} to {found.high:.0%})"


def _cost(answers: list[StoredAnswer]) -> str | None:
    talks = [one.transcript for one in answers if one.transcript is not None]
    used = [talk.usage for talk in talks if talk.usage is not None]
    if not used:
        return None
    tokens = sum(
        usage.input + usage.output + usage.cache_read + usage.cache_write for usage in used
    )
    facts = [fact.value for talk in talks for fact in talk.facts if fact.key == "cost_usd"]
    priced = [float(value) for value in facts if value.replace(".", "", 1).isdecimal()]
    dollars = f"${sum(priced):.2f}, " if priced else ""
    return f"{dollars}{tokens:,} tokens"
