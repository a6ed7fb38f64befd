"""What a machine offers to the harness."""

from typing import Literal

from harness.domain.record import Record

Have = Literal["yes", "no", "partly"]
"""``partly``: it works, with less protection or fewer features."""


class Offer(Record):
    """One thing that the harness can use on this machine."""

    name: str
    """Its name."""
    have: Have
    """Whether it is available."""
    detail: str
    """Which version, or what is missing without it."""


class Machine(Record):
    """Everything that the machine offers."""

    offers: tuple[Offer, ...]
    """In the order in which a user meets them."""

    @property
    def can_execute(self) -> bool:
        """Whether programs can be run here at all."""
        return all(offer.have != "no" for offer in self.offers if offer.name in NEEDED)


NEEDED = ("python", "torch", "linux", "sandbox", "cluster")
"""The offers without which no program can be run."""
