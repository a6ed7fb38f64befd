"""A skill's folder on disk, read within bounds."""

import os
import posixpath
from pathlib import Path
from typing import Never
from urllib.parse import unquote

from harness.domain.errors import UsageError
from harness.domain.skill import Skill
from harness.skills import read_page, read_skill
from harness.untrusted import read_bytes

MOST_FILES = 2000
LONGEST_PAGE = 2_000_000
_MARKDOWN = (".md", ".markdown", ".mdx")
_SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})


def load_skill(folder: Path) -> Skill:
    """Read a folder, or one Markdown file: a skill of one page, or a page that is no skill.

    Raises:
        UsageError: there is nothing to read, too much, or it is no text.
    """
    if folder.is_file():
        if folder.suffix.lower() not in _MARKDOWN:
            raise UsageError(f"{folder} is no Markdown file: give a skill's folder or a page (.md)")
        return _one_page(folder)
    if not folder.is_dir():
        what = "is neither a folder nor a file" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}: give the folder that holds SKILL.md")
    files = _files(folder)
    pages = {name: _text(folder / name) for name in files if name.lower().endswith(".md")}
    scripts = [name for name in files if name.startswith("scripts/") and name.endswith(".py")]
    if not pages:
        raise UsageError(f"{folder} holds no Markdown file: expected SKILL.md")
    pages |= {name: _text(folder / name) for name in scripts}
    return read_skill(folder.resolve().name, pages, frozenset(files))


def _one_page(path: Path) -> Skill:
    name, text = path.name, _text(path)
    is_page = name.lower() != "skill.md"
    targets = (reference.target.partition("#")[0] for reference in read_page(name, text).references)
    linked = (posixpath.normpath(unquote(target)) for target in targets if target)
    there = {target for target in linked if _is_there(path.parent / target)}
    if not is_page:
        there = {target for target in there if not target.startswith("../")}
    skill = read_skill(path.resolve().parent.name, {name: text}, frozenset({name, *there}))
    return skill.model_copy(update={"is_page": is_page})


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no name that a file could have
        return False


def _files(folder: Path) -> list[str]:
    found: list[str] = []
    try:
        for here, folders, names in os.walk(folder, onerror=_refuse):
            folders[:] = sorted(set(folders) - _SKIPPED)
            paths = (Path(here, name) for name in sorted(set(names) - _SKIPPED))
            found += (path.relative_to(folder).as_posix() for path in paths if path.is_file())
            if len(found) > MOST_FILES:
                raise UsageError(f"{folder} holds more than {MOST_FILES} files: is it a skill?")
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be read: {error.strerror}") from error
    return found


def _refuse(error: OSError) -> Never:
    """``os.walk`` passes over what it cannot list, and a part of a skill is not the skill."""
    raise error


def _text(path: Path) -> str:
    try:
        return read_bytes(path, LONGEST_PAGE).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
