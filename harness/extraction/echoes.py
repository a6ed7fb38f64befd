"""Blocks that repeat the posted program: word for word, or with lines left out that change nothing."""

import ast
import re

from harness.extraction.loops import doing
from harness.extraction.parsing import parsed

_SAYS = re.compile(r"\s*(?:print\(|log\w*(?:\.\w+)*\(|tqdm\.write\(|import |from |['\"])")
"""What does nothing to a gradient: printing, importing, a bare text."""
_PREPARES = re.compile(r"\w[\w., ]*(?: = |: )|[\w.]+\.zero_grad\(")
"""A setting at module level, and what clears gradients before the first of them."""


def echoes(posted: str, code: str) -> bool:
    """Whether a loop is the posted one, maybe without its settings and what it prints, maybe cut off.

    A loop that lacks anything else is a proposal: that line may be the fault.
    """
    try:
        known = doing(parsed(code))
        old, new = _lines(posted), _lines(code)
    except SyntaxError:
        return False
    if not (known.whole or known.goes_back_in_loop):
        return False
    if not {line for line in new if _PREPARES.match(line)} <= {*old}:
        return False
    old, new = ([li for li in lines if not _PREPARES.match(li)] for lines in (old, new))
    return new == (old if known.whole else old[: len(new)])


def _lines(code: str) -> list[str]:
    """Without comments and layout, and without what is only said."""
    written = ast.unparse(parsed(code)).split("\n")
    return [line for line in written if line.strip() and not _SAYS.match(line)]
