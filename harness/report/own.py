"""What is said of a program that is judged by its own settings, beside its verdict."""

import re
from collections.abc import Iterator, Sequence

from harness.domain.own import OF_ITS_OWN, OwnSettings

MOST_NAMES = 40
"""How many lent names are told."""

ROLE = re.compile(r"^(?P<names>[\w., ]+): (?P<role>.+)$")


def settings_line(settings: OwnSettings) -> str:
    """``its settings: accumulates over 4 micro-batches, ...``."""
    return f"its settings: {settings.sentence}"


def lent_line(notes: Sequence[str]) -> str:
    """``lent to it: model, train_loader; calls train(model)``, or that nothing was; and which files of
    its own it had.
    """
    own = [note.removeprefix(OF_ITS_OWN) for note in notes if note.startswith(OF_ITS_OWN)]
    found = "; ".join(lent([note for note in notes if not note.startswith(OF_ITS_OWN)]))
    beside = f". Beside it: {', '.join(own)}" if own else ""
    return f"lent to it: {found or 'nothing'}{beside}"


def lent(notes: Sequence[str]) -> Iterator[str]:
    """Names with their roles first, then what else was mapped, replaced or shortened."""
    named = {note: found for note in notes if (found := ROLE.match(note))}
    if named:
        names = [_name(m["names"], m["role"]) for m in named.values()]
        more = len(names) - MOST_NAMES
        yield ", ".join([*names[:MOST_NAMES], *([f"and {more} more"] if more > 0 else [])])
    yield from (note for note in notes if note not in named)


def _name(name: str, role: str) -> str:
    return name if role.replace(" ", "_") == name else f"{name} ({role})"
