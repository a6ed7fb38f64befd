"""What losses, modules, initialisations and schedules have shown. Pure."""

import re
from collections.abc import Iterator
from math import inf, isfinite, log

from harness.checking import facts
from harness.checking.evidence import Evidence, Finding, figure
from harness.domain.check import Observation
from harness.domain.verdict import Number

EXPLODES = 1e6
"""From this gradient norm of fifty modules over that of a single one on, a stack counts as exploding."""
KEEPS = 50.0
"""The factor by which a signal may grow or shrink through twenty layers and still count as kept."""


def loss(seen: facts.LossSeen) -> Evidence:
    """A fault for each prediction at which the loss or its gradient is not finite, else a merit."""
    called = f"`{seen.name}`" if seen.name else "the loss"
    if seen.raised or not seen.tried:
        return Evidence(not_run=f"{called} raised {seen.raised}")
    bad = tuple(edge for edge in seen.bad if not _is_outside(edge))
    if not bad:
        fine = seen.tried - len(seen.bad)
        sentence = f"{called} is finite in value and gradient at {fine} of {seen.tried} edges."
        numbers = (
            figure("edges tried", seen.tried),
            figure("largest gradient", seen.largest_gradient),
        )
        return Evidence(merits=(Finding(sentence[0].upper() + sentence[1:], numbers),))
    first = bad[0]
    finite = isfinite(first.loss)
    what = "is finite, its gradient is not" if finite else f"is {first.loss:g}"
    edges = ", ".join(b.what.removeprefix("prediction ") for b in bad[:5])
    numbers = (
        Number(name="loss", value=first.loss, where=first.what),
        figure("edges where it is not finite", len(bad)),
    )
    sentence = f"At {first.what} {called} {what} (not finite at: {edges})."
    return Evidence(faults=(Finding(sentence, numbers),))


def _is_outside(edge: facts.EdgeCase) -> bool:
    """Far below zero: what takes a logarithm or a root is not made for that."""
    found = re.search(r"prediction (-[\d.e-]+)$", edge.what)
    return found is not None and float(found[1]) <= -0.5


def module(seen: facts.ModuleSeen) -> Evidence:
    """Whether output and gradients are finite, every parameter gets a gradient, and fifty in a row do
    not explode.
    """
    if seen.raised:
        return Evidence(not_run=f"`{seen.name}` raised {seen.raised}")
    sentence = f"`{seen.name}` defines no forward; its layers were called in order."
    remarks = () if seen.own_forward else (Observation(sentence=sentence),)
    faults = tuple(_broken(seen))
    if faults:
        return Evidence(faults=faults, remarks=remarks)
    merit = Finding(
        f"Forward and backward of `{seen.name}` are finite, and a gradient reaches all "
        f"{seen.parameters} parameters.",
        (figure("parameters reached", seen.parameters),),
    )
    return Evidence(merits=(merit,), remarks=remarks)


def initialisation(seen: facts.InitialisationSeen) -> Evidence:
    """Whether a signal keeps its size through twenty layers, with the activation function that suits it
    best.
    """
    if seen.raised:
        return Evidence(not_run=f"`{seen.name}` raised {seen.raised}")
    remarks: tuple[Observation, ...] = ()
    if seen.raised_without_bias:
        sentence = f"On layers without a bias `{seen.name}` raises {seen.raised_without_bias}"
        remarks = (Observation(sentence=sentence, fault=True),)
    if not seen.signal:
        return Evidence(remarks=remarks)
    name, kept = min(seen.signal.items(), key=lambda item: _distance(item[1]))
    numbers = (figure(f"spread of the output over that of the input, 20 {name} layers", kept),)
    sentence = (
        f"Under `{seen.name}` a signal keeps {kept:.2g} of its spread through 20 {name} layers."
    )
    if _distance(kept) <= log(KEEPS):
        return Evidence(merits=(Finding(sentence, numbers),), remarks=remarks)
    return Evidence(costs=(Finding(sentence, numbers),), remarks=remarks)


def scheduler(seen: facts.SchedulerSeen) -> Evidence:
    """A cost where the learning rate of the first update is 0: a warm-up may begin there."""
    if seen.left_at is not None and not seen.updates:
        numbers = (figure("rate before", seen.base), figure("rate afterwards", seen.left_at))
        sentence = (
            f"It sets the learning rate from {seen.base:.3g} to {seen.left_at:.3g} and makes no update "
            "on the way: training begins at the last of them."
        )
        return Evidence(costs=(Finding(sentence, numbers),))
    if seen.raised or not seen.rates:
        return Evidence(not_run=f"`{seen.name}` raised {seen.raised}")
    first = (figure("learning rate of the first update", seen.rates[0]),)
    if seen.rates[0] == 0:
        sentence = f"Under `{seen.name}` the first update has learning rate 0: it changes nothing."
        return Evidence(costs=(Finding(sentence, first),))
    sentence = (
        f"Under `{seen.name}` the first update has learning rate {seen.rates[0]:.3g}, "
        f"update {len(seen.rates)} has {seen.rates[-1]:.3g}."
    )
    return Evidence(merits=(Finding(sentence, first),))


def _broken(seen: facts.ModuleSeen) -> Iterator[Finding]:
    if seen.unreached:
        names = ", ".join(seen.unreached[:3])
        yield Finding(f"No gradient reaches {names} of `{seen.name}`.")
    if not (seen.finite and seen.gradient_finite):
        yield Finding(f"Output or gradient of `{seen.name}` is not finite.")
    stacked, single = seen.stacked_gradient, seen.single_gradient
    if stacked is not None and single and not stacked < EXPLODES * single:
        yield Finding(
            f"Fifty `{seen.name}` after one another explode: gradient norm {stacked:.2g}, one has "
            f"{single:.2g}.",
            (figure("gradient norm of fifty", stacked), figure("of one", single)),
        )


def _distance(kept: float) -> float:
    """By what factor a ratio differs from 1, up or down."""
    return abs(log(kept)) if 0 < kept < inf else inf
