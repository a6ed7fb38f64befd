"""Layers that were frozen for as long as was trained here, and branches that may thaw them later."""

from collections.abc import Sequence

from harness.domain.branch import Branches
from harness.domain.trace import RankTrace


def waiting(branches: Branches | None, ranks: Sequence[RankTrace]) -> Branches | None:
    """The branches; training waits for those that freeze or thaw, where a parameter asked for no
    gradient all along.
    """
    frozen = [{*update.frozen} for rank in ranks for update in rank.updates]
    if not branches or not frozen or not set.intersection(*frozen):
        return branches
    return tuple(
        branch.model_copy(update={"waits": branch.waits or (branch.counted and branch.thaws)})
        for branch in branches
    )
