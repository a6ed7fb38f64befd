"""Reads YAML into plain values that remember the line of every key.

Scalars follow YAML 1.2: ``no`` and ``on`` are words, ``1e-3`` is a number, ``4:30`` is a text and
dates stay as written. A key that is given twice is a problem, not the last one that wins.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import JsonValue

from harness.domain.errors import reason
from harness.untrusted import yaml_node

YamlPath = tuple[str | int, ...]
"""Way from the root to a value: keys and positions."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something in the text that is not as it must be."""

    line: int
    """1-based line; 0 when no line can be named."""
    sentence: str
    """What and why."""

    def about(self, file: Path | str) -> str:
        """``file:line: sentence``."""
        place = f"{file}:{self.line}" if self.line else str(file)
        return f"{place}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class Tree:
    """A YAML document."""

    value: JsonValue
    """What it says; ``None`` when it could not be read."""
    lines: dict[YamlPath, int]
    """1-based line of the key (or list item) at each place."""
    complaints: tuple[Complaint, ...]
    """What was wrong with the text itself."""

    def line_of(self, place: YamlPath) -> int:
        """Line of the value at a place, or of the nearest thing around it."""
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return self.lines.get((), 1)


def read_yaml(text: str) -> Tree:
    """Read one document."""
    try:
        root = yaml_node(text, _Yaml12)
    except yaml.MarkedYAMLError as error:
        return Tree(None, {}, (_syntax(error),))
    except yaml.YAMLError as error:
        return Tree(None, {}, (Complaint(0, f"this is not YAML: {reason(error)}"),))
    if root is None:
        return Tree(None, {}, (Complaint(1, "the file is empty"),))
    reading = _Reading()
    value = reading.value_of(root, ())
    return Tree(value, reading.lines, tuple(reading.complaints))


class _Yaml12(yaml.CSafeLoader):
    """PyYAML's parser with the scalars of YAML 1.2."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own way of saying which words are not text


_PREFIX = "tag:yaml.org,2002:"
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
):
    _firsts = ["" if c == "\0" else c for c in _first]
    _Yaml12.add_implicit_resolver(_PREFIX + _tag, re.compile(rf"^(?:{_pattern})$"), _firsts)


_SCALARS: dict[str, Callable[[str], JsonValue]] = {
    "str": lambda text: text,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": lambda text: float(text.lower().replace(".inf", "inf").replace(".nan", "nan")),
}


@dataclass(slots=True)
class _Reading:
    """Walks a document once and collects what it finds."""

    lines: dict[YamlPath, int] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    ancestors: list[yaml.Node] = field(default_factory=list)

    def value_of(self, node: yaml.Node, place: YamlPath) -> JsonValue:
        self.lines.setdefault(place, _line(node))
        if any(node is ancestor for ancestor in self.ancestors):
            self._complain(node, "an alias refers to what it is part of")
            return None
        self.ancestors.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, place)
            if isinstance(node, yaml.SequenceNode):
                return [self._item(item, (*place, i)) for i, item in enumerate(node.value)]
            return self._scalar(node)
        finally:
            self.ancestors.pop()

    def _item(self, node: yaml.Node, place: YamlPath) -> JsonValue:
        self.lines[place] = _line(node)
        return self.value_of(node, place)

    def _mapping(self, node: yaml.MappingNode, place: YamlPath) -> JsonValue:
        found: dict[str, JsonValue] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._complain(key_node, "a key must be a plain word")
                continue
            key = str(key_node.value)
            if key in found:
                first = self.lines[*place, key]
                self._complain(key_node, f"the key {key} was already given on line {first}")
                continue
            self.lines[*place, key] = _line(key_node)
            found[key] = self.value_of(value_node, (*place, key))
        return found

    def _scalar(self, node: yaml.Node) -> JsonValue:
        kind = node.tag.removeprefix(_PREFIX)
        if kind not in _SCALARS:
            self._complain(node, f"the tag {node.tag} means nothing here")
            return None
        try:
            return _SCALARS[kind](str(node.value))
        except ValueError:
            self._complain(node, f"{str(node.value)[:40]!r} is no {kind}")
            return None

    def _complain(self, node: yaml.Node, sentence: str) -> None:
        self.complaints.append(Complaint(_line(node), sentence))


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _syntax(error: yaml.MarkedYAMLError) -> Complaint:
    mark = error.problem_mark or error.context_mark
    sentence = f"this is not YAML: {error.problem or error.context}"
    if error.context and error.problem and error.context_mark is not None:
        sentence += f" ({error.context} that begins on line {error.context_mark.line + 1})"
    return Complaint(mark.line + 1 if mark is not None else 0, sentence)
