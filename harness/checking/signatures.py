"""Arguments that a library does not take, asked of the library itself: a call that a block does not
reach, or that a stand-in takes for it, is wrong all the same.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping

from pydantic import TypeAdapter

from harness.checking.driving import NoReport, ask
from harness.checking.errors import imported, writes_all
from harness.checking.session import BlockInContext, is_here, release
from harness.domain.instruments import Instruments
from harness.syntax import dotted, walk

_SAID: TypeAdapter[tuple[int, str]] = TypeAdapter(tuple[int, str])
CallShape = tuple[str, int, tuple[str, ...]]
"""Dotted path of what is called, how many arguments stand by position, names of the others."""


def refused_calls(programs: Iterable[BlockInContext], tools: Instruments) -> Mapping[str, str]:
    """Calls that the installed libraries refuse, by how they are written, with what is said."""
    calls = sorted({call for program in programs for _, call in _calls(program)})
    if not calls:
        return {}
    try:
        said = ask("signatures", {"CALLS": [list(call) for call in calls]}, tools)
    except NoReport:
        return {}  # it said nothing against any
    told = [_SAID.validate_json(line) for line in said]
    return {_key(calls[n]): f"{why} ({release(calls[n][0].partition('.')[0])})" for n, why in told}


def refusal(refused: Mapping[str, str], program: BlockInContext) -> str | None:
    """The first call of the block's own lines that a library refuses, in words."""
    for node, call in _calls(program):
        if program.is_own(node.lineno) and (why := refused.get(_key(call))):
            return f"line {program.place(node.lineno)} raises TypeError: {why}"
    return None


def _key(call: CallShape) -> str:
    return repr(call)


def _calls(program: BlockInContext) -> Iterator[tuple[ast.Call, CallShape]]:
    """Calls of installed libraries with arguments by name, outside of what is tried."""
    if any(
        alias.name == "*"
        for node in walk(program.tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ):
        return  # any name may be one of these
    paths = imported(program.tree)
    tried = {id(n) for t in walk(program.tree) if isinstance(t, ast.Try) for n in walk(t)}
    for node in walk(program.tree):
        if not isinstance(node, ast.Call) or id(node) in tried or not _is_plain(node):
            continue
        first, _, rest = dotted(node.func).partition(".")
        whole = f"{paths.get(first, '')}.{rest}".strip(".")
        known = first in paths and first not in program.guessed | program.granted
        if known and "." in whole and is_here(whole.partition(".")[0]):
            names = tuple(sorted(k.arg for k in node.keywords if k.arg))
            yield node, (whole, len(node.args), names)


def _is_plain(node: ast.Call) -> bool:
    """Whether it names arguments, and neither leaves some out nor hands on what nobody sees, nor calls
    what another call returns.
    """
    hidden = any(isinstance(n, ast.Call) for n in walk(node.func))
    return bool(node.keywords) and not hidden and writes_all(node)
