"""JSON as it comes: every value may be missing, of another type, or hostile."""

import json
import re
from decimal import Decimal

from pydantic import JsonValue

LONGEST_NUMBER = 300
"""Digits. No field of a transcript needs more, and Python refuses to read 4,301."""

_UNPRINTABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The text without what no program text can hold: NUL and halves of surrogate pairs."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNPRINTABLE.sub("�", text)


def fields(value: JsonValue) -> dict[str, JsonValue]:
    """The object's fields, or none."""
    return value if isinstance(value, dict) else {}


def items(value: JsonValue) -> list[JsonValue]:
    """The array's items, or none."""
    return value if isinstance(value, list) else []


def string(value: JsonValue) -> str:
    """The text, or an empty one."""
    return clean(value) if isinstance(value, str) else ""


def count(value: JsonValue) -> int:
    """A whole number that is not negative, or 0."""
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
    """One JSON value; ``None`` for what is none or is nested too deep."""
    try:
        value: JsonValue = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value


def arguments(given: JsonValue) -> JsonValue:
    """What a tool was given: the object that the string holds; the string itself when it is none."""
    value = parsed(clean(given)) if isinstance(given, str) else None
    return value if isinstance(value, dict) else given


def number(value: Decimal) -> float:
    """A number of a fixed size: what does not fit becomes an infinity."""
    return float(value)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < LONGEST_NUMBER else float("inf")


_DECODER = json.JSONDecoder(parse_int=_integer)
