"""Statements that an answer says are to be deleted: "delete the `for group in ...` loop"."""

import ast
import functools
import re
from collections.abc import Iterator

from harness.extraction.anchors import UPDATE, anchors
from harness.extraction.parsing import parsed, parses
from harness.syntax import walk

FENCED = re.compile(r"^\s*```.*?^\s*```", re.DOTALL | re.MULTILINE)
"""A block of code among the sentences."""
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n\s*\n")
_DELETE = re.compile(
    r"\b(?:delet(?:e|es|ing)|remov(?:e|es|ing)|drop|throw (?:\w+ ){0,3}?(?:out|away)"
    r"|take out|get rid of)\b",
    re.IGNORECASE,
)
_KEEPS = re.compile(r"\b(?:don'?t|do not|never|no need|without|instead of)\b", re.IGNORECASE)
_CODE = re.compile(r"`([^`\n]+)`")
_SHORTEST = 6
"""Letters of code that are enough to know a statement by."""


def without_deleted(posted: str, answer: str) -> str:
    """The posted program without the statements that the prose says to delete, quoting how they
    begin.

    Calls of an update stay: whether they go is read from the code that the answer shows.
    """
    for beginning in _beginnings(answer):
        tree = parsed(posted)
        found = [node for node in walk(tree) if _begins(node, beginning, posted)]
        if len(found) == 1 and isinstance(found[0], ast.stmt):
            posted = _without(posted, found[0])
    return posted


def deletes(sentence: str) -> bool:
    """Whether it tells the reader to delete something."""
    return bool(_DELETE.search(sentence)) and not _KEEPS.search(sentence)


@functools.lru_cache(4)  # asked for each program of an answer
def sentences(answer: str) -> tuple[str, ...]:
    """The sentences of its prose."""
    return tuple(_SENTENCE.split(FENCED.sub("", answer)))


def _beginnings(answer: str) -> Iterator[str]:
    for sentence in sentences(answer):
        if deletes(sentence):
            for code in _CODE.findall(sentence):
                beginning = re.split(r"\.\.\.|\u2026", code)[0].strip()
                if len(beginning) >= _SHORTEST:
                    yield beginning


def _begins(node: ast.AST, beginning: str, posted: str) -> bool:
    if not isinstance(node, ast.stmt) or anchors(node).keys() & UPDATE:
        return False
    line = posted.split("\n")[node.lineno - 1].strip()
    return line.startswith(beginning)


def _without(posted: str, node: ast.stmt) -> str:
    lines = posted.split("\n")
    end = node.end_lineno or node.lineno
    lines[node.lineno - 1 : end] = [" " * node.col_offset + "pass"]
    program = "\n".join(lines)
    return program if parses(program) else posted  # two statements on one line
