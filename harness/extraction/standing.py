"""What an answer lets stand of the posted code: definitions that its program uses and does not show."""

import ast
import re
from dataclasses import dataclass

from harness.extraction.deletions import sentences
from harness.extraction.names import DEFINITIONS, Statement, free_names, statements
from harness.extraction.parsing import parsed, source_of
from harness.extraction.splicing import Snippet, splice
from harness.syntax import walk

_VERB = (
    r"(?<!\b[Tt]he )(?<!\b[Tt]his )"  # nouns
    r"\b(?i:delet|remov|drop|throw|tak(?:e|es|ing) out|get rid|chang|rewrit|replac|edit|modif|fix|strip"
    r"|mov(?:e|es|ing)\b|add(?:s|ing)?\b)"
)
_KEEPS = re.compile(r"\b(?:don'?t|do not|never|no need|without)\b", re.IGNORECASE)
_LONG = 6
"""Letters from which on a word of an argument's name says what is spoken of."""


def with_what_stands(
    program: str, posted: tuple[str, ...], answer: str, others: tuple[str, ...] = ()
) -> str:
    """The program after the posted functions, classes and constants that it uses and does not show.

    What is made with their help comes along. Nothing comes of which the answer says that it changes:
    how it reads then is not known. ``others``: code of the answer that the program has nothing of.
    """
    tree = parsed(program)
    parts = statements(tree)
    known = frozenset().union(*(part.binds for part in parts))
    for code in posted:
        standing = _Standing(code, answer, others, known & _called(tree))
        taken = standing.needed(set(free_names(parts)), known)
        if taken:
            return _in_front(tree, program, [source_of(code, part.node) for part in taken])
    return program


@dataclass(frozen=True, slots=True)
class _Standing:
    """One posted program, and what the answer says about it."""

    code: str
    answer: str
    others: tuple[str, ...]
    does: frozenset[str]
    """Functions and classes that the answer's program both shows and calls."""

    def needed(self, missing: set[str], known: frozenset[str]) -> list[Statement]:
        """What binds these names, with what that needs; nothing where a part of it is changed."""
        try:
            parts = statements(parsed(self.code))
        except SyntaxError:
            return []
        offered = [
            part for part in _offered(parts) if not (part.binds & known or self._is_done(part))
        ]
        taken: list[Statement] = []
        while found := [p for p in offered if p not in taken and p.binds & missing]:
            taken += found
            missing |= {name for part in found for name in part.needs | part.needs_later}
        real = [part for part in taken if not _imports(part)]
        if not real or any(self._changed(part) for part in real):
            return []
        return [part for part in parts if part in taken]

    def _is_done(self, part: Statement) -> bool:
        """Whether it puts a thing into what the program puts it into by itself:
        ``model = Wrapped(model)``.
        """
        return bool(part.binds & part.needs and part.needs & self.does)

    def _changed(self, part: Statement) -> bool:
        """Whether the answer says that it is to be another."""
        spoken = sentences(self.answer)
        if isinstance(part.node, ast.Assign | ast.AnnAssign) and part.defines:
            return any(_quotes(s, part) and re.search(r"\d", s) for s in spoken)
        said = any(changes(s, name) for s in spoken for name in part.binds)
        return said or self._other_arguments(part) or self._spliced(part)

    def _other_arguments(self, part: Statement) -> bool:
        """Whether the answer speaks of an argument that it gives."""
        calls = [node for node in walk(part.node) if isinstance(node, ast.Call)]
        words = {w for call in calls for k in call.keywords for w in (k.arg or "").split("_")}
        return any(len(word) >= _LONG and word in self.answer for word in words)

    def _spliced(self, part: Statement) -> bool:
        """Whether other code of the answer belongs into it."""
        source = source_of(self.code, part.node)
        return any(splice(source, Snippet(other)) is not None for other in self.others)


def _offered(parts: tuple[Statement, ...]) -> list[Statement]:
    """Imports, definitions, and what is made with their help."""
    own: set[str] = set()
    found: list[Statement] = []
    for part in parts:
        made = isinstance(part.node, ast.Assign) and bool(part.needs & own)
        if part.defines or made:
            found.append(part)
        if made or isinstance(part.node, DEFINITIONS):
            own |= part.binds
    return found


def _called(tree: ast.Module) -> frozenset[str]:
    calls = (node.func for node in walk(tree) if isinstance(node, ast.Call))
    return frozenset(called.id for called in calls if isinstance(called, ast.Name))


def _imports(part: Statement) -> bool:
    return isinstance(part.node, ast.Import | ast.ImportFrom)


def _quotes(sentence: str, part: Statement) -> bool:
    return any(re.search(rf"`[^`]*\b{re.escape(name)}\b", sentence) for name in part.binds)


def changes(sentence: str, name: str) -> bool:
    """Whether something is to be done to what is called so, and not to what stands beside it."""
    quoted = rf"`[^`]*\b{re.escape(name)}\b[^`]*`"
    within = r"(?i:in|inside|within|from|of|to)\b[^`]*"
    patterns = (
        rf"{_VERB}[^`]*{quoted}",
        rf"{_VERB}.*\b{within}{quoted}",
        rf"^\W*{within}{quoted}.*{_VERB}",
        rf"{quoted}[^`]*?\b(?<!as it )(?<!as they )(?:should|must|needs?|has to|no longer)\b",
    )
    flat = " ".join(sentence.split())
    return not _KEEPS.search(flat) and any(re.search(pattern, flat) for pattern in patterns)


def _in_front(tree: ast.Module, program: str, codes: list[str]) -> str:
    """Below a docstring and what is imported from the future: these stay first."""
    ends = [node.end_lineno or 0 for node in tree.body if _stays_first(node)]
    lines, at = program.split("\n"), max(ends, default=0)
    above = ["\n".join(lines[:at])] if at else []
    return "\n\n".join([*above, *codes, "\n".join(lines[at:])])


def _stays_first(node: ast.stmt) -> bool:
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return future or (said and node.lineno == 1)
