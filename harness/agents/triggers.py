"""Is a skill found? It is listed among others, and a prompt makes an agent open it or not."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import yaml

from harness.agents.agent import Agent, Unanswered
from harness.agents.command import CommandAgent
from harness.agents.conversing import ModelAgent
from harness.agents.delivery import READ_SKILL
from harness.agents.prompting import skills_listed
from harness.agents.remembering import RememberingModel
from harness.agents.silent import SilentModel
from harness.agents.skill_text import MAIN, TRIGGERS, SkillFile, SkillText, load_skill_text
from harness.domain.errors import UsageError, UserError, reason
from harness.domain.model import NoAnswer, Turn, Unavailable
from harness.domain.triggers import Opened, TriggerFile, TriggerPrompt
from harness.scenarios.complaints import complain
from harness.scenarios.yaml_tree import read_yaml
from harness.untrusted import read_bytes

_LARGEST = 1 << 20


def load_triggers(folder: Path) -> TriggerFile | None:
    """The prompts in the folder of a skill; ``None`` where it has none.

    Raises:
        UserError: all that is wrong with them, one line each with file and line.
    """
    path = folder / TRIGGERS
    if not path.is_file():
        return None
    try:
        tree = read_yaml(read_bytes(path, _LARGEST).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {reason(error)}") from error
    complaints = [*tree.complaints, *complain(TriggerFile, tree.value, tree)]
    if complaints:
        raise UserError("\n".join(f"{path}:{c.line}: {c.sentence}" for c in complaints))
    found = TriggerFile.model_validate_json(json.dumps(tree.value))
    ids = [one.id for one in (*found.should, *found.should_not)]
    if twice := next((one for one in ids if ids.count(one) > 1), None):
        raise UserError(f"{path}: the id {twice} is given twice; expected another for each prompt")
    return found


def neighbours(count: int) -> tuple[SkillText, ...]:
    """Skills of others that come with the harness, at most so many."""
    table = yaml.safe_load((files("harness.agents") / "neighbours.yaml").read_text("utf-8"))
    return tuple(_listed(one["name"], one["description"]) for one in table[:count])


def skills_in(folder: Path) -> tuple[SkillText, ...]:
    """The skills in a folder of skills.

    Raises:
        UsageError: there is none, or one cannot be read or has no description.
    """
    places = sorted(path.parent for path in folder.glob(f"*/{MAIN}"))
    if not places:
        raise UsageError(f"{folder}: no skill there; expected folders with a {MAIN} in each")
    found = tuple(map(load_skill_text, places))
    for skill, place in zip(found, places, strict=True):
        refuse_without_description(skill, place)
    return found


def refuse_without_description(skill: SkillText, place: Path) -> None:
    """There is nothing to find it by.

    Raises:
        UsageError: it is so.
    """
    if not skill.description:
        said = "there is no description in its frontmatter, which is all that it is found by"
        raise UsageError(f"{place / MAIN}: {said}")


@dataclass(frozen=True, slots=True)
class Finder:
    """Asks whether a prompt brings a skill up."""

    agent: Agent
    """Who is asked."""
    skill: SkillText
    """What is to be found."""
    others: tuple[SkillText, ...]
    """What it is listed among."""

    def opened(self, prompt: TriggerPrompt, trial: int) -> Opened:
        """Whether the skill is opened before anything is answered.

        Raises:
            Unanswered: no answer came.
            UsageError: the agent opens no skills.
        """
        if isinstance(self.agent, ModelAgent):
            return self._by_model(self.agent, prompt, trial)
        if isinstance(self.agent, CommandAgent):
            return replace(self.agent, beside=self.others).opens_skill(prompt, trial)
        raise UsageError(f"{self.agent.name} opens no skills: ask anthropic:MODEL or command:'...'")

    def keeps(self, prompt: TriggerPrompt, trial: int) -> bool:
        """Whether a model has answered it before, so that nothing would be asked."""
        if not isinstance(self.agent, ModelAgent):
            return False
        silent = replace(self.agent, model=SilentModel(self.agent.model.name))
        try:
            self._by_model(silent, prompt, trial)
        except Unanswered:
            return False
        return True

    @property
    def listing(self) -> str:
        """What a model is told, the skills by name."""
        return skills_listed(sorted((self.skill, *self.others), key=lambda skill: skill.name))

    def _by_model(self, agent: ModelAgent, prompt: TriggerPrompt, trial: int) -> Opened:
        model = agent.model
        if agent.cache is not None:
            model = RememberingModel(model, agent.cache, trial, (*agent.apart, "triggers"))
        asked = (Turn(role="user", text=prompt.prompt),)
        try:
            reply = model.complete(
                self.listing, asked, max_tokens=agent.max_tokens, tools=(READ_SKILL,)
            )
        except Unavailable as gone:
            if gone.kind == "truncated":  # it went on and on, and read nothing
                return "no"
            raise Unanswered(NoAnswer(kind=gone.kind, sentence=gone.sentence)) from gone
        named = [call.input.get("name") for call in reply.calls if call.name == READ_SKILL.name]
        return "yes" if self.skill.name in named else "no"


def digest_of(prompts: TriggerFile, others: Sequence[SkillText]) -> str:
    """Two descriptions are comparable where this is the same."""
    seen = hashlib.sha256(prompts.model_dump_json().encode())
    for skill in others:
        seen.update(skill.digest.encode())
    return seen.hexdigest()


def _listed(name: str, description: str) -> SkillText:
    front = yaml.safe_dump({"name": name, "description": description}, sort_keys=True)
    content = f"---\n{front}---\n\n# {name}\n\n{description}\n".encode()
    return SkillText(
        name=name, description=description, files=(SkillFile(path=MAIN, content=content),)
    )
