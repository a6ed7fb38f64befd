"""A skill without one of its sections: which one does the work?"""

import re
from collections.abc import Iterator
from itertools import pairwise

from markdown_it import MarkdownIt

from harness.agents.skill_text import SkillText, frontmatter_lines
from harness.domain.errors import UsageError
from harness.domain.record import Record


class SkillSection(Record):
    """A heading of ``SKILL.md`` with all that stands below it."""

    title: str
    """The heading's text."""
    name: str
    """As a link and a folder name it: ``mixed-precision``; unique in the skill."""
    first: int
    """1-based line of the heading."""
    last: int
    """Its last line."""


def sections_of(skill: SkillText, level: int) -> tuple[SkillSection, ...]:
    """Those whose heading has this level, each up to the next heading of this or a higher level.

    Raises:
        UsageError: there is none.
    """
    lines = skill.main.split("\n")
    heads = [*_headings(skill)]
    found: dict[str, SkillSection] = {}
    for place, (line, depth, title) in enumerate(heads):
        if depth != level:
            continue
        following = (one for one, other, _ in heads[place + 1 :] if other <= level)
        name = _unused(_slug(title), found)
        last = next(following, len(lines) + 1) - 1
        found[name] = SkillSection(title=title, name=name, first=line, last=last)
    if not found:
        there = sorted({depth for _, depth, _ in heads})
        levels = (
            f"it has headings of level {', '.join(map(str, there))}" if there else "it has none"
        )
        raise UsageError(
            f"{skill.name}: SKILL.md has no heading of level {level} to leave out: {levels}; "
            "name one with --level"
        )
    return tuple(found.values())


def without(skill: SkillText, section: SkillSection) -> SkillText:
    """The same skill with the lines of a section left out."""
    lines = skill.main.split("\n")  # as Markdown counts them
    kept = "\n".join([*lines[: section.first - 1], *lines[section.last :]])
    main = skill.files[0].model_copy(update={"content": kept.encode()})
    return skill.model_copy(update={"files": (main, *skill.files[1:])})


def _headings(skill: SkillText) -> Iterator[tuple[int, int, str]]:
    """Line, level and text of each."""
    above = frontmatter_lines(skill.main)
    body = "\n".join(skill.main.split("\n")[above:])
    tokens = MarkdownIt("commonmark").parse(body)
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open" and opening.map and opening.level == 0:
            yield opening.map[0] + 1 + above, int(opening.tag[1]), inside.content


def _slug(title: str) -> str:
    """As GitHub links to a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")[:80] or "section"


def _unused(name: str, taken: dict[str, SkillSection]) -> str:
    numbered = (f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(one for one in (name, *numbered) if one not in taken)
