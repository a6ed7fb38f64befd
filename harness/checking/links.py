"""Links of a skill's pages to its files and headings. Pure."""

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from harness.domain.check import FormatFinding
from harness.domain.skill import Page, Reference, Skill


def check_links(skill: Skill) -> Iterator[FormatFinding]:
    """What leads nowhere, and what lies too deep."""
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
            elif page.file == skill.main and reference.target.count("/") > 1:
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


def _broken(
    page: Page, reference: Reference, skill: Skill, anchors: dict[str, frozenset[str]]
) -> str | None:
    path, _, anchor = reference.target.partition("#")
    target = page.file
    if path:
        if path.startswith("/"):
            return f"The link {reference.target} is absolute: links of a skill are relative."
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.file), unquote(path)))
        folder = any(name.startswith(f"{target}/") for name in skill.files)
        if target not in skill.files and not folder:
            return f"The link {reference.target} leads to no file of the skill."
    if anchor and target in anchors and anchor not in anchors[target]:
        return f"The link {reference.target} leads to no heading of {target}."
    return None
