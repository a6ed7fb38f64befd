"""What a property is: one claim about training loops, and a pure function that judges it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties.evidence.preconditions import Precondition, never

Judge = Callable[[Trace, Expectations], Verdict]
"""Same trace, same expectations, same verdict: no clock, no disk, no chance."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A key of ``expects`` without which a property cannot judge."""

    key: str
    """The key: ``healthy_probe``, or ``values.NAME`` for one that only this property knows."""
    write: str
    """What to write there, as an example of YAML and in words: ``calm  # the probe that ...``."""
    instead: str = ""
    """Another key that does as well."""


A_THRESHOLD = Expected(
    "max_norm", "max_norm: 1.0  # or max_norm_between: [0.5, 2]", "max_norm_between"
)
"""For all that judge clipping of the whole."""


@dataclass(frozen=True, slots=True)
class Property:
    """One way in which training loops go wrong, and how it shows in a trace."""

    id: str
    """The name under which scenarios list it."""
    description: str
    """The claim, a bug that breaks it, the signature in numbers, and what masks it."""
    judge: Judge
    """Judges the numbers. ``completion.verdict`` first leaves out probes that did not run far enough."""
    applies: Precondition = never
    """When it judges a program without being required, and what its failure does then."""
    explains: tuple[str, ...] = ()
    """Ids of properties whose failure follows from a failure of this one."""
    expects: tuple[Expected, ...] = ()
    """What a scenario that requires it has to say in ``expects``."""
    needs: str = ""
    """What a trace has to show before this property can pass."""
    rests_on: Literal["facts", "windows", "end"] = "windows"
    """How far a program has to have run for a failure to stand. ``facts``: not at all, it may have
    been killed. ``windows``: the recording has to be complete, but the program may have raised.
    ``end``: it has to have ended normally, since the evidence is something that is missing.
    """

    sees_flow: bool = False
    """Whether the property can be judged where a model's gradients are not the derivatives of its
    outputs: it speaks of the gradient that arrives, whatever that is the gradient of.
    """

    @property
    def claim(self) -> str:
        """What holds in a right loop, in one sentence."""
        return self.description.strip().partition("\n")[0]
