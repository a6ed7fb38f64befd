"""SKILL.md -> frontmatter, sections, examples and what each example claims. Pure: text in, records
out.

``read_skill`` takes the texts of a folder; who reads them from disk is ``harness.checking``.
"""

from harness.skills.reading import read_page, read_skill

__all__ = ["read_page", "read_skill"]
