"""What a run left out: branches that touch training and were not entered."""

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property

from harness.domain.branch import Branches, Unentered
from harness.sandbox.branches.later import LaterConditions
from harness.sandbox.branches.marks import Branch, BranchesSeen, MarkedProgram
from harness.sandbox.branches.reading import (
    TRAINS,
    Loop,
    Sources,
    TouchedBy,
    inside,
    word,
)
from harness.sandbox.branches.touching import Touching, thresholds
from harness.syntax import walk

WHOLE = frozenset({"backward", "step"})
"""A body that calls both is a whole turn of training; leaving it out means to stop."""

JUMPS = (ast.Return, ast.Continue, ast.Break)

FREEZES = frozenset({"requires_grad", "requires_grad_", "update_parameters"})
"""Names that decide whether a parameter requires a gradient."""

MOST, LONGEST = 3, 60
"""Most names that are told of one branch, and how many characters of one."""

DEEPEST = 5000
"""How many nested calls are followed to see what a branch touches."""


def untaken(marked: MarkedProgram) -> Branches:
    """After a run: the branches that it did not enter. Branches inside such a branch count as not
    reached.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))  # the program may have set it
    left = [b for b in marked.branches if _is_left(b, marked.seen)]
    hidden = [node for node in walk(marked.tree) if _is_unwritten(node)]
    limits = [n for n in walk(marked.tree) if isinstance(n, ast.Call) and thresholds(n)]
    if not (left or hidden or limits):
        return ()
    reader = _Reader(marked)
    return (*reader.read(left), *reader.hidden(hidden), *reader.scheduled(limits))


def _is_unwritten(node: ast.AST) -> bool:
    """Calls whose code is made from a text, or is what an iterator gives until it has run out."""
    match node:
        case ast.Call(func=ast.Name(id="exec" | "eval")):
            return True
        case ast.Call(func=ast.Call(func=ast.Name(id="next"), args=[_, _])):
            return True
        case ast.Call(func=ast.Call(func=ast.Attribute(attr="pop" | "popleft" | "popitem"))):
            return True
        case ast.Call(func=ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_])):
            return not isinstance(name, ast.Constant)
    return False


def _is_left(branch: Branch, seen: BranchesSeen) -> bool:
    if branch.mark is not None:
        return branch.mark not in seen.entered
    return any(True for _, mark, _ in _never_held(branch, seen) if (mark, None) not in seen.held)


def _never_held(branch: Branch, seen: BranchesSeen) -> Iterator[tuple[ast.expr, int, bool]]:
    """Parts of its condition, and what they were in no turn and would have to be. What stands behind
    ``args.folder is not None`` and was never asked does not keep it out.
    """
    asked, set_before = {mark for mark, _ in seen.held}, False
    for part, mark, opposite in branch.condition.parts if branch.condition is not None else ():
        wanted = branch.wanted != opposite
        if mark and (mark, wanted) not in seen.held and not (set_before and mark not in asked):
            yield part, mark, wanted
        set_before |= isinstance(part, ast.Compare) and not mark


class _Reader:
    def __init__(self, marked: MarkedProgram) -> None:
        self._marked = marked
        self._entered = marked.seen.entered
        self._sources = Sources(marked.tree)
        self._touching = Touching(self._sources)

    @cached_property
    def _later(self) -> LaterConditions:
        return LaterConditions(self._sources, self._touching, self._marked.seen)

    def read(self, left: list[Branch]) -> Iterator[Unentered]:
        out: set[int] = set()
        for branch in left:
            reached = self._was_reached(branch) and not any(
                id(node) in out for node in self._sources.ancestors(branch.body[0])
            )
            touch = self._touched(branch)
            if branch.mark is None or self._is_a_value(branch):
                if touch.deep and self._ends_later(branch):
                    yield _told(branch.body, touch, reached=reached, waits=True, written=False)
            elif touch.names:
                out |= {id(node) for node in branch.body}
                counted = self._waits(branch)
                told = _told(
                    branch.body, touch, reached=reached, waits=bool(touch.deep) and counted
                )
                yield told.model_copy(update={"counted": counted})

    def hidden(self, calls: list[ast.AST]) -> Iterator[Unentered]:
        """Those in a turn of training: what they do there is written nowhere."""
        for call in calls:
            if isinstance(call, ast.Call) and self._is_hidden(call):
                touch = TouchedBy(deep=[word(call.func) or "next"])
                yield _told([call], touch, reached=True, waits=True, written=False)

    def _is_hidden(self, call: ast.Call) -> bool:
        """Whether it trains; one that is called by a name, whether a count tells the name."""
        match call.func:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
                return self._later.counts(name) and self._later.runs_in_training(call)
        return self._later.runs_in_training(call)

    def scheduled(self, clips: list[ast.Call]) -> Iterator[Unentered]:
        """Clips whose threshold a count tells: those of later turns nobody saw."""
        for clip in clips:
            if any(map(self._later.is_scheduled, thresholds(clip))):
                touch = TouchedBy(deep=[word(clip.func) or ""])
                yield _told([clip], touch, reached=True, waits=True, written=False)

    def _is_a_value(self, branch: Branch) -> bool:
        """``1.0 if step < 9 else 5.0``: nothing is done there, but what it is decides."""
        return isinstance(branch.owner, ast.IfExp) and not self._touching.of(branch.body).names

    def _was_reached(self, branch: Branch) -> bool:
        function = self._sources.function_of(branch.owner)
        known = function is None or self._marked.functions.get(function) in self._entered
        if branch.mark is None or isinstance(branch.owner, ast.IfExp):
            return known and (branch.other is None or branch.other in self._entered)
        return known

    # ---------------------------------------------------------------------------------- what it does

    def _touched(self, branch: Branch) -> TouchedBy:
        """What a branch touches, and what it leaves out."""
        touch = self._touching.of(branch.body)
        choices = self._touching.choices
        if isinstance(branch.owner, ast.IfExp) and id(branch.owner) in choices:
            touch.add(TouchedBy(deep=[choices[id(branch.owner)]]))
        if branch.mark is not None:
            for jump in inside(branch.body):
                if isinstance(jump, JUMPS):
                    touch.add(self._skipped(jump, branch))
        return touch

    def _skipped(self, jump: ast.Continue | ast.Break | ast.Return, branch: Branch) -> TouchedBy:
        """What a jump leaves out of a turn; light where it ends the training."""
        rest, loop = self._sources.behind(jump)
        if loop is not None and any(node is loop for node in inside(branch.body)):
            return TouchedBy()
        left_out = self._touching.reached(rest)
        around = self._touching.reached(loop.body) if loop is not None else set[str]()
        if not left_out or (loop is not None and not around & TRAINS and not self._waits(branch)):
            return TouchedBy()  # of a loop over parameters: ``if p.grad is None: continue``
        name = type(jump).__name__.lower()
        ends = not isinstance(jump, ast.Continue) and ("step" in around or self._measures(loop))
        return TouchedBy(light=[name]) if ends or left_out >= WHOLE else TouchedBy(deep=[name])

    def _measures(self, loop: Loop | None) -> bool:
        """Whether every turn of a loop clears what the one before gathered: no update hangs on how
        many there are.
        """
        always = [s for s in loop.body if isinstance(s, ast.Expr)] if loop is not None else []
        return "zero_grad" in self._touching.reached(always)

    # ---------------------------------------------------------------------------------- what decides

    def _waits(self, branch: Branch) -> bool:
        if isinstance(branch.owner, ast.For | ast.AsyncFor) and branch.condition is None:
            parts = [n for n in walk(branch.owner.iter) if isinstance(n, ast.BinOp | ast.Compare)]
            return any(map(self._later.counts, parts))  # ``range(step // 500)``
        if isinstance(branch.owner, ast.match_case):
            match = self._sources.above.get(id(branch.owner))
            constant = isinstance(branch.owner.pattern, ast.MatchValue | ast.MatchOr)
            return isinstance(match, ast.Match) and constant and self._later.counts(match.subject)
        return self._is_kept_out(branch)

    def _is_kept_out(self, branch: Branch) -> bool:
        """Whether a part of its condition hangs on a count that never came so far."""
        never = _never_held(branch, self._marked.seen)
        return any(self._later.turns(part, mark, wanted=wanted) for part, mark, wanted in never)

    def _ends_later(self, branch: Branch) -> bool:
        """Whether what always ran ends at a count, and training goes on without it."""
        stops = self._touching.reached(branch.body) >= WHOLE
        return not stops and not self._is_a_flush(branch) and self._is_kept_out(branch)

    def _is_a_flush(self, branch: Branch) -> bool:
        """Whether it ends the last window of a loop before it: ``if (i + 1) % 4: optimizer.step()``.
        A pass without a leftover does not come to it, and is none that comes later.
        """
        around = {id(above) for above in self._sources.ancestors(branch.owner)}
        here = getattr(branch.body[0], "lineno", 0)
        behind = any(
            (loop.end_lineno or 0) < here
            and id(self._sources.above.get(id(loop))) in around
            and self._touching.reached(loop.body) & TRAINS
            for loop in self._sources.loops
        )
        parts = [n for part, _, _ in _never_held(branch, self._marked.seen) for n in walk(part)]
        return behind and any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod) for n in parts)


def _told(
    body: Sequence[ast.AST], touch: TouchedBy, *, reached: bool, waits: bool, written: bool = True
) -> Unentered:
    first, last = body[0], body[-1]
    return Unentered(
        first=getattr(first, "lineno", 0),
        last=getattr(last, "end_lineno", None) or getattr(last, "lineno", 0),
        touches=tuple(name[:LONGEST] for name in dict.fromkeys(touch.names[:MOST])),
        written=written,
        reached=reached,
        waits=waits,
        thaws=not FREEZES.isdisjoint(touch.names),
    )
