"""How a skill reaches a model: as a whole, listed and read through a tool, or not at all."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from harness.agents.prompting import skill_whole, skills_listed
from harness.agents.skill_text import MAIN, SkillText
from harness.domain.errors import UsageError
from harness.domain.model import Tool, ToolResult, ToolUse

Delivery = Literal["system", "tool", "none"]
"""``system``: the whole text. ``tool``: name and description, the rest through ``read_skill``."""

READ_SKILL = Tool(
    name="read_skill",
    description="Reads a skill: its instructions, or another file that they point to.",
    parameters={
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The skill's name."},
            "path": {
                "type": "string",
                "description": f"A file of the skill; {MAIN}, its instructions, when left out.",
            },
        },
        "required": ["name"],
    },
)


@dataclass(frozen=True, slots=True)
class DeliveredSkill:
    """What a model is given beside the question."""

    kind: Delivery
    """How."""
    skill: SkillText | None
    """What; ``None`` when there is no skill."""
    system: str
    """The system prompt; empty for none."""
    tools: tuple[Tool, ...]
    """What it may call."""

    def answer(self, use: ToolUse) -> tuple[ToolResult, str | None]:
        """What a call comes to, and which file of the skill it read."""
        if self.skill is None or use.name != READ_SKILL.name:
            return ToolResult(id=use.id, content=f"no such tool: {use.name}", failed=True), None
        asked = use.input.get("path") or MAIN
        name = use.input.get("name")
        if name != self.skill.name:
            return ToolResult(id=use.id, content=f"no such skill: {name}", failed=True), None
        texts = self.skill.texts
        path = PurePosixPath(str(asked)).as_posix()
        if path in texts:
            return ToolResult(id=use.id, content=texts[path]), path
        there = f"no such file: {asked}; the skill has {', '.join(texts)}"
        return ToolResult(id=use.id, content=there, failed=True), None


def deliver(skill: SkillText | None, kind: Delivery) -> DeliveredSkill:
    """What a model is given.

    Raises:
        UsageError: the skill has no description to be listed by.
    """
    if skill is None or kind == "none":
        return DeliveredSkill("none", None, "", ())
    if kind == "system":
        return DeliveredSkill(kind, skill, skill_whole(skill), ())
    if not skill.description:
        raise UsageError(
            f"the skill {skill.name} has no description in its frontmatter, so it cannot be "
            "offered through a tool: give it one, or use --delivery system"
        )
    return DeliveredSkill(kind, skill, skills_listed([skill]), (READ_SKILL,))
