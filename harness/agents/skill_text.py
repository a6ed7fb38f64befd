"""A skill as an agent gets it: the files of its folder, as they were when asking began."""

import hashlib
import os
import re
from pathlib import Path
from typing import Never

import yaml

from harness.domain.errors import UsageError
from harness.domain.record import Record
from harness.untrusted import read_bytes, safe_yaml

MAIN = "SKILL.md"
TRIGGERS = "triggers.yaml"
"""Prompts that ask whether the skill is found; no part of the skill, and no agent gets them."""
_LARGEST = 16 << 20
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.{0,65536}?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_PASSED_OVER = frozenset({"__pycache__", "node_modules"})


class SkillFile(Record):
    """One file of a skill."""

    path: str
    """Within the skill's folder, with forward slashes."""
    content: bytes
    """All of it."""
    executable: bool = False
    """Whether it may be run."""

    @property
    def text(self) -> str | None:
        """As text; ``None`` when it is none."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None


class SkillText(Record):
    """All files of a skill."""

    name: str
    """From the frontmatter, else the folder's; only letters, digits and dashes."""
    description: str
    """From the frontmatter; empty when there is none."""
    files: tuple[SkillFile, ...]
    """``SKILL.md`` first, the others by path."""

    @property
    def main(self) -> str:
        """The text of ``SKILL.md``."""
        return self.files[0].text or ""

    @property
    def digest(self) -> str:
        """SHA-256 of all files: two skills with the same digest are the same skill."""
        seen = hashlib.sha256()
        for file in self.files:
            path = file.path.encode()
            seen.update(b"%d %s %d " % (len(path), path, len(file.content)))
            seen.update(file.content)
        return seen.hexdigest()

    @property
    def texts(self) -> dict[str, str]:
        """Every file that is text, by path."""
        return {file.path: text for file in self.files if (text := file.text) is not None}

    @property
    def references(self) -> dict[str, str]:
        """What belongs to the whole text: ``references/``, and pages that ``SKILL.md`` names."""
        return {
            path: text
            for path, text in self.texts.items()
            if path != MAIN
            and path.endswith((".md", ".txt"))
            and (path.startswith("references/") or path in self.main)
        }


def load_skill_text(place: Path) -> SkillText:
    """The skill in a folder, or in a single Markdown file.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    try:
        files = _in_folder(place) if place.is_dir() else (_file(place, MAIN),)
    except OSError as error:
        where = error.filename or place
        raise UsageError(f"{where}: the skill cannot be read: {error.strerror}") from error
    if sum(len(file.content) for file in files) > _LARGEST:
        raise UsageError(f"{place}: the skill has more than {_LARGEST >> 20} MB; is it a skill?")
    if files[0].text is None:
        raise UsageError(f"{place}: {MAIN} is not text in UTF-8")
    front = _frontmatter(files[0].text)
    name = front.get("name") or (place.name if place.is_dir() else place.stem)
    return SkillText(
        name=re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "skill",
        description=" ".join(front.get("description", "").split()),
        files=files,
    )


def _in_folder(folder: Path) -> tuple[SkillFile, ...]:
    if not (folder / MAIN).is_file():
        raise UsageError(f"{folder}: no {MAIN} there; --skill takes the folder of a skill")
    found = []
    for here, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(n for n in folders if n not in _PASSED_OVER and not n.startswith("."))
        for name in sorted(names):
            path = Path(here, name)
            if path == folder / TRIGGERS:
                continue
            if not name.startswith(".") and path.is_file() and _inside(path, folder):
                found.append(_file(path, path.relative_to(folder).as_posix()))
    return tuple(sorted(found, key=lambda file: (file.path != MAIN, file.path)))


def _refuse(error: OSError) -> Never:
    """Without it a folder that cannot be listed is passed over: another skill would be asked with."""
    raise error


def _inside(path: Path, folder: Path) -> bool:
    """Not where a link leads out of the folder."""
    return path.resolve().is_relative_to(folder.resolve())


def _file(path: Path, name: str) -> SkillFile:
    return SkillFile(
        path=name, content=read_bytes(path, _LARGEST), executable=os.access(path, os.X_OK)
    )


def frontmatter_lines(text: str) -> int:
    """How many lines of a page are its frontmatter."""
    match = _FRONT.match(text)
    return match[0].count("\n") + (not match[0].endswith("\n")) if match else 0


def _frontmatter(text: str) -> dict[str, str]:
    """Its values that are text; empty when there is no frontmatter that can be read."""
    match = _FRONT.match(text)
    try:
        value = safe_yaml(match[1]) if match else None
    except yaml.YAMLError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(key): entry for key, entry in value.items() if isinstance(entry, str)}
