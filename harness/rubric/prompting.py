"""What a judging model is asked, and what its reply has to look like."""

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import Field, TypeAdapter, ValidationError

from harness.domain.record import Record
from harness.domain.scenario import Criterion, Scenario

GROUP = 4
"""Criteria in one question: order and company sway a judge, so both change from vote to vote."""
_MOST = 120_000  # characters of an answer that fit a question


class FoundCriterion(Record):
    """What a model says about one criterion."""

    id: str
    """The criterion."""
    found: bool
    """Whether the answer does what it describes."""
    quote: str | None = None
    """Where, word for word."""


class Reply(Record):
    """All that it says about a group."""

    assessments: tuple[FoundCriterion, ...] = Field(max_length=100)
    """One a criterion."""


def groups(answer: str, criteria: Sequence[Criterion], vote: int) -> Iterator[list[Criterion]]:
    """Small groups in an order that depends on the answer and the vote, and on nothing else."""
    seed = hashlib.sha256(f"{vote}\0{answer}".encode()).digest()
    shuffled = list(criteria)
    random.Random(seed).shuffle(shuffled)
    for start in range(0, len(shuffled), GROUP):
        yield shuffled[start : start + GROUP]


def system() -> str:
    """How to judge."""
    return _templates().get_template("system.j2").render()


def question(answer: str, scenario: Scenario, criteria: Sequence[Criterion]) -> str:
    """The question about one group. The answer stands between marks that it cannot foresee."""
    mark = hashlib.sha256(f"{scenario.prompt}\0{answer}".encode()).hexdigest()[:16]
    template = _templates().get_template("question.j2")
    return template.render(
        mark=mark, question=scenario.prompt, answer=answer[:_MOST], items=criteria
    )


def again(complaint: str, ids: Sequence[str]) -> str:
    """The second and last question about what could not be used."""
    return _templates().get_template("again.j2").render(complaint=complaint, ids=ids)


def read_reply(text: str) -> Reply | str:
    """The reply, or one sentence that says why it is none. Words around the object are let pass."""
    begin, end = text.find("{"), text.rfind("}")
    if begin < 0 or end < begin:
        return "The reply holds no JSON object."
    try:
        value = json.loads(text[begin : end + 1])
        return _REPLY.validate_python(value)
    except (json.JSONDecodeError, RecursionError):
        return "The reply is not valid JSON."
    except ValidationError as refusal:
        error = refusal.errors(include_url=False)[0]
        where = ".".join(str(step) for step in error["loc"])
        return f"The reply is not as described ({where}: {error['msg']})."


def occurs(quote: str, answer: str) -> bool:
    """Whether a quote stands in the answer, white space apart."""
    wanted = "".join(quote.split())
    return bool(wanted) and wanted in "".join(answer.split())


_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)
_FOLDER = Path(__file__).parent / "prompts"


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FOLDER), undefined=StrictUndefined, autoescape=False
    )
