"""The words that the harness itself says to an agent. The scenario's own message is not among them."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound

from harness.agents.skill_text import SkillText

_FOLDER = files("harness.agents") / "prompts"


def runnable_form() -> str:
    """The second message: put what you propose into a form that runs."""
    return _render("runnable_form")


def skill_whole(skill: SkillText) -> str:
    """A system prompt that holds the whole skill."""
    return _render("skill_whole", skill=skill)


def skills_listed(skills: Sequence[SkillText]) -> str:
    """A system prompt that lists skills by name and description."""
    return _render("skill_listed", skills=skills)


@cache
def prompts_version() -> str:
    """Changes with any word of the templates: twelve hex digits of their SHA-256."""
    seen = hashlib.sha256()
    for file in sorted(_FOLDER.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".j2"):
            seen.update(file.read_bytes())
    return seen.hexdigest()[:12]


class _Templates(BaseLoader):
    def get_source(
        self,
        environment: Environment,  # noqa: ARG002 (as jinja2 asks a loader)
        template: str,
    ) -> tuple[str, None, None]:
        file = _FOLDER / f"{template}.md.j2"
        if not file.is_file():
            raise TemplateNotFound(template)
        return file.read_text("utf-8"), None, None


_ENVIRONMENT = Environment(
    loader=_Templates(), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def _render(template: str, **given: SkillText | Sequence[SkillText]) -> str:
    return _ENVIRONMENT.get_template(template).render(**given).strip()
