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
    r"\.split\((?P<by>[^()]*)\)\[-1\]"
    r"|(\w+) = \w[\w.()]*\.split\((?P<at>[^()]*)\)\n(?:.*\n){0,8}?.*\b\2\[(-1|1)\]"
)
"""How a program takes a word and its tag from a line."""

VECTORS, WIDE = re.compile(r"glove|word2?vec|w2v|fasttext|\.vec\b|wiki.*vec", re.IGNORECASE), 100
"""Names of files of vectors of words, and how many numbers each has where the name tells nothing."""

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
    begins: tuple[str, ...] = ()
    """What a part begins with, where the program leaves out all others."""


def lines_of(shown: ShownByProgram) -> Lines | None:
    """How a program splits lines; ``None`` where it does not."""
    source = shown.source
    tagged = TAGGED.search(source)
    if tagged and re.search(r"\btags?\b|\bner\b|conll", source, re.IGNORECASE):
        by_tabs = "\\t" in (tagged["by"] or tagged["at"] or "")
        return Lines("\t" if by_tabs else " ", 2, (), tagged=True)
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
        return Lines(found, len(names) or 2, tuple(sorted(used)), begins=_looked_for(shown.tree))
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


def _looked_for(tree: ast.Module) -> tuple[str, ...]:
    """``text.startswith(PREFIXES)``"""
    asked = {
        ast.unparse(node.args[0]) for node in walk(tree)
        if isinstance(node, ast.Call) and node.args
        and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith"
    }  # fmt: skip
    for node in walk(tree):
        match node:
            case ast.Assign(targets=[target], value=ast.Tuple(elts=parts)) if (
                ast.unparse(target) in asked
            ):
                words = [one.value for one in parts if isinstance(one, ast.Constant)]
                return tuple(word for word in words if isinstance(word, str))
    return ()


def _is_number(name: str, source: str) -> bool:
    return re.search(rf"\b(int|float)\({re.escape(name)}[.)]", source) is not None


def text(form: Lines | None = None) -> str:
    """By chance, the same each time."""
    dice = random.Random(0)
    if form is None:
        return EACH + "".join(dice.choices(ALPHABET, k=COUNT))
    if form.tagged:
        tags = ("OB"[n * 5 % 7 == 0] for n in range(TRAIN * SENTENCE))
        words = (f"{dice.choice(WORDS)}{form.separator}{tag}" for tag in tags)
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


def vectors(name: str) -> str:
    """A word on each line, and as many numbers behind it as the name of the file tells."""
    dice, wide = random.Random(0), re.search(r"(\d{2,4})d", name)
    many = range(int(wide[1]) if wide is not None else WIDE)
    rows = (" ".join(f"{dice.uniform(-1, 1):.3f}" for _ in many) for _ in WORDS)
    return "".join(f"{word} {row}\n" for word, row in zip(WORDS, rows, strict=True))


def _said(dice: random.Random, form: Lines, line: int, part: int) -> str:
    if form.words:
        return WORDS[(line if part == 0 else line * 5 // 3 + part) % len(WORDS)]
    begins = [dice.choice(form.begins)] if form.begins else []
    return " ".join([*begins, *dice.choices(WORDS, k=dice.randint(2, 9))])
