"""Answers with labels: what people say that each of them meets."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

from harness.domain.errors import UserError, reason
from harness.domain.scenario import Bank, Scenario
from harness.domain.transcript import Transcript
from harness.scenarios.problem import did_you_mean
from harness.scenarios.yaml_tree import Tree, read_yaml
from harness.transcripts import read
from harness.untrusted import read_bytes


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """One answer."""

    file: str
    """Its name in the file of labels."""
    scenario: Scenario
    """What it answers."""
    answer: str
    """Everything that was said."""
    met: dict[str, bool]
    """By the id of each labelled criterion, whether the answer meets it."""


def read_labels(path: Path, bank: Bank) -> tuple[LabelledAnswer, ...]:
    """The answers that a file of labels speaks of; they lie beside it.

    Raises:
        UserError: the file, a scenario, a criterion or an answer is not there or not readable.
    """
    try:
        tree = read_yaml(read_bytes(path).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as a file of labels: {reason(error)}") from None
    if tree.complaints:
        raise UserError(tree.complaints[0].about(path))
    return tuple(_labelled(path, bank, tree))


class _Label(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    met: bool


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    scenario: str
    criteria: dict[str, _Label]


_FILE: TypeAdapter[dict[str, _Entry]] = TypeAdapter(dict[str, _Entry])


def _labelled(path: Path, bank: Bank, tree: Tree) -> Iterator[LabelledAnswer]:
    known = {scenario.id: scenario for scenario in bank.scenarios}
    for file, entry in _entries(path, tree.value, tree).items():
        scenario = known.get(entry.scenario)
        if scenario is None:
            hint = did_you_mean(entry.scenario, known)
            line = tree.line_of((file, "scenario"))
            raise UserError(f"{path}:{line}: there is no scenario {entry.scenario}{hint}")
        ids = [criterion.id for criterion in scenario.rubric]
        for name in entry.criteria:
            if name not in ids:
                line = tree.line_of((file, "criteria", name))
                hint = did_you_mean(name, ids)
                raise UserError(f"{path}:{line}: {scenario.id} has no criterion {name}{hint}")
        met = {name: label.met for name, label in entry.criteria.items()}
        yield LabelledAnswer(file, scenario, _answer(path.parent / file), met)


def _entries(path: Path, value: JsonValue, tree: Tree) -> dict[str, _Entry]:
    try:
        return _FILE.validate_json(json.dumps(value), strict=True)
    except ValidationError as refusal:
        error = refusal.errors(include_url=False)[0]
        where = ".".join(str(step) for step in error["loc"])
        line = tree.line_of(error["loc"])
        expected = "expected FILE: {scenario: ID, criteria: {ID: {met: true or false}}}"
        raise UserError(f"{path}:{line}: {where or 'the file'}: {expected}") from None


def _answer(file: Path) -> str:
    for found in read(file):
        if isinstance(found, Transcript):
            return found.answer
        raise UserError(f"{file}: {found.sentence}; expected {found.expected}")
    raise UserError(f"{file}: it holds no answer")
