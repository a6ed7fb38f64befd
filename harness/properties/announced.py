"""What a diagnosis says in words beside its numbers."""

import ast
import re
from collections.abc import Iterable

from harness.domain.trace import Program
from harness.properties.alternatives import choices, parsed
from harness.properties.printed import NUMBER, printed

ALARM = re.compile(r"vanish|starv|dying\b|dead\b", re.IGNORECASE)
"""Words for a model whose early layers get no gradient."""

CLEAR = re.compile(r"(?<!un)(?<!not )\bhealthy|all layers (?:get|learn)|\bfine\b", re.IGNORECASE)
"""Words for one in which all is well."""

DENIAL = re.compile(r"\b(?:no|not|isn't|aren't|without)\b[^.;,]*$|\bnon-?$", re.IGNORECASE)
"""What takes an alarm back, right before it."""

ALIKE = 10.0
"""Factor up to which two workloads' smallest, and largest, numbers look alike to a reader."""

READS = re.compile(r"\.grad\b")
"""A program without it prints its loss, and no diagnosis."""

WORD = re.compile(r"[A-Za-z]+")


def false_all_clear(program: Program) -> str | None:
    """A printed line that calls the model healthy, from a program that has words for the contrary
    and never printed them; ``None`` without one. For the workload whose gradients vanish.
    """
    lines = [line for text in program.texts for line in text.splitlines()]
    if any(alarms(line) for line in lines) or not any(map(alarms, said_by(program.source))):
        return None
    return next((line.strip() for line in lines if CLEAR.search(line)), None)


def false_alarm(program: Program) -> str | None:
    """A printed line that says of the model that its gradients vanish, where the program had other
    words to choose from and never printed them; ``None`` without one. For the healthy workload.
    """
    output = "\n".join(program.texts).lower()
    lines = output.splitlines()
    for branches in choices(program.source):
        alarming = [t.lower() for branch in branches for t in branch if alarms(t)]
        quiet = [branch for branch in branches if not any(map(alarms, branch))]
        others = [text.lower() for branch in quiet for text in branch]
        if not quiet or any(other in output for other in others):
            continue
        found = [line for line in lines if any(text in line for text in alarming)]
        if found and (others or not spared(found, alarming, lines)):
            return found[0].strip()
    return None


def spared(flagged: list[str], alarming: list[str], lines: list[str]) -> bool:
    """Whether a line that is else the same as a flagged one came without the flag."""
    bare = {shape(line.replace(text, "")) for line in flagged for text in alarming}
    return any(shape(line) in bare for line in lines if line not in flagged)


def shape(line: str) -> str:
    """The line without its numbers, names and spaces."""
    return re.sub(r"[-+\w.\s]+", "#", line).strip("#")


def alarms(text: str) -> bool:
    """Whether it says that gradients vanish, and not that they do not."""
    return any(not DENIAL.search(text[: found.start()]) for found in ALARM.finditer(text))


def said_by(source: str) -> list[str]:
    """The texts in a program that it may print: its string constants, without docstrings.

    What a recording gives for the source is as untrusted as the rest of it.
    """
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
    """Whether two outputs of a program that reads gradients have the same words, and numbers of the
    same sizes.

    Not told where a number is negative: the logarithms of two sizes lie close together.
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
    """Whether zeros were printed, and the smallest and the largest other number."""
    if any(match.group(0).startswith("-") for text in texts for match in NUMBER.finditer(text)):
        return None
    values = [n.value for n in printed(texts)]
    real = [v for v in values if v > 0.0]
    return (len(real) < len(values), min(real), max(real)) if real else None
