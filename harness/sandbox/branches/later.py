"""Which conditions depend on how long training has gone on, or on where the program runs."""

import ast
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise

from harness.sandbox.branches.marks import BranchesSeen
from harness.sandbox.branches.reading import (
    TRAINS,
    Definition,
    Loop,
    Sources,
    operands,
    unmarked,
    word,
)
from harness.sandbox.branches.touching import Touching
from harness.syntax import walk

KNOWN = frozenset({"global_step", "current_epoch", "last_epoch", "_step_count"})
"""Attributes in which libraries count steps and epochs."""

CHANGING = frozenset({
    "time", "perf_counter", "monotonic", "time_ns", "perf_counter_ns", "monotonic_ns", "today", "now",
    "utcnow", "strftime", "localtime", "gmtime", "process_time", "getsize", "stat", "tell", "random",
    "uniform", "randint", "randrange",
})  # fmt: skip
"""Calls whose answer is another one in a later turn: the clock, the size of a file, chance."""

MACHINE = frozenset({
    "modules", "getppid", "getpid", "gethostname", "uname", "node", "geteuid", "getuid", "getcwd",
    "cpu_count", "settrace", "gettrace", "_getframe", "prctl", "getrlimit", "isatty",
    "expanduser", "currentframe", "getsource", "getsourcefile", "getfile", "__wrapped__",
})  # fmt: skip
"""Names by which a program asks where it runs; what it does elsewhere nobody saw."""

PLACES = ("/proc", "/sys/", "/etc/", "/usr/", "/home", "/root", "~")
"""Files that tell the same."""

VARIABLES = frozenset({
    "CI", "GITHUB_ACTIONS", "GITLAB_CI", "PYTEST_CURRENT_TEST", "TERM", "SHELL", "PATH", "HOME", "USER",
    "LOGNAME", "LANG", "PWD", "DISPLAY", "HOSTNAME", "VIRTUAL_ENV", "CONDA_PREFIX", "SSH_CONNECTION",
    "CUDA_VISIBLE_DEVICES", "GLIBC_TUNABLES", "HARNESS", "SANDBOX",
})  # fmt: skip
"""Environment variables that do; any other one is a setting."""

DRAWS = frozenset({"next", "pop", "popleft", "popitem"})
"""Calls that give something else each time, until nothing is left."""

ANSWERS = frozenset({"__bool__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__len__"})
"""Methods of a class by which a condition asks one of its objects."""

RANGES = frozenset({"range", "trange", "count", "enumerate"})
"""Calls that a loop counts by."""

MOVES = frozenset({"pop", "popleft", "popitem", "add_", "sub_", "mul_", "div_", "append"})
"""Calls by which a list or a counter in a tensor moves."""

SAME_STEP = 1e-6
"""How exactly the steps of a count are alike, relative to the step."""

FEWEST = 4
"""With fewer numbers nobody sees how they go on; then names tell."""

DEEPEST = 4
"""How many names to follow from a name to what it was computed from."""


class LaterConditions:
    """Answers, for one program, which conditions change as training goes on."""

    def __init__(self, sources: Sources, touching: Touching, seen: BranchesSeen) -> None:
        """Find what is counted."""
        self._sources, self._seen = sources, seen
        self._training = [loop for loop in sources.loops if touching.reached(loop.body) & TRAINS]
        self._answering = {
            node.name
            for node in sources.nodes
            if isinstance(node, ast.ClassDef)
            and any(isinstance(s, ast.FunctionDef) and s.name in ANSWERS for s in node.body)
        }
        """Classes whose objects say themselves what they are worth in a condition."""
        self._targets = {*KNOWN - sources.values.keys()}.union(*map(_counted, self._training))
        self._moving = {*self._targets}
        for node in sources.nodes:
            if self.is_in_training(node):
                self._moving |= _moved(node) - touching.losses

    def is_in_training(self, node: ast.AST) -> bool:
        """Whether it stands in a loop that trains, or in a function that one may call."""
        return any(
            isinstance(above, Definition) or any(above is loop for loop in self._training)
            for above in self._sources.ancestors(node)
        )

    def runs_in_training(self, node: ast.AST) -> bool:
        """Whether it stands in a loop that trains, or in a function that such a loop can come to by any
        name; other than one that only made what the loop uses.
        """
        function = self._sources.function_of(node)
        inside = any(above in self._training for above in self._sources.ancestors(node))
        return inside or (function is not None and function.name in self._named_in_training)

    @cached_property
    def _named_in_training(self) -> set[str]:
        """Names that the loops which train use, and those that their functions and aliases do."""
        waiting: list[ast.AST] = [*self._training]
        known: set[str] = set()
        while waiting:
            new = {name for n in walk(waiting.pop()) if (name := _named(n))} - known
            known |= new
            for name in new:
                waiting += self._sources.functions.get(name, ())
                values = self._sources.values.get(name, ())
                waiting += [a for v in values for a in (v.args if isinstance(v, ast.Call) else [v])]
        return known

    def turns(self, part: ast.expr, mark: int, *, wanted: bool) -> bool:
        """Whether this part of a condition becomes ``wanted`` only after longer training, or
        elsewhere.
        """
        if self._asks_elsewhere(part) or self._holds(part, CHANGING) or _draws(part):
            return True
        operators = [type(node.op) for node in walk(part) if isinstance(node, ast.BinOp)]
        if ast.Mod in operators:
            equal = isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq)
            return self.counts(part) and wanted == equal
        if any(self.counts(value) for value in self._truths(part)):
            return True
        gaps = self._seen.gaps.get(mark, [])
        streak = _streak(gaps)
        stands = len(gaps) >= FEWEST and len({*gaps}) == 1
        if ast.FloorDiv in operators or (len(streak) < FEWEST and not stands):
            return self._holds(part, self._targets if _is_of_few(part) else self._moving)
        return not stands and _comes_nearer(streak)

    def _truths(self, part: ast.expr) -> list[ast.expr]:
        """Comparisons that a flag, or what a function returns, was computed from."""
        values = self._sources.values.get(word(part) or "", [])
        return [v for v in values if any(isinstance(node, ast.Compare) for node in walk(v))]

    def counts(self, tree: ast.expr) -> bool:
        """Whether it is computed from what moves in a turn of training."""
        return self._holds(tree, self._moving | CHANGING)

    def is_scheduled(self, tree: ast.expr) -> bool:
        """Whether a number is another one in each turn by a count, or by what is left of a list; one
        that follows the data is none.
        """
        return _draws(tree) or self._holds(tree, self._targets | CHANGING | self._ticking)

    @cached_property
    def _ticking(self) -> set[str]:
        """Names that each turn moves by the same constant."""
        return {
            word(n.target) or ""
            for n in self._sources.nodes
            if isinstance(n, ast.AugAssign)
            and isinstance(n.value, ast.Constant)
            and self.is_in_training(n)
        }

    def _holds(self, tree: ast.expr, names: AbstractSet[str], depth: int = 0) -> bool:
        """Whether it is computed from what these names or calls tell."""
        for part in operands(tree):
            if word(part) in names or _is_of_state(part):
                return True
            if isinstance(part, ast.Name) and depth < DEEPEST:
                values = self._sources.values.get(part.id, [])
                if any(self._holds(value, names, depth + 1) for value in values):
                    return True
        return False

    def _asks_elsewhere(self, tree: ast.expr, depth: int = 0) -> bool:
        """Whether a condition asks the machine, or an object of a class that answers as it likes."""
        for node in walk(tree):
            name = word(node) if isinstance(node, ast.Name | ast.Attribute) else None
            answers = isinstance(node, ast.Call) and word(node.func) in self._answering
            text = node.value if isinstance(node, ast.Constant) else ""
            if name in MACHINE or answers or text in VARIABLES or str(text).startswith(PLACES):
                return True
            if isinstance(node, ast.Name) and depth < DEEPEST:
                values = self._sources.values.get(node.id, [])
                if any(self._asks_elsewhere(value, depth + 1) for value in values):
                    return True
        return False


def _draws(tree: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and word(n) in DRAWS | CHANGING for n in walk(tree))


def _is_of_state(node: ast.expr) -> bool:
    """``state["step"]``: an optimizer counts its own steps."""
    return isinstance(node, ast.Subscript) and word(node) == "step"


def _named(node: ast.AST) -> str | None:
    return word(node) if isinstance(node, ast.Name | ast.Attribute) else None


def _counted(loop: Loop) -> set[str]:
    """``for step in range(9)``, ``for i, batch in enumerate(loader)``."""
    if isinstance(loop, ast.While):
        return set()
    calls = {word(node.func) for node in walk(loop.iter) if isinstance(node, ast.Call)}
    first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    return {first.id} if calls & RANGES and isinstance(first, ast.Name) else set()


def _moved(node: ast.AST) -> set[str]:
    """The name that a statement counts in: ``n += 1``, ``n = n + 1``, ``seen.add_(1)``."""
    match node:
        case ast.AugAssign(target=target):
            return {word(target) or ""}
        case (
            ast.Assign(targets=[target], value=ast.BinOp(left=left))
            | ast.NamedExpr(target=target, value=ast.BinOp(left=left))
        ):
            return {word(target) or ""} if word(left) == word(target) else set()
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in MOVES:
            return {word(value) or ""}
    return set()


def _is_of_few(part: ast.expr) -> bool:
    """``if pending > 0``: that something was counted at all is not about time."""
    others = map(unmarked, part.comparators) if isinstance(part, ast.Compare) else ()
    return all(isinstance(n, ast.Constant) and n.value in (0, 1) for n in others)


def _streak(gaps: list[float]) -> list[float]:
    """The longest row of numbers in which nothing begins anew."""
    rows: list[list[float]] = []
    for gap in gaps:
        if not rows or gap == gaps[0]:
            rows.append([])
        rows[-1].append(gap)
    return max(rows, key=len, default=[])


def _comes_nearer(gaps: list[float]) -> bool:
    """Whether a number comes nearer to where it turns, by steps that are alike or grow by a factor."""
    steps = [b - a for a, b in pairwise(gaps)]
    factors = [b / a if a else 0.0 for a, b in pairwise(steps)]
    nearer = all(abs(b) < abs(a) for a, b in pairwise(gaps))
    return nearer and (_are_alike(steps) or _are_alike(factors))


def _are_alike(numbers: list[float]) -> bool:
    return all(abs(n - numbers[0]) <= SAME_STEP * abs(numbers[0]) for n in numbers)
