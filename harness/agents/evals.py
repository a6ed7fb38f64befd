"""``evals.json`` of skill-creator: questions with expectations, as scenarios that can be asked."""

import os
from collections import Counter
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from harness.domain.errors import UsageError, in_words, reason
from harness.domain.own import OWN_SCENARIO, asked_as
from harness.domain.scenario import Bank, Criterion, Scenario
from harness.markdown import fence
from harness.untrusted import read_bytes

_LARGEST = 1 << 20


class _Eval(BaseModel):
    id: int | str
    prompt: str
    name: str = ""
    eval_name: str = ""
    expected_output: str = ""
    files: list[str] = []
    expectations: list[str] = []
    assertions: list[str] = []


class _Evals(BaseModel):
    evals: list[_Eval] = Field(min_length=1)


def read_evals(path: Path, bank: Bank) -> Bank:
    """Its questions: the bank's own scenario where an eval bears its name or asks its question, else
    one whose program is judged by its own settings and whose expectations are a rubric.

    Raises:
        UsageError: it cannot be read, or a file that an eval names cannot.
    """
    try:
        found = _Evals.model_validate_json(read_bytes(path, _LARGEST))
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}; expected evals.json") from error
    except ValidationError as error:
        first = error.errors()[0]
        said = ": ".join(filter(None, (".".join(map(str, first["loc"])), in_words(first["msg"]))))
        raise UsageError(f"{path}: {said}; expected evals.json of skill-creator") from error
    known = {one.id: one for one in bank.scenarios}
    known |= {_words(one.prompt): one for one in bank.scenarios}
    asked = tuple(_scenario(one, known, path) for one in found.evals)
    for name, times in Counter(map(asked_as, asked)).items():
        if times > 1:
            raise UsageError(
                f"{path}: {times} evals are {name!r}; expected each question once, by its own id"
            )
    return bank.model_copy(update={"scenarios": asked})


def _scenario(one: _Eval, known: dict[str, Scenario], path: Path) -> Scenario:
    for key in (one.name, one.eval_name, _words(one.prompt)):
        if key in known:
            return known[key]
    shown = [_shown(name, path) for name in one.files]
    rubric = tuple(
        Criterion(id=f"expectation-{number}", polarity="must", by="text", asks=text)
        for number, text in enumerate(one.expectations or one.assertions, start=1)
    )
    return OWN_SCENARIO.model_copy(
        update={
            "title": f"eval {one.name or one.eval_name or one.id}",
            "prompt": "\n\n".join([one.prompt, *shown]),
            "rubric": rubric,
        }
    )


def _words(text: str) -> str:
    return " ".join(text.split())


def _shown(name: str, path: Path) -> str:
    """A file of the skill, put into the question: not every agent has hands."""
    root = path.resolve().parent
    root = root.parent if root.name == "evals" else root
    try:
        file = Path(os.path.realpath(root / name))
        if not file.is_relative_to(root):
            raise UsageError(f"{path}: {name} is not in the folder of the skill")
        text = read_bytes(file, _LARGEST).decode("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {name}: {reason(error)}; expected a text file") from error
    return f"{name}:\n\n{fence(text, file.suffix.removeprefix('.'))}"
