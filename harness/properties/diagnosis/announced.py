"""What a diagnosis says in words, beside its numbers."""

import ast
import re
from collections.abc import Iterable

from harness.domain.trace import Program
from harness.properties.diagnosis.alternatives import choices, parsed
from harness.properties.diagnosis.printed import NUMBER, printed

ALARM = re.compile(r"vanish|starv|dying\b|dead\b", re.IGNORECASE)
"""Words that call a model's gradients vanishing."""

CLEAR = re.compile(r"(?<!un)(?<!not )\bhealthy|all layers (?:get|learn)|\bfine\b", re.IGNORECASE)
"""Words that call a model healthy."""

DENIAL = re.compile(r"\b(?:no|not|isn't|aren't|without)\b[^.;,]*$|\bnon-?$", re.IGNORECASE)
"""Negations which, right before an alarm, turn it into an all-clear."""

ALIKE = 10.0
"""The numbers of two outputs look alike when their smallest, and their largest, differ by at most
this factor.
"""

READS = re.compile(r"\.grad\b")
"""A program whose source never reads ``.grad`` prints its loss, not a diagnosis."""

WORD = re.compile(r"[A-Za-z]+")


def false_all_clear(program: Program) -> str | None:
    """On the workload whose gradients vanish: a printed line that calls the model healthy, from a
    program that has words for vanishing gradients and did not print them. ``None`` if there is no
    such line.
    """
    lines = [line for text in program.texts for line in text.splitlines()]
    if any(alarms(line) for line in lines) or not any(map(alarms, said_by(program.source))):
        return None
    return next((line.strip() for line in lines if CLEAR.search(line)), None)


def false_alarm(program: Program) -> str | None:
    """On the healthy workload: a printed line that says gradients vanish, from a program that could
    have said something else instead and did not. ``None`` if there is no such line.
    """
    output = "\n".join(program.texts).lower()
    lines = output.splitlines()
    for branches in choices(program.source):
        alarming = [t.lower() for branch in branches for t in branch if alarms(t)]
        quiet = [branch for branch in branches if not any(map(alarms, branch))]
        said = set().union(*(b for b in branches if b not in quiet))
        others = [text.lower() for branch in quiet for text in branch if text not in said]
        if not others or any(other in output for other in others):
            continue
        found = [line for line in lines if any(text in line for text in alarming)]
        if found:
            return found[0].strip()
    return None


def alarms(text: str) -> bool:
    """Whether a text says that gradients vanish, rather than that they do not."""
    return any(not DENIAL.search(text[: found.start()]) for found in ALARM.finditer(text))


def said_by(source: str) -> list[str]:
    """The texts that a program may print: its string constants, without docstrings."""
    tree = parsed(source)
    if tree is None:
        return []
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    ]


def look_alike(one: Program, other: Program) -> bool:
    """Whether the outputs of a program that reads gradients show, on two workloads, the same words
    and numbers of the same order of magnitude.

    Negative numbers rule it out: they may be logarithms, where different sizes lie close together.
    """
    if not READS.search(one.source) or words(one.texts) != words(other.texts):
        return False
    first, second = sizes(one.texts), sizes(other.texts)
    if first is None or second is None or first[0] != second[0]:
        return False
    return all(max(a, b) <= ALIKE * min(a, b) for a, b in zip(first[1:], second[1:], strict=True))


def words(texts: Iterable[str]) -> frozenset[str]:
    """The words of an output, without its numbers."""
    return frozenset(w.lower() for text in texts for w in WORD.findall(NUMBER.sub(" ", text)))


def sizes(texts: tuple[str, ...]) -> tuple[bool, float, float] | None:
    """Whether zeros were printed, and the smallest and the largest other number; ``None`` where a
    number is negative or all are 0.
    """
    if any(match.group(0).startswith("-") for text in texts for match in NUMBER.finditer(text)):
        return None
    values = [n.value for n in printed(texts)]
    real = [v for v in values if v > 0.0]
    return (len(real) < len(values), min(real), max(real)) if real else None
