"""Texts that are not here: letters by chance, or lines of parts where the program splits its lines."""

import ast
import random
import re
from dataclasses import dataclass, replace

from harness.sandbox.absent.shown import ShownByProgram
from harness.sandbox.absent.standins.hub_datasets import WORDS
from harness.sandbox.absent.standins.torchvision import TRAIN
from harness.syntax import walk

COUNT = 20_000
"""How many letters there are."""

ALPHABET = "abcdefghijklmnopqrstuvwxyz ,.\nABCDEFGHIJKLMNOPQRSTUVWXYZ"

EACH = "".join(map(chr, range(ord(" "), ord("~") + 1))) + "\n"
"""Each printable letter once, for programs that look letters up that the text has by nature."""

SEPARATORS = frozenset({"\t", "|||", " ||| ", "::", "|", ";", ","})
"""What stands between parts of a line."""


TAGGED = re.compile(
    r"\.split\(\)\[-1\]|(\w+) = \w[\w.()]*\.split\(\)\n(?:.*\n){0,8}?.*\b\1\[(-1|1)\]"
)
"""How a program takes a word and its tag from a line."""

NUMBERS = 8
"""How many stand on a line of numbers."""

SENTENCE = 8
"""Words of a sentence whose words are tagged."""


@dataclass(frozen=True)
class Lines:
    """What the lines of a text are made of."""

    separator: str
    """What stands between their parts."""
    count: int
    """How many parts there are."""
    numbers: tuple[int, ...]
    """Which of them are numbers."""
    words: bool = False
    """Whether each part is one word, and the first one is another on each line."""
    tagged: bool = False
    """Whether each line is one word and its tag, and an empty line ends a sentence."""


def lines_of(shown: ShownByProgram) -> Lines | None:
    """How a program splits lines; ``None`` where it does not."""
    source = shown.source
    if TAGGED.search(source) and re.search(r"\btags?\b|\bner\b|conll", source, re.IGNORECASE):
        return Lines(" ", 2, (), tagged=True)
    for node in walk(shown.tree):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        found = _split(node.value if isinstance(node, ast.Assign) else node)
        if found is None:
            continue
        names = [ast.unparse(n) for n in target.elts] if isinstance(target, ast.Tuple) else []
        if not names and isinstance(target, ast.Name):
            last = max(map(int, re.findall(rf"\b{target.id}\[(\d+)\]", source)), default=1)
            names = [f"{target.id}[{n}]" for n in range(last + 1)]
        used = {n for n, name in enumerate(names) if _is_number(name, source)}
        return Lines(found, len(names) or 2, tuple(sorted(used)))
    return None


def learned(error: BaseException, form: Lines | None) -> Lines | None:
    """The form of a text as a failure shows it; ``None``: nothing new."""
    said, known = str(error), form
    form = form or Lines(" ", 2, ())
    if count := re.search(r"values to unpack \(expected (\d+)", said):
        found = replace(form, count=int(count[1]))
        return found if found != known else None
    if isinstance(error, IndexError) and "list index" in said:
        return replace(form, count=form.count + 1)
    literal = re.search(
        r"(?:invalid literal for int\(\).*?|could not convert string to float): '(.*)'", said
    )
    if literal is not None and known is None:
        return Lines(" ", NUMBERS, tuple(range(NUMBERS)))
    if literal is not None:
        parts = next(
            (p for r in text(form).split("\n") if literal[1] in (p := r.split(form.separator))), []
        )
        return replace(form, numbers=(*form.numbers, parts.index(literal[1]))) if parts else None
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
        return EACH + "".join(dice.choices(ALPHABET, k=COUNT))
    if form.tagged:
        words = (f"{dice.choice(WORDS)} {'OB'[n * 5 % 7 == 0]}" for n in range(TRAIN * SENTENCE))
        return "".join(f"{w}\n{chr(10) * (n % SENTENCE == 7)}" for n, w in enumerate(words))
    rows = (
        form.separator.join(
            str(n % len(WORDS) if form.words else n * 7 % 2)
            if part in form.numbers
            else _said(dice, form, n, part)
            for part in range(form.count)
        )
        for n in range(TRAIN)
    )
    return "\n".join(rows) + "\n"


def _said(dice: random.Random, form: Lines, line: int, part: int) -> str:
    if form.words:
        return WORDS[(line if part == 0 else line * 5 // 3 + part) % len(WORDS)]
    return " ".join(dice.choices(WORDS, k=dice.randint(2, 9)))
