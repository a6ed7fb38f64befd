"""JSON as it comes: every value may be missing, of another type, or hostile."""

import json
import re
from decimal import Decimal

from pydantic import JsonValue

LONGEST_NUMBER = 300
"""Digits of the longest number that is read. Python refuses to read 4,301."""

_UNPRINTABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without what no program text can hold: NUL and halves of surrogate pairs."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNPRINTABLE.sub("�", text)


def fields(value: JsonValue) -> dict[str, JsonValue]:
    """The fields of an object; empty for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: JsonValue) -> list[JsonValue]:
    """The items of an array; empty for any other value."""
    return value if isinstance(value, list) else []


def string(value: JsonValue) -> str:
    """A text; the empty text for any other value."""
    return clean(value) if isinstance(value, str) else ""


def count(value: JsonValue) -> int:
    """A whole number from 0 on; 0 for any other value."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), 2**63)


def first(record: dict[str, JsonValue], *keys: str) -> str:
    """The first of these fields that holds a text."""
    return next((string(record[k]) for k in keys if isinstance(record.get(k), str)), "")


def scalar(value: JsonValue) -> str:
    """A text or number as text; empty for everything else."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(value)


def as_text(value: JsonValue) -> str:
    """A text as it is, everything else as JSON."""
    if isinstance(value, str):
        return clean(value)
    if value is None:
        return ""
    try:
        return clean(json.dumps(value, ensure_ascii=False))
    except (RecursionError, ValueError, TypeError):
        return ""


def parsed(text: str) -> JsonValue:
    """The JSON value of a text; ``None`` where it is no JSON or is nested too deep."""
    try:
        value: JsonValue = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value


def arguments(given: JsonValue) -> JsonValue:
    """The arguments of a tool call: the object that a JSON string holds, or the value itself where it
    is no such string.
    """
    value = parsed(clean(given)) if isinstance(given, str) else None
    return value if isinstance(value, dict) else given


def number(value: Decimal) -> float:
    """A number of a fixed size: what does not fit becomes an infinity."""
    return float(value)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < LONGEST_NUMBER else float("inf")


_DECODER = json.JSONDecoder(parse_int=_integer)
