"""A loop around an average of weights that an answer shows without one: ``class EMA`` and no more.

It trains, averages after each step, evaluates with the averages where the class can put them in and
take them out again, and goes on training.
"""

import ast
import re

from harness.extraction.parsing import parsed
from harness.syntax import walk

ROLES = (
    (re.compile(r"\w*(?:model|net|network|module|student)"), "model"),
    (re.compile(r"\w*param(?:eter)?s"), "model.parameters()"),
    (re.compile(r"decay|beta|alpha|momentum|mu"), "0.9"),
)
"""What such a class is given, by the names of its parameters."""

SWAPS = (("store", "copy_to", "restore"), ("apply_shadow", "restore"), ("apply", "restore"))
"""Methods that put averages in, the last of which takes them out again."""

TRAINS = frozenset({"step", "backward", "fit"})

LOOP = """
average = {made}
for _ in range(3):
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()
        {updated}
    model.eval()
{evaluated}
    model.train()
"""

EVALUATES = "with torch.no_grad():\n    for inputs, _ in val_loader:\n        model(inputs)"


def with_a_loop(program: str) -> str | None:
    """The program and a loop; ``None`` where it trains itself, or shows no such class."""
    tree = parsed(program)
    if any(isinstance(n, ast.Attribute) and n.attr in TRAINS for n in walk(tree)):
        return None
    shown = [s for s in tree.body if isinstance(s, ast.ClassDef) and _averages(s)]
    loop = _loop(shown[0]) if len(shown) == 1 else None
    return None if loop is None else f"{program}\n{loop}"


def _averages(cls: ast.ClassDef) -> bool:
    named = re.search(r"ema|average|averag|shadow", cls.name, re.IGNORECASE)
    return named is not None and "update" in _methods(cls)


def _methods(cls: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {s.name: s for s in cls.body if isinstance(s, ast.FunctionDef)}


def _loop(cls: ast.ClassDef) -> str | None:
    methods = _methods(cls)
    made = _called(cls.name, methods.get("__init__"))
    updated = _called("average.update", methods["update"])
    if made is None or updated is None:
        return None
    evaluated = _evaluated(methods).replace("\n", "\n    ")
    return LOOP.format(made=made, updated=updated, evaluated=f"    {evaluated}")


def _evaluated(methods: dict[str, ast.FunctionDef]) -> str:
    """The lines that evaluate, with the averages where the class swaps them."""
    for names in SWAPS:
        calls = [_called(f"average.{n}", methods[n]) for n in names if n in methods]
        if len(calls) == len(names) and None not in calls:
            *into, back = map(str, calls)
            return "\n".join([*into, EVALUATES, back])
    for name, method in methods.items():
        around = any("contextmanager" in ast.unparse(d) for d in method.decorator_list)
        call = _called(f"average.{name}", method) if around else None
        if call is not None:
            inner = EVALUATES.replace("\n", "\n    ")
            return f"with {call}:\n    {inner}"
    return EVALUATES


def _called(name: str, function: ast.FunctionDef | None) -> str | None:
    """A call of it with what its parameters without a default mean; ``None`` where one means nothing
    known.
    """
    if function is None:
        return None
    places = function.args.args[1 : len(function.args.args) - len(function.args.defaults)]
    given = [next((r for p, r in ROLES if p.fullmatch(a.arg.lower())), None) for a in places]
    return None if None in given else f"{name}({', '.join(map(str, given))})"
