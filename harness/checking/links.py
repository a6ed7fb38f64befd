"""Links of a skill's pages to its files and headings. Pure."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from harness.domain.check import FormatFinding
from harness.domain.skill import Page, Reference, Skill

_ABSOLUTE = "The link {} is absolute: links of a skill are relative."


MOST = 50
"""How many links are told one by one."""


def check_links(skill: Skill) -> Iterator[FormatFinding]:
    """What leads nowhere, and what lies too deep; of very many the first ones and their number."""
    found = [*_links(skill)]
    yield from found[:MOST]
    if len(found) > MOST:
        last = found[MOST]
        yield last.model_copy(
            update={"sentence": f"{len(found) - MOST} more links are like these."}
        )


def _links(skill: Skill) -> Iterator[FormatFinding]:
    anchors = {page.file: page.anchors for page in skill.pages}
    for page in skill.pages:
        for reference in page.references:
            if problem := _broken(page, reference, skill, anchors):
                yield FormatFinding(
                    level="error",
                    file=page.file,
                    line=reference.line,
                    rule="reference",
                    sentence=problem,
                )
            elif page.file == skill.main and _is_deep(reference, skill):
                sentence = (
                    f"{reference.target} lies more than one level deep: keep references flat."
                )
                yield FormatFinding(
                    level="advice",
                    file=page.file,
                    line=reference.line,
                    rule="reference",
                    sentence=sentence,
                )


def _is_deep(reference: Reference, skill: Skill) -> bool:
    return not skill.is_page and reference.target.count("/") > 1


def _broken(
    page: Page, reference: Reference, skill: Skill, anchors: dict[str, frozenset[str]]
) -> str | None:
    path, _, anchor = reference.target.partition("#")
    target = page.file
    if path:
        if path.startswith("/"):
            return None if skill.is_page else _ABSOLUTE.format(reference.target)
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), unquote(path)))
        folder = any(name.startswith(f"{target}/") for name in skill.files)
        if target not in skill.files and not folder:
            where = "" if skill.is_page else " of the skill"
            return f"The link {reference.target} leads to no file{where}."
    if anchor and target in anchors and anchor not in anchors[target]:
        return f"The link {reference.target} leads to no heading of {target}."
    return None
