"""What a block does, as far as choosing needs to know. It judges nothing."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from harness.extraction.by_hand import changes_by_hand
from harness.extraction.names import DEFINITIONS
from harness.extraction.reach import calls, comes_to, last_name
from harness.syntax import walk

_BACKWARD = frozenset({"backward", "manual_backward", "grad", "grad_and_value", "value_and_grad"})
_FITS = frozenset({"fit", "Trainer"})
_TIMERS = frozenset(
    {"perf_counter", "elapsed_time", "time", "Timer", "timeit", "monotonic", "profile"}
)
_LOOPING_CALLS = frozenset({"map", "starmap", "reduce"})
_Loop = (
    ast.For
    | ast.AsyncFor
    | ast.While
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """What the code of a block does, as facts."""

    backward: bool
    """It computes gradients."""
    steps: bool
    """It updates parameters."""
    loops: bool
    """One of the two happens in a loop, or in a method that a trainer calls repeatedly."""
    fits: bool
    """It hands the loop to a trainer's ``fit``."""
    times: bool
    """It reads a clock."""
    goes_back_in_loop: bool
    """A loop in the block itself computes gradients."""
    around: frozenset[str]
    """Names of the module-level functions that contain the loop."""
    module_level: bool
    """Whether any of this happens outside of functions and classes."""

    @property
    def whole(self) -> bool:
        """Whether it is a training loop by itself."""
        return self.fits or (self.backward and self.steps and self.loops)

    @property
    def part(self) -> bool:
        """Whether it is the body of a training loop: gradients and an update, without the loop."""
        return self.backward and self.steps


def doing(tree: ast.Module) -> BlockFacts:
    """Look at all calls of a block."""
    called = calls(tree)
    around = [node for node in tree.body if isinstance(node, DEFINITIONS) and _trains(node)]
    outside = ast.Module([n for n in tree.body if not isinstance(n, DEFINITIONS)], [])
    return BlockFacts(
        backward=bool(_BACKWARD & called),
        steps="step" in called or bool(_BACKWARD & called and changes_by_hand(tree)),
        loops=_loops(tree),
        fits=bool(_FITS & called),
        times=bool(_TIMERS & called),
        goes_back_in_loop=any(comes_to(n, tree, _BACKWARD) for n in _loops_of(tree)),
        around=frozenset(node.name for node in around),
        module_level=_trains(outside),
    )


def _trains(node: ast.AST) -> bool:
    called = calls(node)
    updates = "step" in called or changes_by_hand(node)
    return bool(_FITS & called) or (bool(_BACKWARD & called) and updates)


def _loops(tree: ast.Module) -> bool:
    """A loop that comes to an update or to its gradients; a lightning step counts."""
    updates = _BACKWARD | {"step"}
    names = {n.name for n in walk(tree) if isinstance(n, ast.FunctionDef)}
    return "training_step" in names or any(
        comes_to(loop, tree, updates) for loop in _loops_of(tree)
    )


def _loops_of(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs again and again: also a comprehension, a map, a function that calls itself."""
    for node in walk(tree):
        maps = isinstance(node, ast.Call) and last_name(node.func) in _LOOPING_CALLS
        recurs = isinstance(node, ast.FunctionDef) and any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == node.name
            for n in walk(node)
        )
        if isinstance(node, _Loop) or maps or recurs:
            yield node
