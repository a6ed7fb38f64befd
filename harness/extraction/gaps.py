"""Loops with gaps, ``...`` or "# rest as before": what the author has there is not known."""

import ast
import re

from harness.extraction.anchors import anchors, does_nothing
from harness.extraction.parsing import parsed
from harness.syntax import walk

_GAP = re.compile(
    r"^\s+#[\s#\u2026.\-\u2013\u2014(<\[]*(?:.*(?:\.\.\.|\u2026).*"
    r"|(?:\w+\W+){0,6}?(?:as (?:before|it (?:is|was)|in your|you have)|unchanged|stays? the same"
    r"|same as (?:before|yours))\b.*"
    r"|(?:the )?(?:rest|remainder) (?:of|as|is|stays|unchanged|goes|here)\b.*"
    r"|(?:your|the|existing|usual) (?:existing |usual |other )?(?:code|lines|steps)(?: here)?\W*)$",
    re.IGNORECASE,
)


def has_gap(program: str) -> bool:
    """Whether a loop that trains leaves lines out."""
    lines = program.split("\n")
    for loop in (n for n in walk(parsed(program)) if isinstance(n, ast.For | ast.While)):
        comments = lines[loop.lineno - 1 : loop.end_lineno]
        found = any(isinstance(n, ast.Expr) and _is_dots(n) for n in walk(loop))
        if (anchors(loop)["backward"] or found) and (found or any(map(_GAP.match, comments))):
            return True
    return False


def _is_dots(node: ast.Expr) -> bool:
    return does_nothing(node) and isinstance(node.value, ast.Constant) and node.value.value is ...
