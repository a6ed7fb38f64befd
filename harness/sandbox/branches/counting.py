"""Which conditions depend on how long training has gone on: a count compared with a constant."""

import ast

from harness.sandbox.branches.sources import SAME, Definition, Loop, Sources, unmarked, word
from harness.sandbox.branches.touching import Touching
from harness.syntax import walk

KNOWN = frozenset({"global_step", "current_epoch", "last_epoch", "_step_count"})
"""Attributes in which libraries count steps and epochs."""

CLOCKS = frozenset({"time", "perf_counter", "monotonic"})
"""Calls that tell how long the program has run."""

MEASURES = frozenset({"getsize", "stat", "tell", "random", "uniform", "randint", "randrange"})
"""Calls whose answer is another one in a later turn: the size of a file, chance."""

MACHINE = frozenset({
    "modules", "getppid", "getpid", "gethostname", "uname", "node", "geteuid", "getuid", "getcwd",
    "cpu_count", "settrace", "gettrace", "_getframe", "prctl",
})  # fmt: skip
"""Names by which a program asks where it runs; what it does elsewhere nobody saw."""

PLACES = ("/proc", "/sys/", "/etc/")
"""Files that tell the same."""

TAKES = frozenset({"pop", "popleft", "popitem"})
"""Calls by which a list runs out."""

SHIFTS = frozenset({"add_", "sub_", "mul_", "div_"})
"""Calls by which a counter in a tensor moves."""

ANSWERS = frozenset({"__bool__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__len__"})
"""Methods of a class by which a condition asks one of its objects."""

RANGES = frozenset({"range", "trange", "count"})

TRAINS = frozenset({"backward", "manual_backward", "step"})
"""Calls that make a loop a training loop."""

FEW = 1.0
"""A count compared with at most this is not about time: ``if pending > 0``."""

ROUNDS = 3
"""How many times to look for names that are computed from counts."""

DEEPEST = 4
"""How many names to follow from a name to the comparison that it holds."""

Flipped = dict[type[ast.cmpop], type[ast.cmpop]]
FLIPPED: Flipped = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


class Counting:
    """Answers, for one program, which conditions change as training goes on."""

    def __init__(self, sources: Sources, touching: Touching) -> None:
        """Find what is counted."""
        self._sources = sources
        self._touching = touching
        self._training = [loop for loop in sources.loops if touching.reached(loop.body) & TRAINS]
        self._names = set(KNOWN - sources.values.keys())
        self._turns: set[str] = set()
        """Those that a loop counts in, which nothing sets back."""
        self._falling: set[str] = set()
        """Those that count down."""
        self._periodic: set[str] = set()
        """Those that begin anew: ``step % 4``."""
        self._grown: set[str] = set()
        """Lists that every turn appends to."""
        self._answering = {
            node.name
            for node in sources.nodes
            if isinstance(node, ast.ClassDef)
            and any(isinstance(s, ast.FunctionDef) and s.name in ANSWERS for s in node.body)
        }
        """Classes whose objects say themselves what they are worth in a condition."""
        self._find()

    def later(self, part: ast.expr, *, wanted: bool, depth: int = 0) -> bool:
        """Whether this part of a condition becomes ``wanted`` only after longer training, or
        elsewhere.
        """
        part = unmarked(part)
        match part:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.later(operand, wanted=not wanted, depth=depth)
            case ast.BoolOp(values=values):
                return any(self.later(value, wanted=wanted, depth=depth) for value in values)
            case ast.Compare(left=left, ops=ops, comparators=others):
                pairs = zip([left, *others], ops, others, strict=False)
                told = any(self._compared(a, op, b, wanted=wanted) for a, op, b in pairs)
                return told or self._asks_elsewhere(part)
            case ast.Call(func=ast.Name(id="bool"), args=[said]):
                return self.later(said, wanted=wanted, depth=depth)
        return self._asks_elsewhere(part) or self._said(part, wanted=wanted, depth=depth)

    def _said(self, part: ast.expr, *, wanted: bool, depth: int) -> bool:
        """Whether the truth of a count, or of what a name was given, changes so."""
        if self.counts(part):
            return not wanted if self.begins_anew(part) else self._turns_to(part, wanted=wanted)
        values = self._sources.values.get(word(part) or "", [])
        return depth < DEEPEST and any(
            self.later(value, wanted=wanted, depth=depth + 1) for value in values
        )

    def counts(self, tree: ast.expr) -> bool:
        """Whether a number is computed from counts and constants alone."""
        tree = unmarked(tree)
        match tree:
            case ast.BinOp(left=left, right=right):
                sides = [(self.counts(side), side) for side in (left, right)]
                counted = any(c for c, _ in sides)
                return counted and all(c or self._is_constant(side) for c, side in sides)
            case ast.UnaryOp(operand=operand) | ast.NamedExpr(value=operand):
                return self.counts(operand)
            case ast.Call(func=func, args=args):
                grown = word(func) == "len" and any(word(arg) in self._grown for arg in args)
                of = [func.value] if isinstance(func, ast.Attribute) else []
                made = word(func) in SAME and any(map(self.counts, [*args, *of]))
                clock = (word(func) in CLOCKS and not args) or word(func) in MEASURES
                return grown or made or clock or ast.unparse(func) in ("count", "itertools.count")
        return _is_name(tree) and word(tree) in self._names

    def is_in_training(self, node: ast.AST) -> bool:
        """Whether it stands in a loop that trains."""
        around = {id(above) for above in self._sources.ancestors(node)}
        return any(id(loop) in around for loop in self._training)

    def _asks_elsewhere(self, tree: ast.expr, depth: int = 0) -> bool:
        """Whether a condition asks the machine, or an object of a class that answers as it likes."""
        for node in walk(tree):
            if isinstance(node, ast.Name | ast.Attribute) and word(node) in MACHINE:
                return True
            if isinstance(node, ast.Constant) and str(node.value).startswith(PLACES):
                return True
            if isinstance(node, ast.Call) and word(node.func) in self._answering:
                return True
            if isinstance(node, ast.Name) and depth < DEEPEST:
                values = self._sources.values.get(node.id, [])
                if any(self._asks_elsewhere(value, depth + 1) for value in values):
                    return True
        return False

    def in_turns(self, tree: ast.expr) -> bool:
        """Whether the length of a loop depends on a count: ``range(step // 500)``."""
        return any(
            (isinstance(node, ast.BinOp) and self.counts(node))
            or (isinstance(node, ast.Compare) and self.later(node, wanted=True))
            for node in walk(tree)
        )

    def begins_anew(self, tree: ast.expr) -> bool:
        """Whether it depends on a count modulo something: ``(i + 1) % 4 == 0``."""
        modulo = (
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in walk(tree)
        )
        return any(modulo) or self._is_made_of(tree, self._periodic)

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, *, wanted: bool) -> bool:
        kind = type(op)
        if self.counts(right) and not self.counts(left):
            left, right, kind = right, left, FLIPPED.get(kind, kind)
        if not (self.counts(left) and self._is_constant(right)):
            return False
        if self._is_made_of(left, self._falling):
            return True
        beyond = self._is_turn(left) or self._is_more_than_few(right)
        again = self.begins_anew(left)
        return {
            ast.Eq: wanted if again else beyond,
            ast.NotEq: not wanted if again else beyond,
            ast.Gt: wanted and beyond,
            ast.GtE: wanted and beyond,
            ast.Lt: not wanted and beyond,
            ast.LtE: not wanted and beyond,
            ast.In: wanted,
            ast.NotIn: not wanted,
        }.get(kind, False)

    # ------------------------------------------------------------------------------ what is constant

    def _is_constant(self, tree: ast.expr, depth: int = 0) -> bool:
        tree = unmarked(tree)
        parts: list[ast.expr]
        match tree:
            case ast.Constant(value=value):
                return isinstance(value, int | float)
            case ast.UnaryOp(operand=operand):
                parts = [operand]
            case ast.BinOp(left=left, right=right):
                parts = [left, right]
            case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
                pass
            case ast.Call(func=ast.Name(id="range" | "int" | "float" | "set"), args=parts):
                pass
            case _ if _is_name(tree) and depth < DEEPEST:
                values = self._sources.values.get(word(tree) or "", [])
                parts = [value for value in values if word(value) != word(tree)]
                depth += 1
            case _:
                return False
        return bool(parts) and all(self._is_constant(part, depth) for part in parts)

    def _is_more_than_few(self, tree: ast.expr) -> bool:
        tree = unmarked(tree)
        values = self._sources.values.get(word(tree) or "", []) if _is_name(tree) else [tree]
        known = [v.value for v in values if isinstance(v, ast.Constant)]
        numbers = [value for value in known if isinstance(value, int | float)]
        negative = isinstance(tree, ast.UnaryOp)
        return max(numbers, default=0.0 if negative else FEW + 1) > FEW

    # ------------------------------------------------------------------------------- what is counted

    def _find(self) -> None:
        for loop in self._training:
            self._counted(loop)
        for moved in self._sources.moved:
            self._move(word(moved.target), moved.op, moved.value, moved)
        for name, values in self._sources.values.items():
            for value in map(unmarked, values):
                if isinstance(value, ast.BinOp) and word(value.left) == name:
                    self._move(name, value.op, value.right, value)
        for call in self._sources.calls:
            self._append(call)
            self._shift(call)
        for _ in range(ROUNDS):
            self._made_of_counts()

    def _counted(self, loop: Loop) -> None:
        """``for step in range(9)``, ``for i, batch in enumerate(loader)``."""
        if isinstance(loop, ast.While):
            return
        calls = {word(node.func) for node in walk(loop.iter) if isinstance(node, ast.Call)}
        target: ast.expr | None = loop.target if calls & RANGES else None
        if "enumerate" in calls and isinstance(loop.target, ast.Tuple):
            target = loop.target.elts[0]
        if isinstance(target, ast.Name):
            self._names.add(target.id)
            self._turns.add(target.id)

    def _move(self, name: str | None, op: ast.operator, by: ast.expr, node: ast.AST) -> None:
        counted = isinstance(op, ast.Add | ast.Sub) and self._is_number_of_things(by)
        shrinks = isinstance(op, ast.Mult | ast.Div) and self._is_constant(by)
        scaled = shrinks and name not in self._touching.deciding.losses
        if name is not None and (counted or scaled) and self._is_of_a_turn(node):
            self._names.add(name)
            self._falling |= set() if isinstance(op, ast.Add) else {name}

    def _shift(self, call: ast.Call) -> None:
        """``seen.add_(1)`` counts in a tensor, ``left.pop()`` runs out."""
        if not isinstance(call.func, ast.Attribute) or not self._is_of_a_turn(call):
            return
        name, method = word(call.func.value), call.func.attr
        moves = method in SHIFTS and all(isinstance(a, ast.Constant) for a in call.args)
        if name is not None and (moves or method in TAKES):
            self._names.add(name)
            self._turns.add(name)
            self._falling |= set() if method == "add_" else {name}

    def _append(self, call: ast.Call) -> None:
        if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("append"):
            self._grown |= {word(call.func.value) or ""} if self._is_of_a_turn(call) else set()

    def _is_number_of_things(self, tree: ast.expr) -> bool:
        match unmarked(tree):
            case ast.Call(func=func):
                return word(func) in ("len", "size", "numel")
            case ast.Subscript(value=value) if word(value) == "shape":
                return True
            case other:
                return self._is_constant(other)

    def _is_of_a_turn(self, node: ast.AST) -> bool:
        """Whether every turn of training comes by: not only those whose data are unusual."""
        for above in self._sources.ancestors(node):
            if isinstance(above, Definition) or any(above is loop for loop in self._training):
                return True
            if isinstance(above, Loop | ast.ExceptHandler):
                return False
            if isinstance(above, ast.If) and not self._is_common(above):
                return False
        return False

    def _is_common(self, node: ast.If) -> bool:
        trains = bool(self._touching.reached(node.body) & TRAINS)
        return trains or self._is_made_of(node.test, self._names)

    def _made_of_counts(self) -> None:
        for name, values in self._sources.values.items():
            for value in values:
                if name not in self._names and self.counts(value):
                    self._names.add(name)
                    self._periodic |= {name} if self.begins_anew(value) else set()
                    self._turns |= {name} if self._is_turn(value) else set()
                    falls = self._is_made_of(value, self._falling)
                    self._falling |= {name} if falls else set()

    def _is_turn(self, tree: ast.expr) -> bool:
        tree = unmarked(tree)
        whole = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.FloorDiv)
        return (_is_name(tree) and word(tree) in self._turns) or (whole and self.counts(tree))

    def _turns_to(self, tree: ast.expr, *, wanted: bool) -> bool:
        """Whether a count, or its quotient, becomes something else with time. A quotient that is above
        0 stays so, unless the count falls: ``norms[len(norms) // 2]`` waits for nothing.
        """
        stays = isinstance(tree, ast.BinOp) and not self._is_made_of(tree, self._falling)
        return self._is_turn(tree) and (wanted or not stays)

    def _is_made_of(self, tree: ast.expr, names: set[str]) -> bool:
        return any(_is_name(node) and word(node) in names for node in walk(tree))


def _is_name(tree: ast.AST) -> bool:
    texts = isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant)
    return isinstance(tree, ast.Name | ast.Attribute) or texts
