"""What a program lacks that ran to its end and made no update, read off its text. Pure.

The text decides no verdict here: it only says what is to be added.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence

from harness.syntax import tree_of, walk

_TRAINS = frozenset(
    {"step", "fit", "train", "training_step", "train_batch", "minimize", "backward"}
)
"""Methods by which programs train."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LISTED = 2


def why_untrained(program: str) -> str:
    """One sentence: a piece without a loop, a loop that nothing calls, or a step never reached."""
    try:
        return _why(tree_of(program))
    except (SyntaxError, RecursionError):
        return "It made no optimizer step; add the loop that trains."


def _why(tree: ast.Module) -> str:
    lines = _training_lines(tree)
    if not lines:
        return f"It holds no training loop{_instead(tree)}"
    called = _uncalled(tree)
    if called is not None:
        return f"Its training is in `{called[0]}`, which nothing calls; add {called[1]}."
    return (
        f"It ran to its end and made no optimizer step; see whether line {max(lines)}, which trains, "
        "is reached."
    )


def _training_lines(tree: ast.AST) -> list[int]:
    """Lines on which something trains; a schedule's step and ``model.train()`` are no training."""
    calls = (node for node in walk(tree) if isinstance(node, ast.Call))
    return [call.lineno for call in calls if _trains(call.func)]


def _trains(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or function.attr not in _TRAINS:
        return False
    of = ast.unparse(function.value).lower()
    return "sched" not in of and (function.attr != "train" or "trainer" in of)


def _instead(tree: ast.Module) -> str:
    """What there is where a loop should be, and what to add."""
    defined = [node.name for node in tree.body if isinstance(node, _DEFINITIONS)]
    if defined:
        those = "it" if len(defined) == 1 else "them"
        return f": it only defines {_listed(defined)}; add the loop that trains with {those}."
    made = next(_optimizers(tree), None)
    if made is not None:
        return f": it makes an optimizer (`{made}`) that nothing steps; add the loop that trains."
    return "; add the loop that trains."


def _listed(names: Sequence[str]) -> str:
    shown, more = [f"`{name}`" for name in names[:_LISTED]], len(names) - _LISTED
    return f"{', '.join(shown)} and {more} more" if more > 0 else " and ".join(shown)


def _optimizers(tree: ast.AST) -> Iterator[str]:
    """Names of what is made out of ``torch.optim``, or is given ``.parameters()``."""
    for node in walk(tree):
        if isinstance(node, ast.Call):
            said, given = ast.unparse(node.func), " ".join(map(ast.unparse, node.args[:1]))
            if ".parameters()" in given or said.startswith(("optim.", "torch.optim.")):
                yield said.rpartition(".")[2]


def _uncalled(tree: ast.Module) -> tuple[str, str] | None:
    """The definition that trains and that no line outside of it uses, with what to add; ``None``
    where one is used, or a line outside of all of them trains.
    """
    defined = {node.name: node for node in tree.body if isinstance(node, _DEFINITIONS)}
    outside = [node for node in tree.body if not isinstance(node, _DEFINITIONS)]
    training = _reaching(defined)
    used = set().union(*map(_loaded, outside))
    if not training or used & training or any(map(_training_lines, outside)):
        return None
    inner = {name for one in training for name in _loaded(defined[one]) - {one}}
    outermost = [name for name in defined if name in training - inner] or sorted(training)
    chosen = defined["main" if "main" in outermost else outermost[-1]]
    if isinstance(chosen, ast.ClassDef):
        return _method(chosen), "the lines that call it"
    given = chosen.args.posonlyargs + chosen.args.args
    needed = [one.arg for one in given[: len(given) - len(chosen.args.defaults)]]
    return chosen.name, f"the line `{chosen.name}({', '.join(needed)})`"


def _reaching(defined: Mapping[str, ast.stmt]) -> set[str]:
    """The definitions that train, or use one that does."""
    found = {name for name, node in defined.items() if _training_lines(node)}
    while more := {n for n, node in defined.items() if _loaded(node) & found} - found:
        found |= more
    return found


def _loaded(node: ast.AST) -> set[str]:
    names = (one for one in walk(node) if isinstance(one, ast.Name))
    return {one.id for one in names if isinstance(one.ctx, ast.Load)}


def _method(node: ast.ClassDef) -> str:
    inside = (one for one in node.body if isinstance(one, _FUNCTIONS) and _training_lines(one))
    found = next(inside, None)
    return f"{node.name}.{found.name}" if found else node.name
