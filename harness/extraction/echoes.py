"""Blocks that repeat the posted program: word for word, or with lines left out that change nothing."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.extraction.anchors import UPDATE, anchors, does_nothing, is_simple
from harness.extraction.loops import doing
from harness.extraction.parsing import parsed


def echoes(posted: str, code: str) -> bool:
    """Whether a loop is the posted one, maybe without its settings and what it prints, maybe cut off.

    A loop that lacks anything else is a proposal: that line may be the fault.
    """
    try:
        there, here = parsed(posted), parsed(code)
    except SyntaxError:
        return False
    known = doing(here)
    if not (known.whole or known.goes_back_in_loop):
        return False
    compared = _Compared()
    if not compared.repeats(there.body, here.body):
        return False
    if not all(map(_outside_of_training, compared.inside)):
        return False
    beside = compared.settings + compared.behind
    return not known.whole or all(map(_outside_of_training, beside))


@dataclass(slots=True)
class _Compared:
    """What a block leaves out of the posted program."""

    settings: list[ast.stmt] = field(default_factory=list)
    """At module level, before something that it shows."""
    inside: list[ast.stmt] = field(default_factory=list)
    """In a loop, before something that it shows."""
    behind: list[ast.stmt] = field(default_factory=list)
    """Behind the last statement that it shows of a body."""

    def repeats(self, old: list[ast.stmt], new: list[ast.stmt], *, top: bool = True) -> bool:
        """Whether every statement of the block stands in the posted program, in this order."""
        at = 0
        for node in new:
            if does_nothing(node) or (top and isinstance(node, ast.Import | ast.ImportFrom)):
                continue
            found = next((i for i in range(at, len(old)) if self._same(old[i], node)), None)
            if found is None:
                return False
            skipped = old[at:found]
            self.settings += [n for n in skipped if top and not _prepares(n)]
            self.inside += [] if top else skipped
            at = found + 1
        self.behind += old[at:]
        return True

    def _same(self, old: ast.stmt, new: ast.stmt) -> bool:
        if type(old) is not type(new):
            return False
        if is_simple(old) or isinstance(old, ast.FunctionDef | ast.ClassDef):
            return ast.dump(old) == ast.dump(new)
        if _header(old) != _header(new):
            return False
        bodies = zip(_bodies(old), _bodies(new), strict=True)
        return all(self.repeats(one, other, top=False) for one, other in bodies)


def _prepares(node: ast.stmt) -> bool:
    """A setting, or what clears gradients before the first of them."""
    return isinstance(node, ast.Assign) or (
        is_simple(node) and anchors(node).keys() & UPDATE == {"zero_grad"}
    )


def _outside_of_training(node: ast.stmt) -> bool:
    """A line that prints or imports, a setting: what it does to no gradient can be left out."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = ast.unparse(node.value.func)
        return name == "print" or name.startswith(("log", "tqdm.write"))
    return False


def _header(node: ast.stmt) -> list[str]:
    """Everything of a compound statement but its bodies."""
    parts = (value for name, value in ast.iter_fields(node) if name not in _BODIES)
    return [_text(value) for value in parts]


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return ast.dump(value) if isinstance(value, ast.AST) else repr(value)


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in _BODIES:
        body = getattr(node, name, None)
        yield body if isinstance(body, list) else []


_BODIES = ("body", "orelse", "finalbody", "handlers")
