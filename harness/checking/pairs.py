"""Two modules in one block, one to avoid and one to prefer: their gradients are compared. Pure."""

from harness.domain.check import BlockResult, PartResult
from harness.domain.verdict import Number

RATIO = "gradient of the first weight over that of the last"


def weigh_alternatives(block: BlockResult) -> BlockResult:
    """Of a block with a module to avoid and one to prefer: the first holds as bad where its first
    weight gets at most a third of the gradient, relative to its last, that the other's gets.
    """
    poor = [p for p in block.parts if _polarity(p) == "wrong" and p.status == "inconclusive"]
    good = [p for p in block.parts if _polarity(p) == "right" and p.status == "holds"]
    if not poor or not good:
        return block
    best = max((_ratio(p) for p in good), default=0.0)
    parts = tuple(_beside(p, best) if p in poor else p for p in block.parts)
    return block.model_copy(update={"parts": parts})


def _beside(part: PartResult, best: float) -> PartResult:
    mine = _ratio(part)
    if not mine or mine * 3 > best:
        return part
    return part.model_copy(
        update={
            "status": "holds",
            "sentence": f"The gradient of its first weight is {mine:.2g} of that of its last; "
            f"in the better one {best:.2g}.",
            "numbers": (
                Number(name=RATIO, value=mine),
                Number(name=f"{RATIO}, better one", value=best),
            ),
        }
    )


def _ratio(part: PartResult) -> float:
    return next((n.value for n in part.numbers if n.name == RATIO), 0.0)


def _polarity(part: PartResult) -> str:
    if part.mark is None or part.kind != "module":
        return ""
    return "right" if part.mark.polarity in ("right", "better") else "wrong"
