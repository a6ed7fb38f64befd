"""Lists of gradient norms by layer in comments: which end is said to vanish, and which does. Pure."""

import re
from dataclasses import dataclass

from harness.domain.check import Observation
from harness.domain.skill import Example, Part
from harness.domain.verdict import Number

_ENTRY = re.compile(
    r"^(?P<name>[A-Za-z_.]*?(?P<index>\d+)[\w.]*)\s*:\s*(?P<norm>\d+\.?\d*e[+-]?\d+)\b"
)
_FACTOR = 10.0
"""By what factor the first and the last norm of a list have to differ for it to say anything."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Norms that a comment lists, from the layer with the lowest number to the highest."""

    text: str
    """Its first line."""
    first: float
    """Norm of the first layer."""
    last: float
    """Norm of the last layer."""


def listing_of(part: Part, example: Example) -> Listing | None:
    """The first list of at least three layers' norms in a comment about vanishing gradients; ``None``
    for none.
    """
    if "vanish" not in " ".join((part.code, example.before, *example.headings)).lower():
        return None
    entries = [(c, found) for c in part.comments if (found := _ENTRY.match(c))]
    by_layer = sorted((int(found["index"]), float(found["norm"]), c) for c, found in entries)
    if len(by_layer) < 3:
        return None
    (_, first, text), (_, last, _) = by_layer[0], by_layer[-1]
    apart = max(first, last) > _FACTOR * min(first, last)
    return Listing(text, first, last) if apart else None


def about_listing(listing: Listing, norms: tuple[float, ...]) -> Observation | None:
    """Whether a list has the smaller norms on the side where gradients vanish; ``None`` where the norms
    lie too close together. ``norms``: measured by layer, first to last, in a network whose gradients
    vanish.
    """
    if len(norms) < 2 or not max(norms[0], norms[-1]) > _FACTOR * min(norms[0], norms[-1]):
        return None
    return Observation(
        statement=listing.text,
        holds=(listing.first < listing.last) == (norms[0] < norms[-1]),
        sentence="Gradients vanish towards the input: in ten sigmoid layers the first weight gets a "
        f"gradient of norm {norms[0]:.2g}, the last one {norms[-1]:.2g}.",
        numbers=(
            Number(name="gradient norm of the first weight", value=norms[0]),
            Number(name="gradient norm of the last weight", value=norms[-1]),
        ),
    )
