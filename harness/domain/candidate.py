"""Code that an answer proposes, ready to run, or the reason why there is none."""

from harness.domain.record import Record
from harness.domain.wishes import Wishes


class Candidate(Record):
    """One runnable proposal."""

    program: str
    """Module-level Python as it was posted; free names are bound when it runs."""
    origin: str
    """Where it was found, for people: a file, or ``answer, block 2``."""
    folder: str = ""
    """Where it lies with files of its own that it may read; empty for an answer, which has none."""
    alone: str = ""
    """The program without what the user posted around it, for where that cannot be run; or nothing."""
    wishes: Wishes = Wishes()
    """What the message that it answers asks for."""


class NoCandidate(Record):
    """The answer proposes no code that could run."""

    reason: str
    """One sentence."""
