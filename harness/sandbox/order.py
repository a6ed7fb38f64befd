"""What the parent tells the worker beside the program."""

from pydantic import Field

from harness.domain.injection import Injection
from harness.domain.record import Record
from harness.domain.workload import WorkloadSpec

SCOUTS = 16
"""How many unknown things of one program are found out before it is given up."""


class OwnFile(Record):
    """A file or a folder of the program's own."""

    name: str
    """Where the program finds it, from the folder in which it runs."""
    path: str
    """Where it lies."""


class WorkOrder(Record):
    """It holds nothing of what is expected: no reference, no threshold, no verdict. Tests are the
    exception where they judge: they run where the program runs.
    """

    workload: WorkloadSpec
    """What the program trains on."""
    injection: Injection = Injection()
    """What is done to its gradients."""
    known: dict[str, str] = Field(default_factory=dict)
    """What scouts found out: names of the program with their roles."""
    alone: bool = False
    """Whether it is judged by its own settings: no scenario asks for what others' functions may do."""
    own_world: bool = False
    """Whether it runs as it is, with its own model, data and loss: it has no names to bind."""
    tests: str = ""
    """A pytest file that tests the program."""
    posted: str = ""
    """The program that was posted, with which the tests are tried."""
    brief: bool = False
    """Whether there is little time, so that fewer updates are enough."""
    many_passes: bool = False
    """Whether such a program is seen in many short passes over its data."""
    resumes: bool = False
    """Whether such a program is run until it has saved its state, and once more with that."""
    files: tuple[OwnFile, ...] = ()
    """What lies in its folder, to be read there."""
    shrunk: bool = False
    """Whether sizes of such a program are lowered that are too large for a CPU."""
