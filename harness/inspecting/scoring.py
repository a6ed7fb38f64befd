"""The scorer: the program of an answer is executed, measured and judged."""

from functools import cache, partial
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Scorer,
    Target,
    accuracy,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from harness.domain.answer import AnswerGrade
from harness.domain.transcript import Transcript, Unreadable
from harness.inspecting.registering import registered
from harness.inspecting.solving import NO_ANSWER
from harness.interface import Grader
from harness.markdown import fence
from harness.transcripts.inspect_log import transcript_of_sample


@registered(partial(scorer, [accuracy(), stderr()]))
def code_right(
    scenario: str | None = None, bank: str | None = None, grader: Grader | None = None
) -> Scorer:
    """Whether the program that an answer proposes is right: correct or incorrect; inconclusive is
    no score, and no code is incorrect.

    It needs nothing of a task but its messages. The explanation holds the reasons; the metadata the
    code (``right``, ``wrong``, ``inconclusive``, ``none``), the verdict of each property by its id,
    and the program.

    Args:
        scenario: id of the scenario that all samples answer. Without it the sample's metadata
            ``scenario`` counts; without that an answer is judged by the scenario that it is clearly
            like, else by its own settings.
        bank: a folder of scenarios instead of the harness's own.
        grader: one that is open already.
    """
    folder = None if bank is None else str(Path(bank).resolve())

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 (execution is)
        if NO_ANSWER in state.metadata:
            why = str(state.metadata[NO_ANSWER])
            return Score.unscored(reason=why, explanation=f"no answer: {why}")
        said = transcript_of_sample(_sample(state))
        if isinstance(said, Unreadable):
            return Score.unscored(reason="no_response", explanation=said.sentence)
        judge = grader or _grader(folder)
        return _score(await run_sync(partial(_grade, judge, said, scenario)))

    return score


@cache
def _grader(folder: str | None) -> Grader:
    """One for each bank, which stays warm until the process ends."""
    return Grader(bank=Path(folder) if folder is not None else None)


def _grade(grader: Grader, said: Transcript, scenario: str | None) -> AnswerGrade:
    return grader.grade(said, scenario)


def _sample(state: TaskState) -> dict[str, Any]:
    """As it will stand in the log."""
    return {
        "id": state.sample_id,
        "epoch": state.epoch,
        "messages": [message.model_dump(mode="json") for message in state.messages],
        "metadata": state.metadata,
    }


def _score(grade: AnswerGrade) -> Score:
    told: dict[str, Any] = {
        "answer": None if grade.program is None else fence(grade.program, "python"),
        "explanation": "\n".join(grade.reasons),
        "metadata": {
            "code": grade.code,
            "scenario": grade.scenario,
            "properties": {v.property: v.outcome for v in grade.verdicts},
            "criteria": {name: one.state for name, one in grade.criteria.items()},
            "notes": list(grade.notes),
        },
    }
    if grade.code == "inconclusive":
        return Score.unscored(reason="inconclusive", **told)
    if grade.code == "none":
        return Score(value=INCORRECT, reason="no_code", **told)
    return Score(value=CORRECT if grade.code == "right" else INCORRECT, **told)
