"""Data that are lent in another size or kind, where a program asks for them by the error that it
raises: by the width of its first layer, the number of its classes, the channels of its pictures.
"""

import math
import re

from pydantic import ValidationError

from harness.domain.misfits import CLASSES, MISMATCH, SMALL, TARGET, width_asked_for
from harness.domain.scenario import Scenario
from harness.domain.trace import ProbeTrace, Program
from harness.domain.workload import Cnn, Mlp, WorkloadSpec

SHAPES = 4
"""How often other data are lent, after an error about their shape."""

MOST_RANKS = 4
"""How many ranks a program gets at most."""

EVEN = 48
"""How many batches a program gets that asserts how many there are."""

ROWS = 8
"""How many rows each of them has then."""

_ROWS = re.compile(r"shape '\[-1, (?P<wanted>\d+)\]' is invalid for input")
_RANGE = re.compile(r"index out of range in self")
_CLASS = re.compile(
    r"index (?P<wanted>\d+) is out of bounds for dimension 1 with size (?P<given>\d+)"
)
_IMAGES = re.compile(r"3D \(unbatched\) or 4D \(batched\) input to conv2d|expected 4D input")
_TOKENS = re.compile(
    r"argument #1 'indices' to have one of the following scalar types: Long"
    r"|specify exactly one of input_ids"
    r"|multi-target not supported|Expected input batch_size \(\d+\) to match target"  # one class a row
)

_LABELS = re.compile(
    r"one_hot is only applicable to index tensor|Expected dtype int64 for index"
    r"|tensors used as indices must be long"
)
"""What takes classes as targets, in rows that are no pictures."""

_CHOOSES = re.compile(r"argmax\([^\n]*==|\b\w*pred\w* ?== ?\w|\.eq\(")
"""How a program shows that it compares what a model chose with the targets."""

FittedWorkload = tuple[str, dict[str, object]]
"""The name of a workload, and parameters of it."""


def fitted_to(place: Scenario, seen: ProbeTrace) -> Scenario | None:
    """The situation with data of another shape; ``None`` where nothing asks for one."""
    ended, workload = seen.program, place.workload
    said = (ended.message or "") if ended.outcome == "raised" and not seen.updates else ""
    fitting = (
        _in_length(workload, ended)
        or _in_classes(workload, ended)
        or _in_size(workload, said)
        or _of_pictures(workload, said)
        or _in_kind(said)
    )
    if fitting is None:
        return None
    name, parameters = fitting
    spec = {"name": name, "parameters": parameters, "world_size": workload.world_size}
    try:
        return place.model_copy(update={"workload": WorkloadSpec.model_validate(spec)})
    except ValidationError:
        return None  # larger than what is lent


def of_its_ranks(place: Scenario, seen: ProbeTrace) -> Scenario | None:
    """The situation with as many ranks as the program starts; ``None`` where it has them, or where
    they are too many.
    """
    asked, workload = seen.program.ranks, place.workload
    if asked is None or asked == workload.world_size or asked > MOST_RANKS:
        return None
    return place.model_copy(update={"workload": workload.model_copy(update={"world_size": asked})})


def asks_for_other_data(said: str) -> bool:
    """Whether what was raised is told by data of another kind or size."""
    in_size = any(p.search(said) for p in (_ROWS, _RANGE, _CLASS, CLASSES, SMALL))
    return in_size or width_asked_for(said) is not None or _in_kind(said) is not None


def _in_size(workload: WorkloadSpec, said: str) -> FittedWorkload | None:
    """The same in the size that is asked for, where it is the size of what is lent that is refused."""
    sizes = workload.parameters.model_dump(include={"features", "vocabulary", "outputs"})
    kept, width = _kept(workload), width_asked_for(said)
    if width is not None and sizes.get("features") in width:  # of the data, or of the model
        given, wanted = width
        features = wanted if given == sizes["features"] else given
        return workload.name, {**kept, "features": features}
    if width is not None and sizes.get("outputs") == width[0]:  # of what a lent model makes of them
        return workload.name, {**kept, "outputs": width[1]}
    if (rows := _ROWS.search(said)) and "features" in sizes:
        return workload.name, {**kept, "features": int(rows["wanted"])}
    outputs = _outputs_asked_for(said, sizes.get("outputs", 0))
    if outputs is not None:
        return workload.name, {**kept, "outputs": outputs}
    if _RANGE.search(said) and sizes.get("vocabulary", 14) > 14:
        return workload.name, {**kept, "vocabulary": 14}
    return None


def _outputs_asked_for(said: str, given: int) -> int | None:
    """How many outputs a program wants instead of those that it was given."""
    if (two := _two_sizes(said)) is not None:
        first, second = int(two["first"]), int(two["second"])
        if given in (first, second):
            return second if given == first else first
    if (one := _CLASS.search(said)) and int(one["given"]) == given:
        return int(one["wanted"]) + 1
    return 2 if CLASSES.search(said) and given > 2 else None


def _in_classes(workload: WorkloadSpec, ended: Program) -> FittedWorkload | None:
    """The same with classes as targets, where what a model chose is compared with them, be it after
    its updates.
    """
    numbers = isinstance(workload.parameters, Mlp) and not workload.parameters.classes
    chooses = numbers and _CHOOSES.search(ended.source)
    if not chooses or ended.outcome != "raised" or MISMATCH.search(ended.message or "") is None:
        return None
    kept = workload.parameters.model_dump(include={"features", "outputs"})
    return "mlp", {**kept, "classes": True}


def _in_length(workload: WorkloadSpec, ended: Program) -> FittedWorkload | None:
    """As many batches as windows of any usual size divide, where the program asserts something."""
    asserts = ended.exception == "AssertionError" and "len(" in ended.source
    if not asserts or workload.parameters.batches == EVEN:
        return None
    return workload.name, {**_kept(workload), "batches": EVEN, "batch_size": ROWS}


def _two_sizes(said: str) -> re.Match[str] | None:
    return MISMATCH.search(said) or TARGET.search(said)


def _of_pictures(workload: WorkloadSpec, said: str) -> FittedWorkload | None:
    """Pictures of as many channels, or as large, as are asked for."""
    if workload.name != "cnn":
        return None
    kept, asked = _kept(workload), width_asked_for(said)
    colours = int(str(kept.get("colours", 1)))
    if asked is not None and asked[0] == colours:
        return "cnn", {**kept, "colours": asked[1]}
    if SMALL.search(said):
        return "cnn", {**kept, "side": 32}
    if asked is None:
        return None
    side, (given, wanted) = int(str(kept["side"])), asked
    if side == Cnn().side:  # whoever takes pictures as rows asks for all of their numbers
        return "cnn", {**kept, "side": math.isqrt(wanted // colours)}
    return "cnn", {**kept, "side": round(side * math.sqrt(wanted / given))}


def _kept(workload: WorkloadSpec) -> dict[str, object]:
    """Sizes that were fitted before."""
    sizes = {"features", "vocabulary", "outputs", "plain_targets", "classes", "colours", "side"}
    return workload.parameters.model_dump(include=sizes)


def _in_kind(said: str) -> FittedWorkload | None:
    if _LABELS.search(said):
        return "mlp", {"classes": True}
    kinds = ((_IMAGES, "cnn"), (_TOKENS, "transformer"))
    return next(((name, {}) for pattern, name in kinds if pattern.search(said)), None)
