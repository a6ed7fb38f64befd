"""What an author says that a line prints, ``print(x)  # 0.01``, beside what it printed. Pure.

Read are numbers, and ``True``, ``False``, ``None``, with brackets around them: what a comment says in
words is not. Numbers agree where they round to what is written.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.checking.session import BlockInContext
from harness.domain.check import Observation
from harness.skills.splitting import comments_of

_FIGURE = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?%?|True|False|None|nan|inf|-inf"
_WORD = re.compile(rf"(?<![\w.])(?:{_FIGURE})(?![\w%])")
_VALUE = re.compile(
    rf"^(?P<value>(?:tensor|torch\.Size|array)?(?:[\[(,\s]|{_FIGURE})*(?:{_FIGURE}|\[)[\])]*)"
    r"(?P<rest>.*)$"
)
_NUMBERED = re.compile(r"\d+[.)]\s+[A-Za-z]")
_SUM = re.compile(rf"^[\d\s.+*/()-]+=\s*(?P<value>{_FIGURE})$")
_HEDGED = re.compile(
    r"^\s?(?:or|to|if|when|where|for|on|with|by|until|at|per|unless|and|x|±|\+|-|/|\*|:|\)|\.\.|…|~|%|<|>)"
    r"(?![a-z])|\bor so\b|\babout\b|\.\.\.",
    re.IGNORECASE,
)
"""What follows a value that holds under a condition, or is none."""
_STATE = re.compile(
    r"^\s*`?(?P<of>[A-Za-z_]\w*(?:\.\w+)+)`? (?:is|stays|remains|becomes)(?: still)? "
    r"`?(?P<value>None|True|False)`?[.!]?$"
)
"""``critic.weight.grad stays None``: what an object is once the line has run."""
_TAIL = re.compile(r",\s*(?:grad_fn|dtype|device|requires_grad)=[^,)]*")
MACHINES = re.compile(r"torch\.cuda\.|\btime\.(?:time|perf_counter|monotonic)\b|\bpsutil\.")
"""What a machine of another kind answers otherwise."""

MARKER = "harness-check"
LONGEST = 60
"""Characters of what was printed that are told."""


@dataclass(frozen=True, slots=True)
class AnnouncedLine:
    """A line that prints something, and the comment that says what."""

    line: int
    """Its line in the program."""
    said: str
    """The comment."""
    of: str = ""
    """What is looked at behind the line; nothing where the line prints it."""


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """What was announced, and what came."""

    announced: AnnouncedLine
    """What was said."""
    line: int
    """Its line on the page."""
    text: str
    """What was printed."""

    @property
    def agrees(self) -> bool | None:
        """Whether both are the same; ``None`` where they cannot be compared."""
        said = value_in(self.announced.said)
        if self.announced.of:
            return self.text.strip() == self.announced.said
        came = _WORD.findall(_TAIL.sub("", self.text))
        if not said or len(said) != len(came):
            return None
        return all(map(_same, said, came))


def value_in(comment: str) -> tuple[str, ...]:
    """The numbers that a comment says are printed; none where it says something else."""
    text = comment.strip()
    if found := _SUM.match(text):
        return (found["value"],)
    found = _VALUE.match(text)
    if (
        found is None
        or _NUMBERED.match(text)
        or _HEDGED.search(found["rest"])
        or re.match(r"[\w.]", found["rest"])
    ):
        return ()
    return tuple(_WORD.findall(found["value"]))


def announced(program: BlockInContext) -> tuple[AnnouncedLine, ...]:
    """Every such line of the block itself, in order."""
    said = {n + 1: text for n, text, alone in comments_of(program.text) if not alone}
    prints = tuple(
        AnnouncedLine(node.end_lineno or 0, said[node.end_lineno or 0])
        for node in _prints(program.tree)
        if program.is_own(node.lineno) and value_in(said.get(node.end_lineno or 0, ""))
        if not MACHINES.search(ast.unparse(node))
    )
    states = tuple(
        AnnouncedLine(node.end_lineno or 0, found["value"], found["of"])
        for node in program.tree.body
        if program.is_own(node.lineno) and isinstance(node, ast.Expr | ast.Assign)
        if (found := _STATE.match(said.get(node.end_lineno or 0, "")))
    )
    return prints + states


def marked(program: BlockInContext) -> BlockInContext:
    """The same program, which prints before and after each such line which one it is."""
    lines = {one.line for one in announced(program)}
    if not lines:
        return program
    texts = [line.encode() for line in program.text.split("\n")]
    for node in sorted(_prints(program.tree), key=lambda n: (-n.lineno, -n.col_offset)):
        if node.end_lineno in lines and program.is_own(node.lineno):
            begin, end = (
                f"print('{MARKER} {word} {node.end_lineno}')".encode() for word in ("begin", "end")
            )
            at, last = node.lineno - 1, (node.end_lineno or 0) - 1
            texts[last] = _with(texts[last], node.end_col_offset or 0, b"; " + end)
            texts[at] = _with(texts[at], node.col_offset, begin + b"; ")
    for one in announced(program):
        if one.of:
            told = (
                f"{one.of} if any({one.of} is v for v in (None, True, False)) else 'something else'"
            )
            asks = "; ".join(
                f"print({t})"
                for t in (f"'{MARKER} begin {one.line}'", told, f"'{MARKER} end {one.line}'")
            )
            made = next(n for n in program.tree.body if n.end_lineno == one.line)
            at = one.line - 1
            texts[at] = _with(texts[at], made.end_col_offset or 0, f"; {asks}".encode())
    text = b"\n".join(texts).decode()
    return replace(program, text=text)


def printed(program: BlockInContext, texts: Sequence[str]) -> tuple[PrintedLine, ...]:
    """What each such line printed; only of those that were reached once."""
    found: dict[int, list[str]] = {}
    within: list[str] | None = None
    for line in (part for text in texts for part in text.split("\n")):
        if line.startswith(f"{MARKER} begin "):
            within = []
        elif line.startswith(f"{MARKER} end ") and within is not None:
            found.setdefault(int(line.rpartition(" ")[2]), []).append("\n".join(within))
            within = None
        elif within is not None:
            within.append(line)
    return tuple(
        PrintedLine(one, program.place(one.line), found[one.line][0])
        for one in announced(program)
        if len(found.get(one.line, ())) == 1
    )


def prints_otherwise(found: PrintedLine) -> Observation:
    """A comment that says what a line does not print."""
    said = found.announced
    return Observation(
        statement=said.said,
        holds=False,
        sentence=f"{_told(found)}, not {' '.join(value_in(said.said))}.",
    )


def prints_so(found: PrintedLine) -> Observation:
    """A comment that says what a line prints."""
    return Observation(
        statement=found.announced.said,
        holds=True,
        sentence=f"{_told(found)}, as it says.",
    )


def _told(found: PrintedLine) -> str:
    of, value = found.announced.of, _shown(found.text)
    return (
        f"Behind line {found.line} `{of}` is {value}" if of else f"Line {found.line} prints {value}"
    )


def _shown(text: str) -> str:
    told = " ".join(text.split())
    return told if len(told) <= LONGEST else f"{told[:LONGEST]} ..."


def _prints(tree: ast.Module) -> Iterator[ast.Expr]:
    """Its calls of ``print`` that are no part of a function: it may be called from anywhere."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id == "print"
        ):
            yield node
        left += ast.iter_child_nodes(node)


def _with(line: bytes, at: int, more: bytes) -> bytes:
    return line[:at] + more + line[at:]


def _same(said: str, came: str) -> bool:
    if said == came:
        return True
    try:
        wanted, got = (float(text.rstrip("%").replace("_", "")) for text in (said, came))
    except ValueError:
        return False
    mantissa, _, exponent = said.lower().rstrip("%").partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - decimals)
    return abs(wanted - got) <= max((1.0 if decimals > 2 else 0.55) * unit, 1e-12)
