"""A state that is kept with others, and left in the file when these are taken up."""

import ast

from harness.syntax import dotted, tree_of, walk

LAWFUL = ("scaler", "grad_scaler", "amp")
"""States that are found again within a few steps."""

MOVES = ("update", "update_parameters", "step", "train", "parameters")
"""What is called of an object that training changes."""


def forgotten_state(source: str) -> str | None:
    """What a program keeps of an object beside its model and its optimizer, as it is written, and never
    asks the file for, where it takes up both of these; ``None`` otherwise.
    """
    try:
        tree = tree_of(source)
    except SyntaxError:
        return None
    said = [n.value for n in walk(tree) if isinstance(n, ast.Constant)]
    taken = {key for n in walk(tree) if (key := _taken_up(n)) is not None}
    for kept in (n for n in walk(tree) if isinstance(n, ast.Dict)):
        states = dict(_states(kept))
        if not any("opt" in key for key in states.keys() & taken) or len(states) < 3:
            continue
        for key in states.keys() - taken:
            once = said.count(key) == 1 and key not in LAWFUL
            if once and len(states.keys() & taken) > 1 and _goes_on(states[key], tree):
                return ast.unparse(states[key])
    return None


def _states(kept: ast.Dict) -> list[tuple[str, ast.Call]]:
    """What is kept as ``"ema": ema.state_dict()``, by its key."""
    found = []
    for key, value in zip(kept.keys, kept.values, strict=True):
        match key, value:
            case ast.Constant(value=str(name)), ast.Call(func=ast.Attribute(attr="state_dict")):
                found.append((name, value))
    return found


def _taken_up(node: ast.AST) -> str | None:
    """``"model"`` of ``model.load_state_dict(state["model"])``."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="load_state_dict"),
            args=[ast.Subscript(slice=ast.Constant(value=str(key))), *_],
        ):
            return key
    return None


def _goes_on(state: ast.Call, tree: ast.Module) -> bool:
    """Whether the object is one that a step of training changes: it is averaged, trained or moved."""
    owner = dotted(state.func).removesuffix(".state_dict").removesuffix(".module")
    calls = {dotted(n.func) for n in walk(tree) if isinstance(n, ast.Call)}
    return bool(owner) and any(f"{owner}.{how}" in calls for how in MOVES)
