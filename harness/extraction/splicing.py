"""Puts a snippet back into the loop that the user posted.

Many answers show only the lines that change. The place is found by what stands there already: the
calls of an update and the names that are set. Where an update would lose or double one of its calls
the place is not clear, and nothing is put anywhere: a snippet that was misread must not be judged.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from textwrap import indent

from harness.extraction.anchors import (
    UPDATE,
    anchors,
    does_nothing,
    is_simple,
    of_one,
    subjects_of,
    told_apart,
    unscales_beside,
)
from harness.extraction.parsing import first_line, parsed, parses
from harness.syntax import children, walk


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines that an answer shows without the loop around them."""

    code: str
    """Those lines."""
    quoted: str = ""
    """Lines of the posted program that stand just before them; empty where there are none."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Consecutive statements of one body."""

    body: list[ast.stmt]
    matched: frozenset[int]
    score: float = 0.0

    @property
    def replaced(self) -> list[ast.stmt]:
        return self.body[min(self.matched) : max(self.matched) + 1]


def splice(posted: str, snippet: Snippet, *, moves: frozenset[str] = frozenset()) -> str | None:
    """The posted program with the snippet in its place; ``None`` where that is not clear.

    ``moves``: anchors of calls that the answer says are moved or removed, so that one that the
    snippet shows and that stands elsewhere too is taken away there.
    """
    tree, new = parsed(posted), parsed(snippet.code).body
    places, quoted = _found(tree, new), _quoted(tree, snippet.quoted)
    if quoted is not None:
        alike = bool(_total(quoted.replaced).keys() & _total(new).keys())
        places = [quoted, *places] if alike else [*places, quoted]
    programs = (_at(place, tree, posted, snippet, moves=moves) for place in places)
    return next((program for program in programs if program is not None), None)


def _at(
    place: _Place, tree: ast.Module, posted: str, snippet: Snippet, *, moves: frozenset[str]
) -> str | None:
    new = parsed(snippet.code).body
    if not new or _starts_over(tree, place, new):
        return None
    if unscales_beside(place.body, place.replaced, new):
        return None
    if _lost(place, new):
        inner = _deeper(place, new)
        return splice(posted, Snippet(inner), moves=moves) if inner else None
    doubled = _doubled(tree, place, new)
    if not doubled.keys() <= moves:
        return None
    gone = [node for node in _outside(tree, place) if _only(node, doubled)]
    if doubled - sum((anchors(node) for node in gone), Counter()):
        return None
    return _written(posted, place, snippet.code, gone)


def quotes(posted: str, code: str) -> bool:
    """Whether a snippet is nothing but lines of the posted program."""
    return _quoted(parsed(posted), code) is not None


def before_the_loop(program: str, code: str) -> str:
    """The program with lines that are run once in front of its first loop."""
    loops = [n.lineno for n in parsed(program).body if isinstance(n, ast.For | ast.While)]
    lines = program.split("\n")
    at = min(loops, default=1) - 1
    return "\n".join([*lines[:at], code.rstrip("\n"), *lines[at:]])


def before_its_use(program: str, code: str, names: AbstractSet[str]) -> str:
    """The program with lines in front of the first statement that reads what they bind."""
    statements = (node for body in _bodies(parsed(program)) for node in body)
    using = [node for node in statements if names & _read_by(node)]
    if not using:
        return before_the_loop(program, code)
    first = min(using, key=lambda node: (node.lineno, -node.col_offset))
    lines, at = program.split("\n"), first_line(first) - 1
    return "\n".join([*lines[:at], indent(code.rstrip("\n"), " " * first.col_offset), *lines[at:]])


def _read_by(statement: ast.stmt) -> set[str]:
    """Names that a statement reads itself, without those of the statements in it."""
    own = [n for n in children(statement) if not isinstance(n, ast.stmt | ast.ExceptHandler)]
    return {n.id for node in own for n in walk(node) if isinstance(n, ast.Name)}


# ------------------------------------------------------------------------------------------ places


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements, those further out first."""
    for node in walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _quoted(tree: ast.Module, old: str) -> _Place | None:
    """Where the old lines stand, word for word."""
    try:
        wanted = [ast.dump(node) for node in parsed(old).body]
    except SyntaxError:
        return None
    if not wanted:
        return None
    for body in _bodies(tree):
        dumps = [ast.dump(node) for node in body]
        for first in range(len(dumps) - len(wanted) + 1):
            if dumps[first : first + len(wanted)] == wanted:
                return _Place(body, frozenset(range(first, first + len(wanted))))
    return None


def _found(tree: ast.Module, new: list[ast.stmt]) -> list[_Place]:
    """Where most of it stands already; of equals the innermost place first."""
    places = [place for body in _bodies(tree) if (place := _in(body, new)) is not None]
    best = max((place.score for place in places), default=0.0)
    return [place for place in reversed(places) if place.score == best]


def _in(body: list[ast.stmt], new: list[ast.stmt]) -> _Place | None:
    """The statements of one body that the new ones replace; ``None`` where they match none."""
    matched: set[int] = set()
    score = 0.0
    apart = told_apart(body)
    for node in new:
        about = ((i, old) for i, old in enumerate(body) if of_one(node, old, apart))
        shared = {i: _shared(node, old) for i, old in about if _alike(node, old)}
        found = {i: weight for i, weight in shared.items() if weight}
        if not found and not is_simple(node):  # it wraps what stands there bare
            wrapped = {i: _shared(node, old) for i, old in enumerate(body) if _inside(old, node)}
            found = {i: weight for i, weight in wrapped.items() if weight}
        matched |= found.keys()
        score += max(found.values(), default=0.0)
    if not matched:
        return None
    extra = max(matched) - min(matched) + 1 - len(matched)
    return _Place(body, frozenset(matched), score - 0.5 * extra)


def _alike(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether one statement can replace the other: both are simple, or both are compound statements of
    the same kind.
    """
    if is_simple(one) or is_simple(other):
        return is_simple(one) and is_simple(other)
    return type(one) is type(other)


def _inside(old: ast.stmt, new: ast.stmt) -> bool:
    """Whether the new statement does all that the old one does for an update."""
    return not (anchors(old).keys() & UPDATE) - anchors(new).keys()


def _shared(one: ast.stmt, other: ast.stmt) -> float:
    both = anchors(one).keys() & anchors(other).keys()
    same = 0.5 if both and ast.dump(one) == ast.dump(other) else 0.0
    return sum(2.0 if anchor in UPDATE else 1.0 for anchor in both) + same


def _deeper(place: _Place, new: list[ast.stmt]) -> str | None:
    """The body of a compound statement that only hints at what it holds."""
    compound = [node for node in new if isinstance(node, ast.For | ast.While | ast.With)]
    if len(new) != 1 or len(compound) != 1 or is_simple(place.replaced[0]):
        return None
    body = [node for node in compound[0].body if not does_nothing(node)]
    return "\n".join(ast.unparse(node) for node in body) or None


# ---------------------------------------------------------------------------- what must not happen


def _starts_over(tree: ast.Module, place: _Place, new: list[ast.stmt]) -> bool:
    """Whether the snippet goes through the data itself, inside of the loop that does."""
    around = [
        node
        for node in walk(tree)
        if isinstance(node, ast.For) and any(part is place.body for part in _bodies(node))
    ]
    data = {n.id for node in around for n in walk(node.iter) if isinstance(n, ast.Name)}
    given = [
        part for node in new for call in walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) != "len" for part in call.args
    ]  # fmt: skip
    loops = [part.iter for node in new for part in walk(node) if isinstance(part, ast.For)]
    return any(isinstance(n, ast.Name) and n.id in data - {"enumerate"} for n in (*given, *loops))


def _total(nodes: list[ast.stmt]) -> Counter[str]:
    return sum((anchors(node) for node in nodes), Counter())


def _lost(place: _Place, new: list[ast.stmt]) -> bool:
    """Whether the loop would lose a call of an update, or the loss itself."""
    before, after = _total(place.replaced), _total(new)
    kept = UPDATE - {"clip", "zero_grad", "unscale_"} | {"loss ="}
    there, here = subjects_of(place.replaced), subjects_of(new)
    apart = told_apart(place.replaced) & {"backward", "step"}
    if _leaves_its_scaler(place.replaced, new, there):
        kept = kept - {"update"}
    return any(before[a] and not after[a] for a in kept) or any(
        there.get(a, set()) - here.get(a, set()) for a in apart
    )


def _leaves_its_scaler(
    replaced: list[ast.stmt], new: list[ast.stmt], there: dict[str, set[str]]
) -> bool:
    """Whether what updates itself is a scaler of losses, which the new lines do without."""
    old, shown = "\n".join(map(ast.unparse, replaced)), "\n".join(map(ast.unparse, new))
    updated = there.get("update", set())
    return bool(updated) and all(f"{s}.scale(" in old and s not in shown for s in updated)


def _doubled(tree: ast.Module, place: _Place, new: list[ast.stmt]) -> Counter[str]:
    """Calls that the snippet brings and that stand elsewhere in the program too."""
    brought = _total(new) - _total(place.replaced)
    elsewhere = _total(tree.body) - _total(place.replaced)
    loops = [node for node in tree.body if not is_simple(node)]
    in_loops = _total(loops) - _total(place.replaced)
    elsewhere["zero_grad"] = in_loops["zero_grad"]  # one in front of the loop doubles nothing
    about, outside = subjects_of(new), subjects_of(_outside(tree, place))
    several = bool(told_apart(tree.body))
    return Counter({
        a: elsewhere[a] for a in brought
        if a in UPDATE and elsewhere[a]
        and not (several and not about.get(a, set()) & outside.get(a, set()))
    })  # fmt: skip


def _outside(tree: ast.Module, place: _Place) -> list[ast.stmt]:
    """Simple statements that are not replaced."""
    inside = {id(part) for node in place.replaced for part in walk(node)}
    statements = (node for body in _bodies(tree) for node in body)
    return [node for node in statements if is_simple(node) and id(node) not in inside]


def _only(node: ast.stmt, doubled: Counter[str]) -> bool:
    found = anchors(node)
    return bool(found.keys() & doubled.keys()) and not (found.keys() - doubled.keys())


# ------------------------------------------------------------------------------------------ writing


def _written(posted: str, place: _Place, code: str, gone: list[ast.stmt]) -> str | None:
    """By lines, so that comments and layout of the rest stay."""
    lines: list[str | None] = list(posted.split("\n"))
    first, last = place.replaced[0], place.replaced[-1]
    for node in gone:
        lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + "pass"] + [None] * (
            (node.end_lineno or node.lineno) - node.lineno
        )
    start, end = first_line(first), last.end_lineno or last.lineno
    margin = " " * first.col_offset
    lines[start - 1 : end] = [indent(code.rstrip("\n"), margin), *[None] * (end - start)]
    program = "\n".join(line for line in lines if line is not None)
    return program if parses(program) else None  # two statements on one line
