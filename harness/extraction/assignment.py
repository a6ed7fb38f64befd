"""Which scenario an answer belongs to: as it is told, as the file says, or by its question."""

import csv
import io
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from pydantic import Field, JsonValue

from harness.domain.errors import UsageError
from harness.domain.record import Record
from harness.domain.scenario import Bank
from harness.domain.transcript import Transcript
from harness.extraction.likeness import most_like
from harness.scenarios.selection import find
from harness.scenarios.yaml_tree import read_yaml

if TYPE_CHECKING:
    from _csv import Reader

SURE = 0.6
"""Least confidence for an assignment; below it the second scenario is nearly as close."""

LONGEST_ID = 200
"""Characters of an id in a map that are looked at, and told."""


class Choice(Record):
    """What the user says about which scenario answers belong to."""

    scenario: str | None = None
    """The scenario of every answer."""
    by_file: dict[str, str] = Field(default_factory=dict)
    """The scenario of each file, by its path or its name."""
    options: str = "--scenario or --map"
    """The command's options for saying so."""

    def mapped(self, file: str) -> str | None:
        """The scenario that the map has for a file: by its path, its name, or that without suffix."""
        path = PurePath(file)
        names = (str(path), path.name, path.stem)
        return next((self.by_file[name] for name in names if name in self.by_file), None)


class Assigned(Record):
    """The scenario of an answer."""

    scenario: str
    """Its id."""
    how: str
    """How it was recognised, in words; empty when the user named it."""


class Unassigned(Record):
    """No scenario was found, so the answer cannot be judged."""

    sentence: str
    """Why, and what to do."""


def assign(transcript: Transcript, bank: Bank, choice: Choice) -> Assigned | Unassigned:
    """The scenario of an answer: named by the user, named in the file, or asked by the question."""
    told = _told(transcript, choice)
    if told is not None:
        return _known(told, bank, how="")
    if transcript.scenario is not None:
        return _known(transcript.scenario, bank, how="named in the file")
    return _matched(transcript, bank, f"name one with {choice.options}")


def named(transcript: Transcript, choice: Choice) -> bool:
    """Whether the user or the file says which scenario it answers."""
    return _told(transcript, choice) is not None or transcript.scenario is not None


def _told(transcript: Transcript, choice: Choice) -> str | None:
    if choice.scenario is not None or transcript.origin is None:
        return choice.scenario
    return choice.mapped(transcript.origin.file)


def read_map(text: str, name: str) -> dict[str, str]:
    """The pairs of a map: YAML (``file: scenario``, or a list of both) or CSV (file, scenario).

    Raises:
        UsageError: it is neither, or gives a file two scenarios or none.
    """
    rows = (
        _csv_rows(text, name) if name.lower().endswith((".csv", ".tsv")) else _yaml_rows(text, name)
    )
    pairs: dict[str, str] = {}
    for line, file, scenario in rows:
        if not file:
            raise UsageError(f"{name}:{line}: names no file; expected a file and a scenario")
        if not scenario:
            raise UsageError(f"{name}:{line}: {file} has no scenario; expected the id of one")
        known = pairs.setdefault(file, scenario)
        if known != scenario:
            raise UsageError(
                f"{name}:{line}: {file} is given to {known} above; expected one scenario"
            )
    if not pairs:
        raise UsageError(f"{name}: expected a file and a scenario on each line (YAML or CSV)")
    return pairs


def _known(name: str, bank: Bank, how: str) -> Assigned | Unassigned:
    try:
        return Assigned(scenario=find(bank, name).id, how=how)
    except UsageError as error:
        return Unassigned(sentence=str(error))


_NO_QUESTION = "it does not hold the question that was asked"


def _matched(transcript: Transcript, bank: Bank, wanted: str) -> Assigned | Unassigned:
    """By the question alone. What an answer is like tells its topic, and never what was asked for."""
    asked = transcript.prompt
    found = most_like(asked, bank) if asked.strip() else None
    if found is None:
        why = "its question is like none of the bank" if asked.strip() else _NO_QUESTION
        return Unassigned(sentence=f"{why}; {wanted}")
    if found.confidence >= SURE:
        words = ", ".join(found.shared)
        how = f"matched by the question, confidence {found.confidence:.2f} ({words})"
        return Assigned(scenario=found.scenario, how=how)
    close = f"{found.scenario} and {found.runner_up} (confidence {found.confidence:.2f})"
    return Unassigned(sentence=f"it could belong to {close}; {wanted}")


_Row = tuple[int, str, str]
"""Line, file, scenario; empty where it is missing or no text."""


def _csv_rows(text: str, name: str) -> Iterator[_Row]:
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    for row in _rows(reader, name):
        file, scenario, *_ = (*(cell.strip() for cell in row), "", "")
        if (file or scenario) and file != "file":
            yield reader.line_num, file, scenario


def _rows(reader: "Reader", name: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise UsageError(f"{name}:{reader.line_num}: this is no CSV: {error}") from error


def _yaml_rows(text: str, name: str) -> Iterator[_Row]:
    tree = read_yaml(text)
    if tree.complaints:
        raise UsageError(tree.complaints[0].about(name))
    entries: list[tuple[int | str, JsonValue, JsonValue]] = []
    if isinstance(tree.value, list):
        files = [e.get("file") if isinstance(e, dict) else None for e in tree.value]
        entries = list(zip(range(len(files)), files, tree.value, strict=True))
    elif isinstance(tree.value, dict):
        entries = [(file, file, entry) for file, entry in tree.value.items()]
    for place, file, entry in entries:
        scenario = entry.get("scenario") if isinstance(entry, dict) else entry
        named = scenario.strip()[:LONGEST_ID] if isinstance(scenario, str) else ""
        yield tree.line_of((place,)), "" if file is None else str(file), named
