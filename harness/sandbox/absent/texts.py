"""Texts that are not here: letters by chance, or lines of parts where the program splits its lines."""

import ast
import random
import re
from dataclasses import dataclass

from harness.sandbox.absent.standins.hub_datasets import WORDS
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.syntax import source_of, walk

COUNT = 20_000
"""How many letters there are."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz ,.\nABCDEFGHIJKLMNOPQRSTUVWXYZ"

SEPARATORS = frozenset({"\t", "|||", " ||| ", "::", "|", ";", ","})
"""What stands between parts of a line."""


TAGGED = re.compile(r"\.split\(\)(\[-1\]|\n[^\n]*\[0\][^\n]*\n[^\n]*\[(-1|1)\])")
"""How a program takes a word and its tag from a line."""

SENTENCE = 8
"""Words of a sentence whose words are tagged."""


@dataclass(frozen=True)
class Lines:
    """What the lines of a text are made of."""

    separator: str
    """What stands between their parts."""
    count: int
    """How many parts there are."""
    numbers: frozenset[int]
    """Which of them are numbers."""
    tagged: bool = False
    """Whether each line is one word and its tag, and an empty line ends a sentence."""


def lines_of(tree: ast.Module) -> Lines | None:
    """How a program splits lines; ``None`` where it does not."""
    source = source_of(tree)
    if TAGGED.search(source) and re.search(r"\btags?\b|\bner\b|conll", source, re.IGNORECASE):
        return Lines(" ", 2, frozenset(), tagged=True)
    for node in walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        found = _split(node.value if isinstance(node, ast.Assign) else node)
        if found is None:
            continue
        names = [ast.unparse(n) for n in target.elts] if isinstance(target, ast.Tuple) else []
        if not names and isinstance(target, ast.Name):
            last = max(map(int, re.findall(rf"\b{target.id}\[(\d+)\]", source)), default=1)
            names = [f"{target.id}[{n}]" for n in range(last + 1)]
        used = {n for n, name in enumerate(names) if _is_number(name, source)}
        return Lines(found, len(names) or 2, frozenset(used))
    return None


def _split(node: ast.AST) -> str | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="split"), args=[ast.Constant(value=str(text)), *_]):
            return text if text in SEPARATORS else None
    return None


def _is_number(name: str, source: str) -> bool:
    return re.search(rf"\b(int|float)\({re.escape(name)}[.)]", source) is not None


def text(form: Lines | None = None) -> str:
    """By chance, the same each time."""
    dice = random.Random(0)
    if form is None:
        return "".join(dice.choices(ALPHABET, k=COUNT))
    if form.tagged:
        words = (f"{dice.choice(WORDS)} {'OB'[n * 5 % 7 == 0]}" for n in range(TRAIN * SENTENCE))
        return "".join(f"{w}\n{chr(10) * (n % SENTENCE == 7)}" for n, w in enumerate(words))
    rows = (
        form.separator.join(
            str(n * 7 % 2)
            if part in form.numbers
            else " ".join(dice.choices(WORDS, k=dice.randint(2, 9)))
            for part in range(form.count)
        )
        for n in range(TRAIN)
    )
    return "\n".join(rows) + "\n"
