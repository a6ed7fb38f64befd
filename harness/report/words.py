"""Small phrases that several pages share."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from harness.domain.listing import NotRun

if TYPE_CHECKING:  # records of it take their time to be made, and `harness list` needs none
    from harness.domain.transcript import SkillRead

READ: "dict[SkillRead, str]" = {
    "yes": "read before the answer",
    "late": "read only for the runnable form",
    "no": "not read",
    "unknown": "no log tells whether it was read",
}
"""Whether an agent opened its skill, in words."""


def points(effect: float) -> str:
    """A difference between shares, 0.24, in percentage points: ``24 points``."""
    return some(round(100 * effect), "point")


def signed(effect: float) -> str:
    """The same with its sign and without the word: ``+24``."""
    return f"{round(100 * effect):+d}"


def some(count: int, noun: str) -> str:
    """``1 scenario``, ``2 scenarios``."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def sentences_not_run(left_out: Iterable[NotRun]) -> list[str]:
    """``not run: a, b: needs the extra huggingface (...)``, one sentence for each need."""
    ids: dict[str, list[str]] = {}
    for one in left_out:
        ids.setdefault(one.why, []).append(one.scenario)
    return [f"not run: {', '.join(names)}: {why}" for why, names in ids.items()]


def and_not_run(left_out: Sequence[NotRun]) -> str:
    """``, 2 not run``; nothing for none."""
    return f", {len(left_out)} not run" if left_out else ""


def chance(p: float) -> str:
    """A p value with as few digits as are honest: ``0.03``, ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def text(said: str, style: str = "") -> Text:
    """Foreign text for a terminal: markup, escape sequences and bells are printed, not obeyed."""
    return Text(clean(said), style)


def indented(said: str, style: str = "") -> Padding:
    """The same under a line that it belongs to."""
    return Padding.indent(text(said, style), 4)


def clean(said: str) -> str:
    """Every character that steers a terminal becomes a replacement character."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in said
    )


def wrapped(page: str) -> str:
    """A page of Markdown with lines of at most a hundred columns; code, tables and heads stay."""
    return "\n\n".join(map(_wrapped, page.split("\n\n")))


def _wrapped(paragraph: str) -> str:
    lines = paragraph.split("\n")
    if all(len(line) <= 100 or line.startswith(("|", "    ", "#")) for line in lines):
        return paragraph
    if any(line.startswith(("|", "    ", "#", "- ")) for line in lines):
        return paragraph
    return textwrap.fill(" ".join(lines), 100, break_long_words=False, break_on_hyphens=False) + (
        "\n" if paragraph.endswith("\n") else ""
    )
