"""Gradient reaches every layer: none gets a vanishing part of what another one gets.

Bug::

    for i in range(24):                                  # each factor is far below 1, 24 times
        layers += [nn.Linear(width, width), nn.Sigmoid()]
    ...
    clip_grad_norm_(model.parameters(), 1.0)             # a clip shrinks, it gives nothing back
    for g in optimizer.param_groups: g["lr"] *= 100      # 100 times 1e-20 is nothing either

Signature: several layers of the trained model whose gradient, recomputed, never reaches a millionth
of the largest one's before training has made another model of it.

Masked by: the norm of the whole gradient, which is that of the last layers; gradients that are
scaled up layer by layer, which carry no more of the inputs than before. Lawful: an activation with
the initialisation that fits it, a normalisation, an identity path; branches that start at zero.
"""

import math
import re
from itertools import accumulate

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.figures import count, number, show
from harness.properties.property import Property
from harness.properties.windows import of_probe, ordinary

ID = "gradient-reaches-every-layer"

STARVED = 1e-6
"""Part of the largest layer's gradient below which a layer learns nothing. Right stacks of 24 layers
keep 7e-4 and more of it, wrong ones 2e-8 and less.
"""

FED = 3e-5
"""Part of it that is enough; between the two nothing is said."""

OWN = re.compile(r"^own\d+\.")
"""How the recorder marks parameters of a model that the program defines itself."""

SEVERAL = 3
"""Starved layers that are no accident, such as one dead branch."""

DEEP = 8
"""Layers, at least, that show how a gradient passes through them."""

CARRIED = 1e-3
"""Deviation of the outputs, over that of the targets, that shows that they depend on the inputs."""

ANOTHER = 0.2
"""Way that the parameters have gone, over their norm, after which the model is another one."""

SAME_MODEL = 1e-2
"""Distance of the recorded outputs from the recomputed ones up to which nobody changed the model."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Each layer's largest share, probe by probe."""
    seen: list[tuple[ProbeTrace, dict[str, float]]] = []
    for probe in ordinary(trace, expectations):
        found = shares(probe)
        if probe.probe == expectations.unhealthy_probe or not found:
            continue
        starved = [layer for layer, share in found.items() if share < STARVED]
        if len(starved) >= SEVERAL:
            return vanished(probe, found, starved)
        seen.append((probe, found))
    if not seen:
        return inconclusive(ID, "No update showed a true gradient layer by layer.")
    probe, found = min(seen, key=lambda pair: min(pair[1].values()))
    least, carried = min(found.values()), min(spread(p) for p, _ in seen)
    figures = (
        number("least share of a layer", least, probe.probe),
        number("layers", len(found), probe.probe),
        number("deviation of outputs over that of targets", carried),
    )
    doubt = doubtful(least, min(len(f) for _, f in seen), carried)
    if doubt is not None:
        return inconclusive(ID, f"In {probe.probe} {doubt}.", *figures)
    return passed(
        ID,
        f"Each of {count(len(found), 'layer')} got at least {show(least)} of the largest layer's "
        f"gradient in {probe.probe}, and the outputs depend on the inputs.",
        *figures,
    )


def doubtful(least: float, layers: int, carried: float) -> str | None:
    """What keeps the figures from showing that gradient passes; ``None`` for nothing."""
    if layers < DEEP:
        return f"the model has {count(layers, 'layer')}, too few to show how gradient passes"
    if least < FED:
        return f"a layer got no more than {show(least)} of the largest layer's gradient"
    if carried < CARRIED:
        return (
            f"outputs were not seen to depend on inputs ({show(carried)} of the targets' deviation)"
        )
    return None


def shares(probe: ProbeTrace) -> dict[str, float]:
    """By layer, the largest part of the gradient that the largest layer had in the same update.

    Updates count until the model is another one: a rate that throws the weights about sooner or
    later finds some that pass gradient. A layer whose gradient is exactly 0 until then waits for
    one that starts at zero; for it the whole run counts.
    """
    updates = of_last_model(probe)
    found = largest_shares(updates[: as_given(updates)])
    later = largest_shares(updates)
    return {layer: share or later[layer] for layer, share in found.items()}


def of_last_model(probe: ProbeTrace) -> list[Update]:
    """Of several models that a program trains, one after another, the last one counts."""
    updates = [w.update for w in of_probe(probe) if layers(w.update)]
    last = layers(updates[-1]).keys() if updates else ()
    return [u for u in updates if layers(u).keys() == last]


def as_given(updates: list[Update]) -> int:
    """How many updates were computed on about the model that the program made."""
    ways = accumulate((u.moved or 0.0 for u in updates[:-1]), initial=0.0)
    return sum(way <= ANOTHER for way in ways)


def largest_shares(updates: list[Update]) -> dict[str, float]:
    """By layer, the largest share that it had in any of these updates."""
    found: dict[str, float] = {}
    for norms in map(layers, updates):
        largest = max(norms.values())
        for layer, norm in norms.items():
            found[layer] = max(found.get(layer, 0.0), norm / largest)
    return found


def layers(update: Update) -> dict[str, float]:
    """Norm of each layer's gradient in one update; empty where there is none, or not all are finite.

    What the oracle recomputed counts, whatever the program made of it, as long as the model is the
    workload's. Once the program has exchanged parts of it, what was consumed is all that is known.
    """
    match = update.match("as-computed")
    true = update.output_differs <= SAME_MODEL
    squares: dict[str, float] = {}
    for p in match.parameters if match is not None else ():
        if p.consumed_norm is not None:
            norm = p.expected_norm if true else p.consumed_norm
            layer = layer_of(p.name)
            squares[layer] = squares.get(layer, 0.0) + norm**2
    largest = max(squares.values(), default=0.0)
    if largest == 0.0 or not all(map(math.isfinite, squares.values())):
        return {}
    return {layer: math.sqrt(square) for layer, square in squares.items()}


def layer_of(parameter: str) -> str:
    """``net.4`` for ``net.4.weight``; members of a list of parameters are layers of their own."""
    layer, _, name = parameter.rpartition(".")
    return parameter if name.isdigit() else layer


def shown(layer: str) -> str:
    """``layer 0`` for ``own1.0``: that it is a model of the program's own says nothing here."""
    return f"layer {OWN.sub('', layer)}"


def spread(probe: ProbeTrace) -> float:
    """The largest deviation of outputs in the run; 0 where it was never measured."""
    known = (u.output_spread for u in probe.updates if u.output_spread is not None)
    return max(filter(math.isfinite, known), default=0.0)


def vanished(probe: ProbeTrace, found: dict[str, float], starved: list[str]) -> Verdict:
    """The fail."""
    least = min(found, key=lambda layer: found[layer])
    return failed(
        ID,
        f"In {probe.probe} {len(starved)} of {count(len(found), 'layer')} got less than a millionth of "
        f"the gradient that the largest one got; {shown(least)} got {show(found[least])} of it at "
        "most. Neither a clip nor a learning rate gives that back: take an activation with the "
        "initialisation that fits it, normalise, or add an identity path.",
        number("starved layers", len(starved), probe.probe),
        number("layers", len(found), probe.probe),
        number("least share of a layer", found[least], probe.probe),
    )


PROPERTY = Property(
    id=ID,
    story=str(__doc__),
    judge=judge,
    explains=("still-learns",),
    needs="updates of a model of at least eight layers",
    sees_flow=True,
)
