"""A summary in Markdown, short enough for a comment on a pull request."""

import html
import re
from collections.abc import Iterator

from harness.domain.comparison import Comparison
from harness.domain.stored import StoredAnswer
from harness.report.reported import WORDS, Report, ReportSide, tally_in_words
from harness.report.words import chance, clean, signed, some

_MOST = 30  # answers that are named; GitHub refuses comments of more than 65,536 characters
_LONGEST = 400


def render_markdown(report: Report) -> str:
    """Counts, a table of scenarios, and what is wrong with the answers that are not right."""
    lines = [f"## {_plain(report.title)}", ""]
    lines += [f"- **{_plain(side.name)}**: {tally_in_words(side.count())}" for side in report.sides]
    lines += [f"- {_plain(note)}" for note in report.notes]
    if report.comparison is not None:
        lines += ["", *_difference(report.comparison)]
    lines += ["", *_table(report)]
    lines += _not_right(report)
    return "\n".join(lines) + "\n"


def _difference(found: Comparison) -> Iterator[str]:
    for warning in found.warnings:
        yield f"> {_plain(warning)}"
        yield ""
    if found.estimate is not None:
        one, sure = found.estimate, 1 - found.rules.alpha
        yield (
            f"**{_plain(found.new.name)} against {_plain(found.old.name)}: {one.says}**,"
            f" {signed(one.effect)} points of right answers ({sure:.0%} interval {signed(one.low)}"
            f" to {signed(one.high)}, {one.method}, p {_equals(one.p)},"
            f" {some(one.scenarios, 'scenario')})."
        )
    yield f"Gate {found.gate.code}: {_plain(found.gate.why)}."


def _equals(p: float) -> str:
    said = chance(p)
    return said if said.startswith("<") else f"= {said}"


def _table(report: Report) -> Iterator[str]:
    yield f"| scenario | {' | '.join(_plain(side.name) for side in report.sides)} |"
    yield f"| --- |{' --- |' * len(report.sides)}"
    for name in report.asked:
        counts = (tally_in_words(side.count(name)) for side in report.sides)
        yield f"| {_plain(name)} | {' | '.join(counts)} |"


def _not_right(report: Report) -> Iterator[str]:
    """Of the last side: what is proposed, not what was there."""
    side = report.sides[-1]
    answers = [one for one in _answers(side) if one[2].outcome != "right"]
    if answers:
        yield from ("", "<details><summary>Not right</summary>", "")
        for scenario, number, stored in answers[:_MOST]:
            yield f"- **{_plain(scenario)}**, trial {number}: {WORDS[stored.outcome]}"
            yield from (f"  - {_plain(_short(why))}" for why in _why(stored))
        if len(answers) > _MOST:
            yield f"- and {len(answers) - _MOST} more"
        yield from ("", "</details>")


def _answers(side: ReportSide) -> Iterator[tuple[str, int, StoredAnswer]]:
    for scenario, trials in side.answers.items():
        for number, stored in trials.items():
            yield scenario, number, stored


def _why(stored: StoredAnswer) -> tuple[str, ...]:
    answer = stored.answer
    return (answer.error,) if answer.error is not None else answer.reasons


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _plain(text: str) -> str:
    """Words that a model may have written: no markup, no link, nobody is notified."""
    words = " ".join(clean(text).split())
    escaped = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", html.escape(words, quote=False))
    apart = re.sub(
        r"(https?|ftp|www)([:.])", "\\1\N{ZERO WIDTH SPACE}\\2", escaped, flags=re.IGNORECASE
    )
    return apart.replace("@", "@\N{ZERO WIDTH SPACE}")
