"""Every parameter that has a true gradient gets it, and moves.

Bug::

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.head = nn.Linear(64, 10)     # replaced after the optimizer was built
    loss.backward()                    # the new head has gradients
    optimizer.step()                   # and the optimizer still holds the old one

Signature: a parameter with a true gradient has none, or (as good as) 0, when the optimizer steps,
in every window; or its value is the same, bit for bit, at the end; or of a bias one direction,
such as the mean of its entries, is taken away in every update; or backward runs over a whole pass
and no update follows; or backward reaches it again and again, no optimizer holds it, and that
cannot be meant; or a flag was set on a module that only tensors have; or checkpoints stop it; or
a term of the loss was computed without its graph, and teaches none of them anything; or it is
frozen, and momentum and weight decay go on moving it.

Masked by: the parts that do learn, which bring the loss down.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import weighty
from harness.properties.evidence.figures import close, count, number
from harness.properties.evidence.windows import Window, full_of, of_probe, ordinary
from harness.properties.learning.never_stepped import never_stepped
from harness.properties.learning.unheld import (
    flagged_in_vain,
    from_constants,
    held_by_nobody,
    moved_though_frozen,
    moved_though_masked,
    zero_factors,
)
from harness.properties.property import Property

ID = "every-parameter-learns"

CUT = 1e-3
"""Part of a gradient's square from which on a missing direction is no rounding, beside
``ROUNDINGS`` tolerances: in half precision a bias of right loops lost 2e-3 in every update.
"""

ROUNDINGS = 4.0
"""A norm may be off by one tolerance, its square by two; and as much again to be sure."""

NOTHING = 1e-7
"""Share of a true gradient that counts as none: the rounding of float32. A clip relative to the
parameter's own norm leaves that little where the norm is 0 and its floor 1e-8 instead of 1e-3.
"""

LOST = "the whole gradient is lost on the way from the loss to the step"
TAKEN = (
    "something after backward takes it away, as a clip does whose limit is a share of the parameter's "
    "own norm where that is 0 (give the limit a floor), or a mean taken off over a single entry"
)
"""Why parameters do not learn, as far as it can be told from numbers; what may be one of several is
said as that.
"""

FROZEN = "requires_grad is False in every forward (set it, and hand them to the optimizer)"

UNREACHED = (
    "either the optimizer does not hold what the model uses (build it after the model is complete and "
    "in place), or backward does not reach them (detached, under no_grad, or checkpointed from an input "
    "that asks for no gradient), or their .grad is removed"
)
"""What may be one of several is said as that."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Parameter by parameter, in probes whose data are sound and whose gradients do not vanish by
    design.
    """
    forgotten = held_by_nobody(trace) or from_constants(trace) or flagged_in_vain(trace)
    forgotten = forgotten or moved_though_frozen(trace) or moved_though_masked(trace)
    forgotten = forgotten or zero_factors(trace)
    if forgotten is not None:
        return forgotten
    checked: set[str] = set()
    doubt: Verdict | None = None
    for probe in ordinary(trace, expectations):
        idle = never_stepped(probe)
        if idle is not None:
            return idle
        if probe.probe == expectations.unhealthy_probe or not of_probe(probe):
            continue
        wrong = never_fed(probe) or never_moved(probe) or in_part(probe)
        if wrong is not None and wrong.outcome == "fail":
            return wrong
        doubt = doubt or wrong
        checked |= fed(full_of(probe))[1]
    if doubt is not None or not checked:
        nothing = "No full window showed a true gradient parameter by parameter."
        return doubt or inconclusive(ID, nothing)
    return passed(
        ID,
        f"All {count(len(checked), 'parameter')} with a true gradient got it and moved.",
        number("parameters", len(checked)),
    )


def fed(windows: tuple[Window, ...]) -> tuple[set[str], set[str]]:
    """Parameters that have a true gradient in some window, and those of them whose gradient was
    consumed.
    """
    due: set[str] = set()
    got: set[str] = set()
    for window in windows:
        for match in window.update.matches:
            names = weighty(match, window)
            due |= {p.name for p in names}
            got |= {p.name for p in names if (p.consumed_norm or 0.0) > NOTHING * p.expected_norm}
    return due, got


def never_fed(probe: ProbeTrace) -> Verdict | None:
    """A fail when the gradient of some parameters never reaches the optimizer."""
    windows = full_of(probe)
    due, got = fed(windows)
    missing = sorted(due - got)
    zeroed = sorted(set(missing) & zero_throughout(windows))
    if zeroed:
        held = {p.name for w in windows for match in w.update.matches for p in match.parameters}
        return made_zero(probe, zeroed, every=held == {*zeroed})
    if missing:
        return thawed_later(probe, missing) or failed(
            ID,
            f"In {probe.probe} the optimizer never had a gradient for {some(missing)}, in "
            f"{count(len(windows), 'window')} with a true one: {out_of_reach(probe, missing)}.",
            number("parameters without a gradient", len(missing), probe.probe),
            number("parameters with a true gradient", len(due), probe.probe),
        )
    empty = [w for w in windows if w.update.consumed_norm == 0.0]
    broke = probe.program.outcome == "raised" and len(windows) == 1  # one update shows too little
    left_out = lends_a_step(probe)  # to its reader, who has the loss as well
    if windows and len(empty) == len(windows) and not (got or broke or left_out):
        return failed(
            ID,
            f"In {probe.probe} none of {count(len(windows), 'update')} had a gradient to consume: "
            "it was cleared between backward and step, backward did not reach the model, or the "
            "optimizer holds other tensors than the model's.",
            number("updates without a gradient", len(empty), probe.probe),
        )
    return None


def lends_a_step(probe: ProbeTrace) -> bool:
    """Whether it only steps an optimizer, or for a model, of its reader's: no batch, and no backward."""
    lent = any(note.endswith((": optimizer", ": model")) for note in probe.program.bound)
    return lent and not any(r.backwards or r.batches_yielded for r in probe.ranks)


def thawed_later(probe: ProbeTrace, names: list[str]) -> Verdict | None:
    """Inconclusive when the parameters were frozen throughout, and code that may thaw them never ran."""
    windows = full_of(probe)
    frozen = all({*names} <= {*window.update.frozen} for window in windows)
    waiting = [
        branch
        for branch in probe.program.unentered or ()
        if branch.reached and branch.counted and branch.thaws
    ]
    if not frozen or not waiting:
        return None
    return inconclusive(
        ID,
        f"In {probe.probe} {', '.join(names[:4])} asked for no gradient in any of "
        f"{count(len(windows), 'window')}, and what may change that, from line {waiting[0].first} on, "
        "never ran.",
        number("frozen parameters", len(names), probe.probe),
    )


def zero_throughout(windows: tuple[Window, ...]) -> set[str]:
    """Parameters for which the optimizer always had a gradient, whatever its size."""
    found = [p for w in windows for match in w.update.matches for p in match.parameters]
    absent = {p.name for p in found if p.consumed_norm is None}
    return {p.name for p in found} - absent


def made_zero(probe: ProbeTrace, names: list[str], *, every: bool) -> Verdict:
    """The fail when something after backward sets the gradient of some parameters, or of all, to 0;
    inconclusive in a run that has exploded.
    """
    windows = len(full_of(probe))
    whose, why = ("every parameter", LOST) if every else (some(names), TAKEN)
    if 2 * windows < len(of_probe(probe)):  # saturated units give zeros
        return inconclusive(ID, f"In {probe.probe} most gradients were not finite, and others 0.")
    return failed(
        ID,
        f"In {probe.probe} the gradient of {whose} was 0 or as good as 0 at each of "
        f"{count(windows, 'step')}, and the true one is not: {why}.",
        number("parameters with a gradient of 0", len(names), probe.probe),
        number("updates", windows, probe.probe),
    )


def some(names: list[str]) -> str:
    """Up to four names, and how many more."""
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return f"{', '.join(names[:4])}{rest}"


def never_moved(probe: ProbeTrace) -> Verdict | None:
    """A fail when parameters kept their value although the optimizer had a learning rate."""
    learning = probe.learning
    rates = [rate for w in of_probe(probe) for rate in w.update.learning_rates]
    if learning is None or probe.program.outcome not in ("returned", "exited"):
        return None
    if not any(r > 0 for r in rates):
        by_hand = any(rank.implicit_updates for rank in probe.ranks)
        return at_rate_zero(probe) if len(rates) > 1 and not by_hand else None
    own = any(not w.update.recomputed for w in of_probe(probe))
    if own and all(moved == 0.0 for moved in learning.moved.values()):
        return None  # the program trains a model of its own, and leaves the given one alone
    still = sorted(n for n, moved in learning.moved.items() if moved == 0.0)
    held = {p.name for w in full_of(probe) for m in w.update.matches for p in m.parameters}
    due, got = fed(full_of(probe))
    stuck = [n for n in still if n in due or n not in held]
    if not stuck or not held:
        return None
    return thawed_later(probe, stuck) or failed(
        ID,
        f"In {probe.probe} {some(stuck)} did not move in {count(len(of_probe(probe)), 'update')}: "
        f"{put_back(rates) if {*stuck} <= got else unstepped(probe, stuck)}.",
        number("parameters that did not move", len(stuck), probe.probe),
        number("parameters", len(learning.moved), probe.probe),
    )


def put_back(rates: list[float]) -> str:
    """Why parameters may stay although the optimizer had their gradient."""
    if 0.0 in rates:
        return "the optimizer had their gradient, and a group of it has a learning rate of 0"
    return "the optimizer had their gradient, and something puts them back after the step"


def in_part(probe: ProbeTrace) -> Verdict | None:
    """A fail when from the gradient of a bias the same part, such as its mean, is taken in every
    update. What is left of a projection is as long as its own part of the whole; what a clip leaves
    is not.
    """
    windows = full_of(probe)
    left: dict[str, list[float]] = {}
    for window in windows:
        for match in window.update.matches[:1]:
            for p in weighty(match, window):
                if p.name.rpartition(".")[2] == "bias" and p.consumed_norm:
                    kept = (p.consumed_norm / p.expected_norm) ** 2
                    along = p.dot / p.expected_norm**2
                    least = CUT + ROUNDINGS * window.tolerance
                    projected = close(kept, along, window.tolerance) and kept < 1.0 - least
                    left.setdefault(p.name, []).append(kept**0.5 if projected else 1.0)
    cut = {n: found for n, found in left.items() if len(found) > 1 and max(found) < 1.0}
    if not cut:
        return None
    name, found = min(cut.items(), key=lambda pair: max(pair[1]))
    lost = (1.0 - max(found) ** 2) ** 0.5
    return failed(
        ID,
        f"In {probe.probe} a part of the gradient of {some(sorted(cut))} never arrives: a direction, "
        f"such as the mean, is taken away in every update, at least {lost:.1%} of the norm. Centralise "
        "matrices only: the mean of a bias's gradient is what all its entries learn.",
        number(f"largest part of the gradient of {name} that arrived", max(found), probe.probe),
    )


def at_rate_zero(probe: ProbeTrace) -> Verdict:
    """The fail for a learning rate that is 0 from the first update to the last."""
    steps = len(of_probe(probe))
    return failed(
        ID,
        f"In {probe.probe} nothing moved in {count(steps, 'update')}: the learning rate was 0 in "
        "each of them.",
        number("learning rate", 0.0, probe.probe),
        number("updates", steps, probe.probe),
    )


def out_of_reach(probe: ProbeTrace, names: list[str]) -> str:
    """Why parameters may have no gradient at a step, as far as the windows tell."""
    frozen = all({*names} <= {*window.update.frozen} for window in full_of(probe))
    return FROZEN if frozen else UNREACHED


def unstepped(probe: ProbeTrace, names: list[str]) -> str:
    """The same of parameters that stayed: the optimizer of one of two networks may never step."""
    why, never = out_of_reach(probe, names), "either their optimizer never steps, or "
    return never + why.removeprefix("either ") if probe.parts and why is UNREACHED else why


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.trains,
    explains=(
        "accumulation-not-wiped",
        "accumulation-equals-large-batch",
        "clip-inactive-when-small",
        "clip-per-group",
        "no-batch-lost",
        "training-unchanged",
        "still-learns",
    ),
    needs="a full window with a true gradient by parameter",
)
