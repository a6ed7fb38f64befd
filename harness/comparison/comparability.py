"""Whether a difference between two runs could come from anything but the skill."""

from harness.domain.comparison import Arm
from harness.domain.errors import UsageError


def warnings_of(old: Arm, new: Arm, *, anyway: bool) -> tuple[str, ...]:
    """What speaks against comparing these two, one sentence each.

    Raises:
        UsageError: they are not comparable, and nobody asks for it all the same.
    """
    reasons = tuple(
        f"the {what} differ: {before} and {after}"
        for what, before, after in (
            ("models", old.model, new.model),
            ("banks", old.bank_digest, new.bank_digest),
            ("judges", old.judge, new.judge),
            ("harness versions", old.harness_version, new.harness_version),
        )
        if before != after
    )
    if reasons and not anyway:
        raise UsageError(
            f"{old.name} and {new.name} are not comparable: {'; '.join(reasons)}."
            " Ask one of them again as the other was asked, or compare them with --anyway"
        )
    return (*reasons, *_cautions(old, new))


def _cautions(old: Arm, new: Arm) -> tuple[str, ...]:
    """Differences that can be meant, and that a reader has to know about."""
    said = [f"of {arm.name} {arm.missing}" for arm in (old, new) if arm.missing is not None]
    both_have_one = old.skill_digest is not None and new.skill_digest is not None
    if both_have_one and old.delivery != new.delivery:
        said.append(
            f"the skill was delivered in two ways ({old.delivery}, {new.delivery}):"
            " a difference may come from that"
        )
    if both_have_one and (old.skill_digest, old.delivery) == (new.skill_digest, new.delivery):
        said.append("both runs used the same skill: any difference is chance")
    if old.rounds != new.rounds:
        said.append(
            "only one of them was asked in rounds, or with another most: this is one look, and false"
            " alarms may be more frequent than it says"
        )
    if old.seed != new.seed:
        said.append(f"the workloads' seeds differ: {old.seed} and {new.seed}")
    return tuple(said)
