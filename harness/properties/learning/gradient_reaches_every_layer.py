"""Gradient reaches every layer: none gets a vanishing part of what another one gets.

Bug::

    for i in range(24):                                  # each factor is far below 1, 24 times
        layers += [nn.Linear(width, width), nn.Sigmoid()]
    ...
    clip_grad_norm_(model.parameters(), 1.0)             # a clip shrinks, it gives nothing back
    for g in optimizer.param_groups: g["lr"] *= 100      # 100 times 1e-20 is nothing either

Signature: several layers of the trained model whose gradient, recomputed, never reaches a millionth
of the largest one's before training has made another model of it. Or, where a forward loses its
inputs on the way: outputs that stay the same for all inputs, and a bias that gets all the gradient.

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
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import of_probe, ordinary
from harness.properties.property import Property

ID = "gradient-reaches-every-layer"

STARVED = 1e-6
"""Part of the largest layer's gradient below which a layer learns nothing. Among stacks of 24
layers, right ones keep at least 7e-4, wrong ones at most 2e-8.
"""

FED = 3e-5
"""Part of the largest layer's gradient that is enough; between the two bounds, inconclusive."""

OWN = re.compile(r"^own\d+\.")
"""How the recorder marks parameters of a model that the program defines itself."""

AWAKE = 1e-12
"""Part of the largest layer's gradient above which what was exactly 0 at first has woken, and has not
only been too small for a number.
"""

SEVERAL = 3
"""So many starved layers are no accident; a single one may be a dead branch."""

DEEP = 8
"""Fewest layers that show how a gradient passes through a stack."""

CARRIED = 1e-3
"""Standard deviation of the outputs, over that of the targets, that shows that the outputs depend
on the inputs.
"""

HARDLY = 2e-4
"""The same, below which outputs hardly depend on inputs. Among initialisations of 24 layers, right
ones reach 4e-3, wrong ones that starve no layer at most 1e-4.
"""

SILENT = 1e-2
"""Part of the largest bias's gradient below which a weight sees no signal at its input. A last
layer that starts at zero sees all of it: its weight gets about as much as its bias.
"""

ANOTHER = 0.2
"""Once the parameters have moved by this part of their norm, the model counts as another one."""

SAME_MODEL = 1e-2
"""Up to this distance between recorded and recomputed outputs, the model is the workload's,
unchanged.
"""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Each layer's share of the largest layer's gradient, probe by probe."""
    seen: list[tuple[ProbeTrace, dict[str, float]]] = []
    for probe in ordinary(trace, expectations):
        found = shares(probe)
        if probe.probe == expectations.unhealthy_probe or not found:
            continue
        starved = starved_of(probe, found)
        if len(starved) >= SEVERAL:
            return vanished(probe, found, starved)
        loudest = loudest_weight(probe)
        if 0.0 < spread(probe) < HARDLY and loudest is not None and 0.0 < loudest < SILENT:
            return nothing_carried(probe, loudest)
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


def starved_of(probe: ProbeTrace, found: dict[str, float]) -> list[str]:
    """The layers that get next to nothing of the largest one's gradient.

    Layers whose gradient is exactly 0 at first wait for a part that starts at zero. As long as that
    part has hardly moved, all of them get little, and are compared with the largest of themselves.
    """
    updates, waits = of_last_model(probe), never_moved(probe)
    late = {layer for layer, norm in layers(updates[0]).items() if norm == 0.0}
    loudest = max((found[n] for n in late), default=0.0)
    bound = STARVED * (loudest if loudest > AWAKE else 1.0)
    return [
        n
        for n, share in found.items()
        if share < (bound if n in late else STARVED) and (share or not waits)
    ]


def doubtful(least: float, layers: int, carried: float) -> str | None:
    """Why the figures do not show that gradient passes through all layers; ``None`` if they do."""
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
    """By layer: its largest share, in any update, of the gradient that the largest layer had there.

    Only updates on about the initial model count: a learning rate that throws the weights about
    finds some that pass gradient sooner or later. A layer whose gradient is exactly 0 in all of
    these may wait for a branch that starts at zero; for it the whole run counts.
    """
    updates = of_last_model(probe)
    found = largest_shares(updates[: as_given(updates)])
    later = largest_shares(updates)
    return {layer: share or later[layer] for layer, share in found.items()}


def of_last_model(probe: ProbeTrace) -> list[Update]:
    """The updates of the last model, where a program trains several, one after another."""
    updates = [w.update for w in of_probe(probe) if layers(w.update)]
    last = layers(updates[-1]).keys() if updates else ()
    return [u for u in updates if layers(u).keys() == last]


def as_given(updates: list[Update]) -> int:
    """How many updates were made before the parameters had moved far from their initial values."""
    ways = accumulate((u.moved or 0.0 for u in updates[:-1]), initial=0.0)
    return sum(way <= ANOTHER for way in ways)


def never_moved(probe: ProbeTrace) -> bool:
    """Whether no update changed a parameter, as at a learning rate of 0: a branch that starts at zero
    stays there, and what waits for it shows nothing.
    """
    return all(u.moved == 0.0 for u in of_last_model(probe))


def largest_shares(updates: list[Update]) -> dict[str, float]:
    """By layer, the largest share that it had in any of these updates."""
    found: dict[str, float] = {}
    for norms in map(layers, updates):
        largest = max(norms.values())
        for layer, norm in norms.items():
            found[layer] = max(found.get(layer, 0.0), norm / largest)
    return found


def loudest_weight(probe: ProbeTrace) -> float | None:
    """The largest part of the largest bias's gradient that anything else got, in any update; ``None``
    where the trained model is not deep in weights, or has no bias with a gradient.

    At a layer's input the gradient of the bias says how much flows back, that of the weight how
    much of the inputs has come so far.
    """
    found = []
    for update in of_last_model(probe):
        biases: list[float] = []
        others: list[float] = []
        for name, norm in norms_of(update).items():
            (biases if name.rpartition(".")[2].startswith("bias") else others).append(norm)
        if len(others) < DEEP or not any(biases):
            return None
        found.append(max(others) / max(biases))
    return max(found, default=None)


def layers(update: Update) -> dict[str, float]:
    """Norm of each layer's gradient in one update; empty where no gradient is known, or one is not
    finite.
    """
    squares: dict[str, float] = {}
    for name, norm in norms_of(update).items():
        layer = layer_of(name)
        squares[layer] = squares.get(layer, 0.0) + norm**2
    largest = max(squares.values(), default=0.0)
    if largest == 0.0 or not all(map(math.isfinite, squares.values())):
        return {}
    return {layer: math.sqrt(square) for layer, square in squares.items()}


def norms_of(update: Update) -> dict[str, float]:
    """Norm of the gradient of each parameter that the optimizer had one for.

    The recomputed gradient counts as long as the model is the workload's. Once the program has
    exchanged parts of the model, only the consumed gradient is known.
    """
    match = update.match("as-computed")
    true = update.output_differs <= SAME_MODEL
    return {
        p.name: p.expected_norm if true else p.consumed_norm
        for p in (match.parameters if match is not None else ())
        if p.consumed_norm is not None
    }


def layer_of(parameter: str) -> str:
    """``net.4`` for ``net.4.weight``; each member of a ``ParameterList`` is a layer of its own."""
    layer, _, name = parameter.rpartition(".")
    return parameter if name.isdigit() else layer


def shown(layer: str) -> str:
    """``layer 0`` for ``own1.0``: the recorder's prefix means nothing to the reader of a verdict."""
    return f"layer {OWN.sub('', layer)}"


def spread(probe: ProbeTrace) -> float:
    """The largest spread of outputs in the run, over that of the targets; 0 where none was measured."""
    known = (u.output_spread for u in probe.updates if u.output_spread is not None)
    return max(filter(math.isfinite, known), default=0.0)


def vanished(probe: ProbeTrace, found: dict[str, float], starved: list[str]) -> Verdict:
    """The fail for layers whose gradient vanishes."""
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


def nothing_carried(probe: ProbeTrace, loudest: float) -> Verdict:
    """The fail for inputs that are lost on their way forward."""
    carried = spread(probe)
    return failed(
        ID,
        f"In {probe.probe} next to nothing of the inputs reached the outputs: these differed "
        f"over samples by {show(carried)} of the targets' deviation at most, and no weight got more "
        f"than {show(loudest)} of the gradient that a bias got. The signal shrinks in every layer: take "
        "the initialisation that fits the activation, normalise, or add an identity path.",
        number("deviation of outputs over that of targets", carried, probe.probe),
        number("largest gradient of a weight over that of a bias", loudest, probe.probe),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    # forwards that underflow leave exact zeros in single precision, where the recomputed are tiny
    explains=("every-parameter-learns", "still-learns"),
    needs="updates of a model of at least eight layers",
    sees_flow=True,
)
