"""What functions over gradients have shown: those that change them, and those that look. Pure."""

import re
from collections.abc import Iterator
from math import isfinite

from harness.checking import facts
from harness.checking.evidence import Evidence, Finding, figure
from harness.domain.check import Observation

_SAYS_CLIP = re.compile(r"\b(?:using|adding|applying) (?:gradient )?clipping", re.IGNORECASE)


_LOOKS = re.compile(
    r"grad|norm|check|monitor|log|inspect|print|report|diagnos|analy|detect|track|watch|stat",
    re.IGNORECASE,
)
"""How a function shows that it is there to look: what else is given a model may change it."""


def gradient_functions(
    measured: tuple[facts.GradientFunctionSeen, ...],
) -> Iterator[list[Evidence]]:
    """For each function the evidence of its calls, or of its first call with a fault alone: it would
    show at other sizes too.
    """
    for name in dict.fromkeys(seen.name for seen in measured):
        found = [_gradient_function(seen) for seen in measured if seen.name == name]
        worst = next((e for e in found if e.faults), None)
        yield [worst] if worst is not None else found


def inspection(seen: facts.InspectionSeen) -> Evidence:
    """Evidence on a function that looks at gradients: unless it is there to clip, it may change
    nothing.
    """
    called = f"`{seen.name}`" if seen.name else "It"
    if seen.raised:
        return Evidence(not_run=f"{called} raised {seen.raised}")
    clipped = seen.gradients_changed and seen.norm_after <= seen.norm_before
    looks = not seen.name or _LOOKS.search(seen.name) is not None
    if looks and (seen.values_changed or (seen.gradients_changed and not clipped)):
        return Evidence(
            faults=(Finding(f"{called} was only to look, and changes what it looks at."),)
        )
    if not seen.gradients_changed and _SAYS_CLIP.search(seen.told):
        said = " ".join(seen.told.split())[:80]
        return Evidence(faults=(Finding(f'It prints "{said}", and no gradient changes.'),))
    merits = []
    if seen.verified is not None and seen.verified_value is not None:
        sentence = f"{called} finds {seen.verified}, {seen.verified_value:.3g}, as recomputed."
        merits.append(Finding(sentence, (figure(seen.verified, seen.verified_value),)))
    if seen.said_when_broken:
        merits.append(Finding(f"{called} tells a model with a NaN from a sound one."))
    if not merits and seen.returned and all(isfinite(n) for n in seen.returned):
        merits.append(Finding(f"{called} returns {seen.returned[0]:.3g} and changes nothing."))
    return Evidence(merits=tuple(merits))


def _gradient_function(seen: facts.GradientFunctionSeen) -> Evidence:
    if seen.raised:
        return Evidence(not_run=f"`{seen.name}` raised {seen.raised}")
    faults = tuple(_spoilt(seen))
    if faults:
        return Evidence(faults=faults, remarks=tuple(_bends(seen)))
    if all(abs(ratio - 1) < 1e-6 for ratio in seen.ratios.values()):
        sentence = f"`{seen.name}` leaves gradients of norm {seen.norm_before:.3g} as they are."
    else:
        sentence = (
            f"`{seen.name}` takes a gradient of norm {seen.norm_before:.3g} to {seen.norm_after:.3g}; "
            "every parameter keeps a finite gradient."
        )
    norms = (figure("norm before", seen.norm_before), figure("norm after", seen.norm_after))
    return Evidence(merits=(Finding(sentence, norms),), remarks=tuple(_bends(seen)))


def _spoilt(seen: facts.GradientFunctionSeen) -> Iterator[Finding]:
    if seen.wiped:
        yield Finding(
            f"`{seen.name}` leaves no gradient at all for {_names(seen.wiped)}: a parameter that "
            "starts at zero, or has one element, never learns.",
            (figure("norm of all gradients before", seen.norm_before),),
        )
    apart = seen.differs_from_torch
    if apart is not None and not apart <= 1e-4:
        yield Finding(
            f"`{seen.name}` leaves other gradients than torch's function of that name "
            f"(relative distance {apart:.2g}).",
            (figure("relative distance", apart),),
        )
    if seen.graph:
        yield Finding(
            f"After `{seen.name}` the gradient of {_names(seen.graph)} carries a graph: "
            "use torch.no_grad()."
        )
    if not seen.finite:
        yield Finding(f"`{seen.name}` leaves gradients that are not finite.")


def _bends(seen: facts.GradientFunctionSeen) -> Iterator[Observation]:
    lowest = min(seen.cosines.values(), default=1.0)
    if lowest < 0.99:
        yield Observation(
            sentence=f"At norm {seen.norm_before:.3g} it bends the gradient of a parameter "
            f"(cosine {lowest:.2g}).",
            numbers=(figure("smallest cosine of a parameter", lowest),),
        )


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
