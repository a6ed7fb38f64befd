"""What a property is: one claim about training loops, and a pure function that judges it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict

Judge = Callable[[Trace, Expectations], Verdict]
"""Same trace, same expectations, same verdict: no clock, no disk, no chance."""


@dataclass(frozen=True, slots=True)
class Property:
    """One way in which training loops go wrong, and how it shows in a trace."""

    id: str
    """The name under which scenarios list it."""
    story: str
    """The claim, a bug that breaks it, the signature in numbers, and what masks it."""
    judge: Judge
    """Reads the numbers. Completion is not its business: ``completion.verdict`` sees to it."""
    explains: tuple[str, ...] = ()
    """Ids of properties whose failure this one's failure accounts for."""
    needs: str = ""
    """What a trace has to show before this property can pass."""
    rests_on: Literal["facts", "windows", "end"] = "windows"
    """When a failure stands: ``facts`` even if the program was killed, ``windows`` if its books
    close (it may have raised), ``end`` only if it ran to its end: what is missing is the evidence.
    """

    sees_flow: bool = False
    """Whether a failure stands where a model's gradients are not the derivatives of its outputs: then
    the claim is about what arrives, and not about what it is the gradient of.
    """

    @property
    def claim(self) -> str:
        """What holds in a right loop, in one sentence."""
        return self.story.strip().partition("\n")[0]
