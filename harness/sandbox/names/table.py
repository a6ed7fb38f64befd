"""The table of names: which name stands for what. The data is ``names.yaml``."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import yaml

NameSection = Mapping[str, list[str]]
"""Roles, each with its names."""


@dataclass(frozen=True, slots=True)
class NameEntry:
    """What one name stands for."""

    kind: str
    """``objects``, ``parts`` of a batch, or ``numbers``."""
    role: str
    """``loader``, ``target``, ``max norm``."""


class Table:
    """Looks names up by their words."""

    def __init__(self, sections: Mapping[str, NameSection]) -> None:
        """``sections``: kind, role, names. The first entry that fits a name decides."""
        self._exact: dict[str, list[NameEntry]] = {}
        self._open: list[tuple[re.Pattern[str], NameEntry]] = []
        self._found: dict[tuple[str, tuple[str, ...]], NameEntry | None] = {}
        for kind, roles in sections.items():
            for role, names in roles.items():
                for name in names:
                    self._add(name, NameEntry(kind, role))

    def _add(self, name: str, entry: NameEntry) -> None:
        if "*" not in name:
            self._exact.setdefault(" ".join(words(name)), []).append(entry)
            return
        pattern = re.escape(name).replace(r"\*", r"\w+( \w+)*").replace(r"\ ", " ")
        self._open.append((re.compile(pattern), entry))

    def find(self, name: str, *kinds: str) -> NameEntry | None:
        """What ``name`` stands for, among these kinds; all kinds where none is given."""
        if (name, kinds) not in self._found:
            self._found[name, kinds] = self._look_up(" ".join(words(name)), kinds)
        return self._found[name, kinds]

    def _look_up(self, spelt: str, kinds: Sequence[str]) -> NameEntry | None:
        for entry in self._exact.get(spelt, ()):
            if not kinds or entry.kind in kinds:
                return entry
        for pattern, entry in self._open:
            if (not kinds or entry.kind in kinds) and pattern.fullmatch(spelt):
                return entry
        return None

    def role(self, name: str, *kinds: str) -> str | None:
        """The role alone."""
        found = self.find(name, *kinds)
        return None if found is None else found.role

    def part(self, name: str) -> str | None:
        """Which part of a batch, or of what is computed from one, a name means."""
        return self.role(name, "parts")


@cache
def words(name: str) -> tuple[str, ...]:
    """``self.trainLoader2`` is ``("train", "loader")``."""
    last = name.rpartition(".")[2]
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+|\s+", " ", last)
    found = [re.sub(r"\d+$", "", word).lower() or word for word in spaced.split()]
    kept = [word for word in found if not word.isdigit()]
    return tuple(kept) or (last.lower(),)


def sections() -> Mapping[str, NameSection]:
    """The table as data."""
    text = resources.files(__package__).joinpath("names.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, list[str]]] = yaml.safe_load(text)
    return {kind: found[kind] for kind in ("objects", "parts", "numbers")}


@cache
def libraries() -> Mapping[str, str]:
    """What posted code calls libraries: dotted paths by name."""
    text = resources.files(__package__).joinpath("names.yaml").read_text(encoding="utf-8")
    found: dict[str, str] = yaml.safe_load(text)["libraries"]
    return found


@cache
def table() -> Table:
    """The one table, without what scenarios add."""
    return Table(sections())
