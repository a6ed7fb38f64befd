"""The head of a SKILL.md: YAML between two lines of three hyphens."""

import re

import yaml

from harness.domain.skill import Frontmatter

_HEAD = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(?P<yaml>.*?)(?:^---[ \t]*\r?$\n?)", re.DOTALL | re.MULTILINE
)
_SHAPES = {
    str: "text", bool: "truth", int: "number", float: "number", list: "list", dict: "map",
    type(None): "nothing",
}  # fmt: skip
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
        values = yaml.safe_load(raw)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date has no month 13
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
        raw=raw,
    )


def without_frontmatter(text: str) -> str:
    """The same text with the lines of the head emptied, so that line numbers stay."""
    found = _HEAD.match(text)
    if found is None:
        return text
    return "\n" * found.group(0).count("\n") + text[found.end() :]


def _line_of(key: str, raw: str) -> int:
    for number, line in enumerate(raw.splitlines(), start=2):
        if re.match(rf"""["']?{re.escape(key)}["']?\s*:""", line):
            return number
    return 1


def _one_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"{problem} (line {mark.line + 2})" if mark is not None else str(problem)
