"""The head of a SKILL.md: YAML between two lines of three hyphens."""

import re
from collections.abc import Iterator

import yaml

from harness.domain.skill import Frontmatter, Repeated
from harness.untrusted import safe_yaml

_HEAD = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)(?:^---[ \t]*\r?$\n?)", re.DOTALL | re.MULTILINE
)
_SHAPES = {
    str: "text", bool: "truth", int: "number", float: "number", list: "list", dict: "map",
    type(None): "nothing",
}  # fmt: skip
_FIRST_LINE = 2  # the one below ---
_NO_HEAD = "there is no frontmatter: the first line has to be ---"
_NO_END = "the frontmatter has no end: a second line of --- is missing"


def read_frontmatter(text: str) -> Frontmatter:
    """What the head says; ``problem`` when there is none or it is no YAML."""
    found = _HEAD.match(text)
    if found is None:
        begun = re.match(r"\ufeff?---[ \t]*\r?$", text, re.MULTILINE)
        return Frontmatter(problem=_NO_END if begun else _NO_HEAD)
    raw = found["yaml"]
    try:
        values = safe_yaml(raw)
    except yaml.YAMLError as error:
        return Frontmatter(raw=raw, problem=f"the frontmatter is no YAML: {_one_line(error)}")
    if not isinstance(values, dict):
        return Frontmatter(raw=raw, problem="the frontmatter holds no keys")
    named = {str(key): value for key, value in values.items()}
    return Frontmatter(
        keys=tuple(named),
        texts={k: v for k, v in named.items() if isinstance(v, str)},
        shapes={k: _SHAPES.get(type(v), "something else") for k, v in named.items()},
        lines={key: _line_of(key, raw) for key in named},
        map_of_texts={
            k: all(isinstance(x, str) for pair in v.items() for x in pair)
            for k, v in named.items()
            if isinstance(v, dict)
        },
        repeated=tuple(_repeated(raw)),
        raw=raw,
    )


def without_frontmatter(text: str) -> str:
    """The same text with the lines of the head emptied, so that line numbers stay."""
    found = _HEAD.match(text)
    if found is None:
        return text
    return "\n" * found.group(0).count("\n") + text[found.end() :]


def _repeated(raw: str) -> list[Repeated]:
    """PyYAML takes the last value and says nothing."""
    found: list[Repeated] = []
    left, seen = [yaml.compose(raw, Loader=yaml.SafeLoader)], set[int]()
    while left:
        node = left.pop()
        if not isinstance(node, yaml.MappingNode) or id(node) in seen:
            continue
        seen.add(id(node))  # an alias stands for a map that was looked at, or for one around it
        found += _repeated_in(node)
        left += [value for _, value in node.value]
    return sorted(found, key=lambda again: again.line)


def _repeated_in(node: yaml.MappingNode) -> Iterator[Repeated]:
    first: dict[str, int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            line = key.start_mark.line + _FIRST_LINE
            if key.value in first:
                yield Repeated(key=key.value, line=line, first=first[key.value])
            first.setdefault(key.value, line)


def _line_of(key: str, raw: str) -> int:
    for number, line in enumerate(raw.splitlines(), start=_FIRST_LINE):
        if re.match(rf"""["']?{re.escape(key)}["']?\s*:""", line):
            return number
    return 1


def _one_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 2})" if mark is not None else str(problem)
