"""Turns what pydantic refuses into sentences about lines of a YAML file."""

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, get_args, get_origin

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from harness.domain.record import meaning_of
from harness.scenarios.problem import did_you_mean
from harness.scenarios.yaml_tree import Complaint, Tree, YamlPath

_WANTED = {
    "string_type": "text",
    "string_too_short": "a text that is not empty",
    "string_pattern_mismatch": "lower-case words joined by hyphens",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "keys with values",
    "model_type": "keys with values",
}


def refusals(schema: type[BaseModel], value: JsonValue) -> tuple[ErrorDetails, ...]:
    """All that the schema refuses, read strictly: ``batches: "14"`` is a slip, not a number."""
    try:
        schema.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as refusal:
        return tuple(refusal.errors(include_url=False))
    return ()


def complain(
    schema: type[BaseModel], value: JsonValue, tree: Tree, at: YamlPath = ()
) -> tuple[Complaint, ...]:
    """The same as sentences; ``at`` is where the value stands in the file."""
    errors = _telling(refusals(schema, value))
    strange = [error["loc"] for error in errors if error["type"] == "extra_forbidden"]
    return tuple(
        Complaint(tree.line_of((*at, *error["loc"])), _sentence(schema, error, at))
        for error in errors
        if error["type"] != "missing" or not is_misspelt(error["loc"], strange)
    )


def _telling(errors: tuple[ErrorDetails, ...]) -> list[ErrorDetails]:
    """Without lists that are only too short because their entries were refused."""
    deeper = {error["loc"][:i] for error in errors for i in range(len(error["loc"]))}
    return [e for e in errors if e["type"] != "too_short" or e["loc"] not in deeper]


def is_misspelt(missing: YamlPath, strange: Iterable[YamlPath]) -> bool:
    """Whether a key is missing because it was misspelt: one complaint is enough for that."""
    beside = [str(place[-1]) for place in strange if place[:-1] == missing[:-1]]
    return bool(difflib.get_close_matches(str(missing[-1]), beside, n=1))


def _sentence(schema: type[BaseModel], error: ErrorDetails, at: YamlPath) -> str:
    place: YamlPath = error["loc"]
    name = str(place[-1]) if place else "the file"
    where = f" in {_dotted((*at, *place[:-1]))}" if len(at) + len(place) > 1 else ""
    match error["type"]:
        case "extra_forbidden":
            allowed = _keys_at(schema, place[:-1])
            return f"{name} is not a key{where}{did_you_mean(name, allowed)}"
        case "missing":
            return f"the key {name} is missing{where}: {_meaning(schema, place)}"
        case "unknown_name":
            return f"{error['msg']} ({_dotted((*at, *place))})"
        case "literal_error":
            return _not_a_choice(error, f"{_dotted((*at, *place))}")
        case "too_short":
            return f"{_dotted((*at, *place))} is empty; expected at least one entry"
        case kind:
            wanted = _WANTED.get(kind) or error["msg"].removeprefix("Input should be ")
            found = json.dumps(error["input"], ensure_ascii=False, default=str)
            return f"{_dotted((*at, *place)) or name}: expected {wanted}, found {_short(found)}"


def _not_a_choice(error: ErrorDetails, where: str) -> str:
    expected = str(error.get("ctx", {}).get("expected", ""))
    choices = [c.strip("'") for c in expected.replace(" or ", ", ").split(", ")]
    found = json.dumps(error["input"], ensure_ascii=False)
    hint = did_you_mean(str(error["input"]), choices)
    said = f"{where}: expected {expected}, found {_short(found)}"
    return f"{said}{hint}" if hint.endswith("?") else said


def _keys_at(schema: type[BaseModel], place: YamlPath) -> tuple[str, ...]:
    record = _record_at(schema, place)
    return tuple(record.model_fields) if record else ()


def _meaning(schema: type[BaseModel], place: YamlPath) -> str:
    record = _record_at(schema, place[:-1])
    meaning = meaning_of(record, str(place[-1])) if record else None
    return meaning or "it has to be given"


def _record_at(schema: type[BaseModel], place: YamlPath) -> type[BaseModel] | None:
    """The schema that holds at a place."""
    current: object = schema
    for step in place:
        if isinstance(current, type) and issubclass(current, BaseModel):
            field = current.model_fields.get(str(step))
            current = field.annotation if field else None
        else:
            current = _element(current)
        current = next(_records_in(current), current)
    return current if isinstance(current, type) and issubclass(current, BaseModel) else None


def _element(annotation: object) -> object:
    """``X`` of ``tuple[X, ...]`` and of ``dict[str, X]``."""
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return arguments[1]
    return arguments[0] if arguments else None


def _records_in(annotation: object) -> Iterator[object]:
    """What ``X | None`` and ``Annotated[X, ...]`` stand for."""
    if get_origin(annotation) in (tuple, dict) or not get_args(annotation):
        yield annotation
    elif get_origin(annotation) is Annotated:
        yield from _records_in(get_args(annotation)[0])
    else:
        for part in get_args(annotation):
            if part is not type(None):
                yield from _records_in(part)


def _dotted(place: YamlPath) -> str:
    text = ""
    for step in place:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
