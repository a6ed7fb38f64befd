"""Snippets whose words say where they go: before the loop, after it, or next to a quoted line."""

import ast
import re
from textwrap import dedent, indent
from typing import Literal

from harness.extraction.anchors import UPDATE, anchors, is_simple
from harness.extraction.parsing import parsed, parses
from harness.syntax import walk

Side = Literal["before", "after"]

_LOOP = (
    r"(?:the|your|each|every|that|this)\s+(?:`?\w+`?\s+){0,3}?(?:loop|epoch|pass)s?\b"
    r"(?!'s|\s+(?:body|variable))"
)
_AFTER = re.compile(
    rf"\b(?:after|behind|below|once|at the end of)\s+{_LOOP}|\bwhen\s+{_LOOP}\s+(?:is|has|ends)",
    re.IGNORECASE,
)
_BEFORE = re.compile(rf"\b(?:before|above|in front of|ahead of)\s+{_LOOP}", re.IGNORECASE)
_INSIDE = re.compile(rf"\b(?:inside|within|in)\s+(?:of\s+)?{_LOOP}", re.IGNORECASE)
_INNER = re.compile(r"\b(?:inner|epoch|pass)\b", re.IGNORECASE)
_NEXT_TO = re.compile(
    r"\b(?P<side>before|above|in front of|after|below|behind)\s+(?:the\s+)?`(?P<code>[^`\n]+)`",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:add|insert|put|place|goes|belongs)\b", re.IGNORECASE)


def side_of_the_loop(heading: str, lead: str, code: str) -> Side | None:
    """Where the words around a snippet put it; ``None`` where they do not say, or put it inside."""
    first = code.lstrip().partition("\n")[0]
    for text in (lead, first if first.startswith("#") else "", heading):
        if _INSIDE.search(text):
            return None
        if _AFTER.search(text):
            return "after"
        if _BEFORE.search(text):
            return "before"
    return None


def beside_the_loop(program: str, code: str, side: Side, words: str) -> str | None:
    """The program with a snippet before or after the loop that trains; ``None`` where there is none.

    After it means after each pass: what is left over is left over then.
    """
    around = _training_loops(parsed(program))
    if not around:
        return None
    inner = side == "after" or _INNER.search(words)
    return inserted(program, around[-1] if inner else around[0], code, side)


def next_to_a_quoted_line(program: str, code: str, lead: str) -> str | None:
    """The program with lines put next to the one that the sentence quotes: "after `loss.backward()`:".

    ``None`` where it quotes none that stands there once, or brings a call that stands there already.
    """
    found = _NEXT_TO.search(lead)
    if found is None or not _ADDS.search(lead):
        return None
    tree, new = parsed(program), parsed(code).body
    brought = {a for node in new for a in anchors(node) if a in UPDATE}
    present = {a for node in tree.body for a in anchors(node)}
    places = [node for node in walk(tree) if is_written(node, found["code"])]
    if len(places) != 1 or not isinstance(places[0], ast.stmt) or brought & present or not brought:
        return None
    side: Side = (
        "before" if found["side"].lower() in ("before", "above", "in front of") else "after"
    )
    return inserted(program, places[0], code, side)


def _training_loops(tree: ast.Module) -> list[ast.stmt]:
    """The loops around the first backward, outermost first."""
    return [
        node
        for node in walk(tree)
        if isinstance(node, ast.For | ast.While) and anchors(node)["backward"]
    ]


def is_written(node: ast.AST, quoted: str) -> bool:
    """Whether a statement is the quoted one, or the one that makes the quoted call:
    ``clip_grad_norm_``, ``scaler.step(...)``.
    """
    if not isinstance(node, ast.stmt):
        return False
    try:
        wanted = parsed(quoted.strip()).body
    except SyntaxError:
        return False
    if len(wanted) != 1:
        return False
    if ast.dump(wanted[0]) == ast.dump(node):
        return True
    name = _called(wanted[0])
    calls = (part for part in walk(node) if isinstance(part, ast.Call))
    return bool(name) and is_simple(node) and any(_ends(ast.unparse(c.func), name) for c in calls)


def _called(quoted: ast.stmt) -> str:
    """The name of a call that is quoted without its arguments; empty for anything else."""
    value = quoted.value if isinstance(quoted, ast.Expr) else None
    if isinstance(value, ast.Call):
        left_out = all(isinstance(a, ast.Constant) and a.value is ... for a in value.args)
        value = value.func if left_out else None
    return ast.unparse(value) if isinstance(value, ast.Name | ast.Attribute) else ""


def _ends(called: str, name: str) -> bool:
    return f".{called}".endswith(f".{name}")


def inserted(program: str, node: ast.stmt, code: str, side: Side) -> str | None:
    """The program with lines before or after a statement; ``None`` where it would not parse."""
    lines = program.split("\n")
    at = node.lineno - 1 if side == "before" else node.end_lineno or node.lineno
    text = indent(dedent(code).strip("\n"), " " * node.col_offset)
    changed = "\n".join([*lines[:at], text, *lines[at:]])
    return changed if parses(changed) else None
