"""Files to begin with: a skill, a scenario or a bank that runs as it is, with comments that teach."""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from harness.domain.errors import UsageError

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MOST = 64
"""Letters of a name, as the rules of skills have it."""

SCENARIO = {
    "scenario.yaml": "scenario.yaml",
    "prompt.md": "prompt.md",
    "buggy.py": "buggy.txt",
    "reference.py": "reference.txt",
}
"""The files of a scenario, each with what it begins as."""


def begin_skill(folder: Path, name: str) -> tuple[Path, ...]:
    """Write ``NAME/SKILL.md``.

    Raises:
        UsageError: the name is none, a file is there, or none can be written.
    """
    text = (files("harness.skills") / "templates/SKILL.md").read_text(encoding="utf-8")
    return _written(folder / _name(name), {"SKILL.md": text.replace("NAME", name)})


def begin_scenario(folder: Path, name: str, posted: str = "") -> tuple[Path, ...]:
    """Write ``NAME/scenario.yaml`` and what belongs to it.

    ``posted``: the loop to post instead of the one that is there to begin with.

    Raises:
        UsageError: the name is none, a file is there, or none can be written.
    """
    there = files("harness.scenarios") / "templates"
    texts = {
        file: (there / begins).read_text(encoding="utf-8").replace("NAME", name)
        for file, begins in SCENARIO.items()
    }
    return _written(folder / _name(name), texts | ({"buggy.py": posted} if posted else {}))


def begin_bank(folder: Path, name: str, posted: str = "") -> tuple[Path, ...]:
    """Write ``NAME`` with a first scenario in it; the rest as for a scenario."""
    return begin_scenario(folder / _name(name), "first", posted)


def _name(name: str) -> str:
    if len(name) > MOST or not NAME.fullmatch(name):
        raise UsageError(
            f"{name}: no name; expected up to {MOST} small letters and digits, with single hyphens "
            "between words, such as clip-before-step"
        )
    return name


def _written(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """All of them or none."""
    paths = tuple(folder / file for file in texts)
    for path in paths:
        if path.exists():
            raise UsageError(f"{path}: it is there already; choose another name, or remove it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: it cannot be written: {error.strerror}") from error
    return paths
