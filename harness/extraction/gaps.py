"""Loops with gaps, ``...`` or "# rest as before": what the posted loop has there."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent, indent

from harness.extraction.anchors import UPDATE, anchors, is_simple, writes_gradients
from harness.extraction.parsing import parsed, parses, source_of
from harness.syntax import walk

_GAP = re.compile(
    r"^\s*#[\s#\u2026.\-\u2013\u2014(<\[]*(?:(?:\.\.\.|\u2026).*|.*(?:\.\.\.|\u2026)|"
    r"(?:\w+\W+){0,6}?(?:as (?:before|it (?:is|was)|in your|you have)|unchanged"
    r"|stays? the same|same as (?:before|yours))\b.*"
    r"|(?:the )?(?:rest|remainder) (?:of|as|is|stays|unchanged|goes|here)\b.*"
    r"|(?:your|the|existing|usual) (?:existing |usual |other )?(?:code|lines|steps)(?: here)?\W*)$",
    re.IGNORECASE,
)


def filled(code: str, posted: str) -> str | None:
    """A loop with the posted statements in its gaps; ``None`` where it has no gap, or one whose
    statements are not clear.
    """
    shown = _with_dots(code)
    try:
        new, old = parsed(shown), parsed(posted)
    except SyntaxError:
        return None
    pairs = [(one, other) for one in _loops(new) for other in _loops(old) if _same_data(one, other)]
    for loop, known in pairs:
        gaps = _Gaps()
        gaps.look(known.body, loop.body)
        if gaps.fills and not gaps.unclear and _sound(gaps, loop, known):
            return _written(shown, posted, gaps.fills)
    return None


def _with_dots(code: str) -> str:
    """Comments that stand for code as ``...``, each on its line, where that can be read."""
    lines = code.split("\n")
    for number, line in enumerate(lines):
        if _GAP.match(line) and line[:1].isspace():
            lines[number] = f"{line[: len(line) - len(line.lstrip())]}..."
            if not parses("\n".join(lines)):
                lines[number] = line
    return "\n".join(lines)


def _loops(tree: ast.Module) -> list[ast.For]:
    """Those that go back, innermost first."""
    found = [n for n in walk(tree) if isinstance(n, ast.For) and anchors(n)["backward"]]
    dots = [n for n in walk(tree) if isinstance(n, ast.For) and any(map(_is_dots, n.body))]
    return [*reversed(found), *dots]


def _same_data(one: ast.For, other: ast.For) -> bool:
    return ast.dump(one.iter) == ast.dump(other.iter)


@dataclass(slots=True)
class _Gaps:
    """A loop with gaps beside the posted one."""

    fills: list[tuple[ast.stmt, list[ast.stmt]]] = field(default_factory=list)
    """Each gap, and what stands there."""

    unclear: bool = False
    """Whether what stands there may be what a new line beside the gap replaces."""

    def look(self, old: list[ast.stmt], new: list[ast.stmt]) -> None:
        """Find what is left out of one body, and of those inside of it."""
        places = _places(old, new)
        here = [part for node in new for part in walk(node) if isinstance(part, ast.stmt)]
        shown = {i for i, node in enumerate(old) if i in places.values() or _shown(node, here)}
        for at, node in enumerate(new):
            if _is_dots(node):
                first = next((places[i] for i in reversed(range(at)) if i in places), -1)
                after = (places[i] for i in range(at, len(new)) if places.get(i, -1) > first)
                left = [i for i in range(first + 1, next(after, len(old))) if i not in shown]
                beside = [i for i in (at - 1, at + 1) if 0 <= i < len(new) and i not in places]
                self.unclear |= bool(beside) and any(writes_gradients(old[i]) for i in left)
                self.fills += [(node, [old[i] for i in left])] if left else []
            elif at in places and not is_simple(node):
                for one, other in zip(_bodies(old[places[at]]), _bodies(node), strict=True):
                    self.look(one, other)


def _places(old: list[ast.stmt], new: list[ast.stmt]) -> dict[int, int]:
    """For each statement of the new body the old one that it is, or takes the place of."""
    found: dict[int, int] = {}
    for same in (_equal, _like):
        for at, node in enumerate(new):
            if at in found or _is_dots(node):
                continue
            match = next(
                (i for i, o in enumerate(old) if i not in found.values() and same(o, node)), None
            )
            if match is not None:
                found[at] = match
    return found


def _equal(old: ast.AST, new: ast.AST) -> bool:
    return ast.dump(old) == ast.dump(new)


def _like(old: ast.stmt, new: ast.stmt) -> bool:
    alike = type(old) is type(new) or (is_simple(old) and is_simple(new))
    asks = isinstance(old, ast.If) and isinstance(new, ast.If) and _equal(old.test, new.test)
    return asks or (alike and bool(anchors(old).keys() & anchors(new).keys()))


def _shown(old: ast.stmt, here: list[ast.stmt]) -> bool:
    """Whether a statement stands somewhere in the new loop, or what it does for an update does."""
    does = anchors(old).keys() & UPDATE
    simple = [node for node in here if is_simple(node)]
    there = {a for node in simple for a in anchors(node)}
    return (bool(does) and does <= there) or any(_equal(old, node) for node in here)


def _sound(gaps: _Gaps, loop: ast.For, known: ast.For) -> bool:
    """Whether the loop steps once it is filled, and does nothing twice that it was left to do."""
    brought = sum((anchors(n) for _, nodes in gaps.fills for n in nodes), Counter[str]())
    total = anchors(loop) + brought
    calls = [a for a in brought if a in UPDATE]
    return bool(total["step"] and total["backward"]) and all(
        total[a] <= max(anchors(known)[a], 1) for a in calls
    )


def _written(code: str, posted: str, fills: list[tuple[ast.stmt, list[ast.stmt]]]) -> str | None:
    lines = code.split("\n")
    for gap, nodes in sorted(fills, key=lambda fill: -fill[0].lineno):
        text = "\n".join(dedent(source_of(posted, node)) for node in nodes)
        lines[gap.lineno - 1] = indent(text, " " * gap.col_offset)
    program = "\n".join(lines)
    return program if parses(program) else None


def _is_dots(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and node.value.value is ...
    )


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse"):
        yield getattr(node, name, None) or []
