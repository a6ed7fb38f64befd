"""What the parent tells the worker beside the program."""

from harness.domain.record import Record
from harness.domain.workload import WorkloadSpec


class WorkOrder(Record):
    """It holds nothing of what is expected: no reference, no threshold, no verdict."""

    workload: WorkloadSpec
    """What the program trains on."""
    own_data: bool = False
    """Whether data that the program draws at random stays as it is."""
    as_written: bool = False
    """Whether the program's own modules stay, as parts of a model that it puts together itself."""
