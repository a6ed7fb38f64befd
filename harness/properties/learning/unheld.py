"""Parameters that backward reaches and no optimizer holds, where that cannot be meant."""

import math
import re
from collections.abc import Sequence
from itertools import chain, pairwise

from harness.domain.facts_of_run import UnheldParameter
from harness.domain.own import SHORTER
from harness.domain.regimes import REGIMES
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number

ID = "every-parameter-learns"

FEW = 4
"""With fewer losses, all may come before the first update."""

PARTED = 1e-6
"""Part of a term by which it differs between two runs, if it follows what differs there."""

WHY = {
    "hidden": "a module keeps them in an attribute that parameters() does not look into: register them "
    "(nn.ModuleList, nn.ParameterList, nn.Parameter itself and no view of it)",
    "thawed": "they were frozen at first and ask for a gradient now: give them to the optimizer that "
    "steps (optimizer.add_param_group, or a new one that takes its place in the loop)",
    "forgotten": "they are applied to what is trained: give them to the optimizer as well, or freeze "
    "them with requires_grad_(False)",
    "replaced": "no parameter that an optimizer holds gets a gradient any more: build the optimizer "
    "after the last change of the model, or load a state instead of exchanging it",
    "exchanged": "an optimizer holds parameters without a gradient that no module has any more: build "
    "it after the last change of the model",
    "checkpointed": "torch.utils.checkpoint with use_reentrant=True gives what it computes no gradient "
    "where none of its inputs asks for one: use use_reentrant=False",
    "cut": "the model returns what they make, and no loss goes back to it: take away what cuts it off "
    "(no_grad, detach, .data, .item(), a choice by argmax), or freeze them with requires_grad_(False)",
    "wiped": "clear gradients before the first backward of an update, and not between two of them",
}
"""What speaks against an intention, and what to do."""

BY_HAND = re.compile(r"\.grad\s*=\s*None")
"""How a program keeps a gradient from its optimizer on purpose."""


WAITING = ("cut",)
"""What a loss that is still to come may undo."""


def held_by_nobody(trace: Trace) -> Verdict | None:
    """A fail for parameters that got gradients throughout and that nothing ever updates."""
    for probe in trace.probes:
        by_hand = BY_HAND.search(probe.program.as_run or "")
        known = [
            x for x in probe.program.unheld
            if x.why != "idle" and not (x.why == "wiped" and by_hand)
        ]  # fmt: skip
        found = [x for x in known if x.why not in WAITING or ran_whole(probe)]
        if found:
            return _failed(probe, found)
    return None


def ran_whole(probe: ProbeTrace) -> bool:
    """Whether the program came to its end with all its batches: else a loss that is still to come may go
    back to what no loss has gone back to so far.
    """
    shortened = any(note.startswith(SHORTER) for note in probe.program.bound)
    return probe.program.outcome == "returned" and not shortened


def from_constants(trace: Trace) -> Verdict | None:
    """A fail for a term of the loss from which nothing learns: it hangs on gradients without a graph."""
    for probe in trace.probes:
        times = probe.program.constant_terms
        if times:
            return failed(
                ID,
                f"In {probe.probe} {count(times, 'backward')} began at a loss with a term that was "
                "computed from torch.autograd.grad without create_graph=True: it is a constant to "
                "backward, and nothing learns from it.",
                number("losses with a term without a graph", times, probe.probe),
            )
    return _following_weights(trace)


def flagged_in_vain(trace: Trace) -> Verdict | None:
    """A fail for a flag that was set on a module, or under a name that means nothing."""
    for probe in trace.probes:
        flags = probe.program.flagged_modules
        if flags:
            return failed(
                ID,
                f"In {probe.probe} {flags[0]} was set: that is an attribute of its own and freezes or "
                "thaws no parameter. Call requires_grad_() on the module, which does it for all of "
                "its parameters, or set requires_grad of each of them.",
                number("such attributes", len(flags), probe.probe),
            )
    return None


def zero_factors(trace: Trace) -> Verdict | None:
    """A fail for matrices that are multiplied with each other and are both zero."""
    for probe in trace.probes:
        zeros = probe.program.zero_factors
        if zeros:
            return failed(
                ID,
                f"In {probe.probe} {' and '.join(zeros[:2])} began at zero in every number and had "
                "gradients of zeros in each step: two factors of zeros keep each other there, and "
                "nothing learns. Begin one of them with random numbers.",
                number("matrices that stay zero", len(zeros), probe.probe),
            )
    return None


def moved_though_frozen(trace: Trace) -> Verdict | None:
    """A fail for parameters that were trained, are frozen, and are moved all the same."""
    for probe in trace.everything:
        moved = probe.program.moved_frozen
        others = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
        if moved:
            return failed(
                ID,
                f"In {probe.probe} the optimizer went on moving {moved[0]}{others} after the freeze: "
                "the gradient is a tensor of zeros, on which momentum and weight decay act. Set it to "
                "None (zero_grad(set_to_none=True)), or take it out of the optimizer.",
                number("frozen parameters that move", len(moved), probe.probe),
            )
    return None


def moved_though_masked(trace: Trace) -> Verdict | None:
    """A fail for rows that are kept from learning by gradients of zeros, and are moved all the same."""
    for probe in trace.everything:
        moved = probe.program.moved_rows
        if moved:
            return failed(
                ID,
                f"In {probe.probe} rows of {moved[0]} moved though their gradient was set to zero "
                "before each step: weight decay and momentum act on them as well. Give that parameter "
                "to the optimizer without weight decay, or put its rows back after the step.",
                number("parameters with rows that move", len(moved), probe.probe),
            )
    return None


def _following_weights(trace: Trace) -> Verdict | None:
    """A fail for terms without a gradient that begin alike in two runs on the same data, and part with
    the weights.
    """
    alike = {regime.name for regime in REGIMES}  # in any other execution the data come otherwise
    told = [p for p in trace.probes if len(p.program.constant_values) >= FEW and p.probe in alike]
    for one, other in pairwise(told):
        values = (one.program.constant_values, other.program.constant_values)
        (begin, same), *later = zip(*values, strict=False)
        if begin != same or not all(map(math.isfinite, chain(*values))):
            continue
        parted = sum(abs(a - b) > PARTED * max(abs(a), abs(b)) for a, b in later)
        if parted:
            return failed(
                ID,
                "The loss has a term without a gradient that follows the weights: two runs on the "
                "same data begin with the same value, and part as their weights do. What made it was "
                "taken out of the graph (no_grad, detach, .data, .item()), and nothing learns from it.",
                number("losses in which the term parts", parted, other.probe),
            )
    return None


def _failed(probe: ProbeTrace, found: Sequence[UnheldParameter]) -> Verdict:
    why = found[0].why
    names = [one.name for one in found if one.why == why]
    times = count(found[0].backwards, "time")
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    listed = f"{', '.join(names[:4])}{rest}"
    if why in ("checkpointed", "cut"):
        said = f"{listed} had no gradient though their optimizer stepped {times}"
    elif why == "wiped":
        said = f"backward reached {listed} {times}, and no step found a gradient there"
    else:
        said = f"backward reached {listed} {times}, no optimizer holds them, and they never changed"
    return failed(
        ID,
        f"In {probe.probe} {said}; {WHY[why]}.",
        number("parameters that nothing trains", len(names), probe.probe),
    )
