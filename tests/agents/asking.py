"""A model that is asked about a scenario, and two answers that it may give."""

from harness.agents.naming import AskingOptions, agent_named
from harness.agents.skill_text import SkillFile, SkillText
from harness.llm import ClientLimits
from tests.fakes.messages_server import says

SPEC = "anthropic:claude-haiku-4-5"
QUICK = ClientLimits(attempts=2, first_pause=0.001)
SKILL = SkillText(
    name="clip-well",
    description="How to clip.",
    files=(
        SkillFile(path="SKILL.md", content=b"---\nname: clip-well\n---\nClip once."),
        SkillFile(path="references/amp.md", content=b"Unscale first."),
    ),
)
NATURAL = says("Clip before the step:\n\n```python\nfor x, y in loader:\n    step(x, y)\n```")
RUNNABLE = says("```python\nfor x, y in train_loader:\n    optimizer.step()\n```")


def asked(scenario, trial=1, **how):
    with agent_named(SPEC, AskingOptions(limits=QUICK, **how)) as agent:
        return agent.ask(scenario, trial)


def facts(transcript):
    return {fact.key: fact.value for fact in transcript.facts}
