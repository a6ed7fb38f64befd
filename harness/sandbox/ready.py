"""A program that is ready to run, whatever its world: its namespace, its code, what is asked of it."""

import ast
import contextlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType

from torch import nn
from torch.optim import Optimizer

from harness.domain.branch import Branches
from harness.sandbox.batches.callers import FILENAME
from harness.sandbox.branches import marks
from harness.sandbox.branches.untaken import untaken
from harness.sandbox.own.patience import Patience

MODULE = "candidate"

Around = Callable[[], contextlib.AbstractContextManager[None]]
"""What stands around a program's top level while it runs."""


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyProgram:
    """A program that is ready to run."""

    module: ModuleType
    """Its namespace; ``__name__`` is ``__main__``, so that guarded calls run."""
    code: CodeType
    """The program, compiled."""
    source: str
    """The program as it runs."""
    journal: Sequence[str]
    """What was lent, mapped or replaced, in words; more may be added while the program runs."""
    patience: Patience
    """Ends a run that trains far longer than needed."""
    untaken: Callable[[], Branches]
    """After the run: the branches that it did not enter."""
    around: Around = contextlib.nullcontext
    """Around its top level."""
    then: Callable[[], None] = _nothing
    """Runs after its top level: the calls that it leaves to its reader."""
    after: Callable[[], Mapping[str, object]] = dict
    """What else is known of it only once it has run."""
    passes: int | None = None
    """How often it goes through its data, where it says so."""
    calls: tuple[str, ...] = ()
    """The calls that it leaves to its reader, as people read them."""
    models: tuple[nn.Module, ...] = ()
    """Models that it was lent."""
    optimizers: tuple[Optimizer, ...] = ()
    """Optimizers that it was lent."""
    is_told_shapes: bool = False
    """Whether the names of what it was lent say its shapes: one number a row of a replay memory."""

    def run(self) -> None:
        """Run it, until it ends or enough was seen."""
        with self.patience.counting():
            with self.around():
                exec(self.code, vars(self.module))
            self.then()


def namespace(**given: object) -> ModuleType:
    """The module in which a program runs."""
    module = ModuleType(MODULE)
    vars(module).update({"__name__": "__main__", "__file__": FILENAME, **given})
    sys.modules[MODULE] = sys.modules["__main__"] = module
    return module


def compiled(tree: ast.Module) -> tuple[CodeType, Callable[[], Branches]]:
    """The code of a program, and what tells after its run which branches it did not enter."""
    marked = marks.marked(tree)
    return marked.compiled(FILENAME), lambda: untaken(marked)
