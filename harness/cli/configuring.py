"""``[tool.harness]`` in the ``pyproject.toml`` of the working directory, and ``--allow``."""

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from harness.domain.errors import UsageError, in_words, reason
from harness.domain.record import Record
from harness.untrusted import read_bytes

PAGE = "pyproject.toml"

LARGEST, DEEPEST = 1 << 18, 1000
"""Bytes of it, and dots of one key, for each part of which the parser keeps all parts before it."""

MEANT = "allowed on the command line"
"""The reason of somebody who gives none."""


class Configuration(Record):
    """What a project says once, instead of on every command line."""

    allow: dict[str, str] = Field(default_factory=dict)
    """Properties that may fail on purpose, by id, each with the reason."""
    jobs: int | None = Field(default=None, ge=1)
    """Executions at the same time."""
    bank: Path | None = None
    """Another bank: a folder of ``ID/scenario.yaml``."""
    skill: Path | None = None
    """The skill that ``check`` reads where none is named, and that an asked agent is given."""


def configuration() -> Configuration:
    """What ``[tool.harness]`` says here; nothing where there is no such table.

    Raises:
        UsageError: the file cannot be read, or says what nobody understands.
    """
    return _read(Path.cwd() / PAGE)


@functools.cache
def _read(page: Path) -> Configuration:
    try:
        text = read_bytes(page, LARGEST).decode()
        if any(part.count(".") > DEEPEST for part in re.split("[=\n]", text)):
            raise UsageError(f"{PAGE}: cannot be read: a key has more than {DEEPEST} parts")
        table = tomllib.loads(text).get("tool", {}).get("harness", {})
    except FileNotFoundError:
        return Configuration()
    except RecursionError:
        raise UsageError(f"{PAGE}: cannot be read: it is nested too deeply") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{PAGE}: cannot be read: {reason(error)}") from error
    _known_keys(table)
    _known_ids(table.get("allow", {}), f"{PAGE}: [tool.harness.allow]")
    try:
        found = Configuration.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{PAGE}: [tool.harness] {place}: {in_words(first['msg'])}") from error
    below = {
        name: page.parent / path for name in ("bank", "skill") if (path := getattr(found, name))
    }
    return found.model_copy(update=below)


def allowed(options: Iterable[str] | None) -> dict[str, str]:
    """What may fail on purpose, with the reasons: by the project, then by ``ID`` or ``ID=REASON``.

    Raises:
        UsageError: there is no such property.
    """
    given: dict[str, str] = {}
    for option in options or ():
        name, _, why = option.partition("=")
        given[name.strip()] = why.strip() or MEANT
    _known_ids(given, "--allow")
    return configuration().allow | given


def _known_keys(table: object) -> None:
    from harness.scenarios.problem import did_you_mean

    if not isinstance(table, Mapping):
        raise UsageError(f"{PAGE}: [tool.harness] is no table")
    keys = tuple(Configuration.model_fields)
    for key in table:
        if key not in keys:
            hint = did_you_mean(key, keys)
            raise UsageError(f"{PAGE}: [tool.harness] has no key {key}{hint}")


def _known_ids(names: object, where: str) -> None:
    if names == {}:  # the properties take a tenth of a second to import
        return
    from harness.properties import PROPERTIES
    from harness.scenarios.problem import did_you_mean

    if not isinstance(names, Mapping):
        raise UsageError(f"{where}: expected a table of ids, each with its reason")
    for name in names:
        if name not in PROPERTIES:
            hint = did_you_mean(name, PROPERTIES) or "; docs/properties.md lists them"
            raise UsageError(f"{where}: there is no property {name}{hint}")
