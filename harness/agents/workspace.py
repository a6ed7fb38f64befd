"""A fresh folder for an agent on the command line: the skill in it, and nothing that tells."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.agents.skill_text import SkillText
from harness.domain.file_edit import Write
from harness.transcripts.plain import notebook_program

_OURS = ("HARNESS", "PYTEST", "PYTHON", "VIRTUAL_ENV", "COVERAGE", "MAKE", "MFLAGS", "OLDPWD")
_LARGEST = {".py": 1 << 20, ".ipynb": 16 << 20}
_MOST_FILES = 50
_PROMPT = "prompt.md"


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where one question is answered."""

    folder: Path
    """The agent's working folder."""
    prompt: Path
    """The question, in a file."""
    aside: Path
    """A folder beside it, for what the harness keeps."""

    def environment(self) -> dict[str, str]:
        """The variables of this process without the harness's own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return {**kept, "PWD": str(self.folder)}

    def written(self) -> tuple[Write, ...]:
        """Python files and notebooks that the agent left there."""
        found = []
        for path in sorted(self.folder.rglob("*")):
            inside = path.relative_to(self.folder)
            largest = _LARGEST.get(path.suffix)
            hidden = any(part.startswith(".") for part in inside.parts)
            if largest is None or hidden or path.is_symlink() or not path.is_file():
                continue
            if path.stat().st_size <= largest:
                text = path.read_text(encoding="utf-8", errors="replace")
                found.append(Write(path=inside.as_posix(), content=_bare(path, text)))
        return tuple(found[:_MOST_FILES])


@contextmanager
def workspace(
    question: str, skills: Sequence[SkillText], *, with_prompt: bool
) -> Iterator[Workspace]:
    """A folder that is removed afterwards. ``with_prompt``: the question's file lies in it."""
    with tempfile.TemporaryDirectory(prefix="", ignore_cleanup_errors=True) as base:
        folder, aside = Path(base, "project"), Path(base, "aside")
        folder.mkdir()
        aside.mkdir()
        prompt = (folder if with_prompt else aside) / _PROMPT
        prompt.write_text(question, encoding="utf-8")
        for skill in skills:
            _install(skill, folder / ".claude" / "skills" / skill.name)
        yield Workspace(folder, prompt, aside)


def _bare(path: Path, text: str) -> str:
    """A notebook without its outputs: pictures that nobody looks at."""
    if path.suffix != ".ipynb" or (program := notebook_program(text)) is None:
        return text
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": program}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _install(skill: SkillText, folder: Path) -> None:
    for file in skill.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o755 if file.executable else 0o644)
