"""What a block does, as far as choosing needs to know. It judges nothing."""

import ast
from dataclasses import dataclass

_BACKWARD = frozenset({"backward", "manual_backward", "grad", "grad_and_value", "value_and_grad"})
_FITS = frozenset({"fit", "Trainer"})
_TIMERS = frozenset(
    {"perf_counter", "elapsed_time", "time", "Timer", "timeit", "monotonic", "profile"}
)
_Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True, slots=True)
class Doing:
    """What the code of a block does."""

    backward: bool
    """It computes gradients."""
    steps: bool
    """It updates parameters."""
    loops: bool
    """One of the two happens in a loop, or in a method that a trainer calls in one."""
    fits: bool
    """It hands the loop to a trainer."""
    times: bool
    """It reads a clock."""
    goes_back_in_loop: bool
    """A loop of its own computes gradients."""
    reads_gradients: bool
    """It looks at gradients or clips them."""
    around: frozenset[str]
    """Names of the functions at module level that hold the loop."""
    module_level: bool
    """Whether any of this happens outside of functions and classes."""

    @property
    def whole(self) -> bool:
        """Whether it is a training loop by itself."""
        return self.fits or (self.backward and self.steps and self.loops)

    @property
    def part(self) -> bool:
        """Whether it is a piece of one: gradients and an update, with the loop left out."""
        return self.backward and self.steps


def doing(tree: ast.Module) -> Doing:
    """Look at all calls of a block."""
    called = _calls(tree)
    around = [node for node in tree.body if isinstance(node, _DEFINITIONS) and _trains(node)]
    outside = ast.Module([n for n in tree.body if not isinstance(n, _DEFINITIONS)], [])
    return Doing(
        backward=bool(_BACKWARD & called),
        steps="step" in called,
        loops=_loops(tree),
        fits=bool(_FITS & called),
        times=bool(_TIMERS & called),
        goes_back_in_loop=any(
            isinstance(n, _Loop) and _BACKWARD & _calls(n) for n in ast.walk(tree)
        ),
        reads_gradients=_reads_gradients(tree),
        around=frozenset(node.name for node in around),
        module_level=_trains(outside),
    )


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _trains(node: ast.AST) -> bool:
    called = _calls(node)
    return bool(_FITS & called) or (bool(_BACKWARD & called) and "step" in called)


def _calls(tree: ast.AST) -> set[str]:
    """Last names of everything that is called."""
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {f.attr for f in functions if isinstance(f, ast.Attribute)}
    return named | {f.id for f in functions if isinstance(f, ast.Name)}


def _loops(tree: ast.AST) -> bool:
    """A loop that holds an update or a call into something that may; a lightning step counts."""
    for node in ast.walk(tree):
        if isinstance(node, _Loop) and ("step" in _calls(node) or _BACKWARD & _calls(node)):
            return True
        if isinstance(node, ast.FunctionDef) and node.name == "training_step":
            return True
    loops = [node for node in ast.walk(tree) if isinstance(node, _Loop)]
    stepping = {
        n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and "step" in _calls(n)
    }
    return any(stepping & _calls(loop) for loop in loops)


def _reads_gradients(tree: ast.AST) -> bool:
    return any(
        (isinstance(n, ast.Attribute) and (n.attr == "grad" or n.attr.startswith("clip_grad")))
        or (isinstance(n, ast.Name) and n.id.startswith("clip_grad"))
        for n in ast.walk(tree)
    )
