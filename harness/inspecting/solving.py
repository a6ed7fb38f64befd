"""The solver: a model is given a skill as ``--delivery`` gives it, asked, and asked for a program."""

from pathlib import Path

from inspect_ai.model import ChatMessageSystem, ChatMessageUser
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolDef, ToolError, ToolParam, ToolParams

from harness.agents.delivery import READ_SKILL, DeliveredSkill, Delivery, deliver
from harness.agents.prompting import prompts_version, runnable_form
from harness.agents.skill_text import MAIN, load_skill_text
from harness.agents.turns import RUNNABLE_FORM_TURN
from harness.domain.model import ToolUse
from harness.inspecting.registering import registered

BROKEN_OFF = frozenset({"max_tokens", "model_length", "content_filter"})
"""Reasons to stop that leave no whole answer."""

NO_ANSWER = "no_answer"
"""Key of the metadata that says why there is none."""


@registered(solver)
def with_skill(
    skill: str | None = None, delivery: Delivery = "system", *, second_turn: bool = True
) -> Solver:
    """Asks with a skill: the sample's message first, then for the proposal in a form that runs.

    Args:
        skill: the folder of a skill; it is read now.
        delivery: ``system``, the whole text; ``tool``, name and description, the rest through
            ``read_skill``; ``none``.
        second_turn: whether the form that runs is asked for.
    """
    text = load_skill_text(Path(skill)) if skill is not None else None
    delivered = deliver(text, delivery)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        read: list[str] = []
        _equip(state, delivered, read)
        state = await generate(state)
        state.metadata |= _facts(delivered)
        if delivered.tools:
            state.metadata["skill_triggered"] = "yes" if MAIN in read else "no"
        if state.output.stop_reason in BROKEN_OFF:
            state.metadata[NO_ANSWER] = state.output.stop_reason
        elif second_turn and not state.completed:
            state = await _asked_again(state, generate)
            if state.metadata.get("skill_triggered") == "no" and MAIN in read:
                state.metadata["skill_triggered"] = "late"
        return state

    return solve


def _equip(state: TaskState, delivered: DeliveredSkill, read: list[str]) -> None:
    if delivered.system:
        state.messages.insert(0, ChatMessageSystem(content=delivered.system))
    if delivered.tools:
        state.tools.append(_read_skill(delivered, read).as_tool())


def _read_skill(delivered: DeliveredSkill, read: list[str]) -> ToolDef:
    """The tool, which notes the files that it was asked for. No part of a skill is cut off."""

    async def read_skill(name: str, path: str = MAIN) -> str:
        use = ToolUse(id="", name=READ_SKILL.name, input={"name": name, "path": path})
        result, file = delivered.answer(use)
        if result.failed:
            raise ToolError(result.content)
        if file is not None and file not in read:
            read.append(file)
        return result.content

    named = {
        "name": ToolParam(type="string", description="The skill's name."),
        "path": ToolParam(
            type="string",
            description=f"A file of the skill; {MAIN}, its instructions, when left out.",
            default=MAIN,
        ),
    }
    return ToolDef(
        read_skill,
        name=READ_SKILL.name,
        description=READ_SKILL.description,
        parameters=ToolParams(properties=named, required=["name"]),
        max_output=0,
    )


async def _asked_again(state: TaskState, generate: Generate) -> TaskState:
    """A second turn that is broken off leaves the first one alone."""
    before = list(state.messages)
    state.messages.append(ChatMessageUser(content=runnable_form()))
    output = state.output
    state = await generate(state)
    if state.output.stop_reason in BROKEN_OFF:
        state.metadata["runnable_form"] = state.output.stop_reason
        state.messages, state.output = before, output
        return state
    told = [message for message in before if message.role != "tool"]  # results go to their calls
    state.metadata |= {RUNNABLE_FORM_TURN: str(len(told)), "runnable_form": "given"}
    return state


def _facts(delivered: DeliveredSkill) -> dict[str, str]:
    """What a stored run says of an asked model as well."""
    facts = {"delivery": delivered.kind, "prompts": prompts_version()}
    if delivered.skill is not None:
        facts |= {"skill": delivered.skill.name, "skill_digest": delivered.skill.digest}
    return facts
