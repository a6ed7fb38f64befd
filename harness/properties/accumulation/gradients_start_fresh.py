"""Each window starts from cleared gradients: nothing of an earlier one is consumed again.

Bug::

    for x, y in train_loader:
        loss = criterion(model(x), y)
        loss.backward()                # adds to .grad
        optimizer.step()               # zero_grad() is missing: update k consumes k windows

Signature: micro-batches of earlier windows have a coefficient clearly above 0 in a later update
(sizes grow 1, 2, 3, ... on similar data); a batch whose step was left out is in the next update; or one
graph went backward twice and both gradients arrived.

Masked by: a probe of one update, which is perfect; active clipping, which hides the growth but
not the direction.
"""

from collections.abc import Iterator
from itertools import chain

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import stale
from harness.properties.evidence.consumption import transported
from harness.properties.evidence.figures import close, count, number, show
from harness.properties.evidence.windows import UNDIVIDED, Window, full, of_probe, usual_size
from harness.properties.property import Property

ID = "gradients-start-fresh"

KEPT = 0.05
"""From this share of the consumed norm on, the gradient of a batch whose step was skipped is still
there.
"""

LEAK = 10.0
"""How many times the unexplained rest of a gradient can leak into a coefficient."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look for earlier windows in later updates, except where the consumed gradient is right anyway."""
    seen = transported(trace, expectations)
    right = {r.where for r in seen.readings if r.right} if seen else set()
    by_steps = chain(
        (backward_twice(w) for w in full(trace) if flowed_twice(w, expectations)),
        (skipped_and_kept(w) for w in of_skips(trace, expectations) if held(w)),
        (counted_twice(p) for p in trace.probes if p.program.counted_twice),
        (piled_up(p) for p in trace.probes if p.program.piled_up),
        (attack_kept(w) for p in trace.probes for w in of_probe(p) if of_an_attack(w)),
        (search_kept(w) for p in trace.probes for w in of_probe(p) if of_a_search(w)),
    )
    if (found := next(by_steps, None)) is not None:
        return found
    later = [w for w in full(trace) if follows_another(w) and not other_part_rests(w)]
    kept = {w.where for w in later if adds_its_memory(w, expectations)}
    odd = [w for w in later if w.where not in right | kept]
    measured = [(w, s) for w in odd if (s := stale(w)) is not None]
    worst = max(measured, key=lambda pair: pair[1], default=None)
    if worst is not None and worst[1] > floor(worst[0]):
        return not_cleared(*worst)
    # of a window that can be taken apart it is known that nothing older was consumed: what stood in
    # .grad before its first backward was cleared later, with some of its own micro-batches
    unknown = [w for w in odd if stale(w) is None]
    lying = next((w for w in unknown if (w.update.left_over or 0.0) > w.negligible), None)
    if lying is not None:
        return not_cleared(lying, lying.update.left_over or 0.0)
    empty = [w for w in unknown if w.update.left_over is not None]
    clean = len((right | kept) & {w.where for w in later}) + len(measured) + len(empty)
    if not clean:
        return inconclusive(
            ID,
            "No update that follows another one could be taken apart; one update alone cannot "
            "show it.",
        )
    return passed(
        ID,
        f"In {count(clean, 'window')} that follow another one, nothing of an earlier window was "
        "left.",
        number("windows", clean),
    )


def adds_its_memory(window: Window, expectations: Expectations) -> bool:
    """Whether what is older came from the program itself and not from ``.grad``, which was clear, where
    that may be: a filter of gradients adds what it keeps of earlier ones.
    """
    one_network = not window.update.trains
    return expectations.unasked and one_network and window.update.began_clear


def counted_twice(probe: ProbeTrace) -> Verdict:
    """The fail for losses that went backward by themselves and again as part of a later one."""
    steps = probe.program.counted_twice
    return failed(
        ID,
        f"In {probe.probe} {count(steps, 'step')} consumed gradients that count a loss twice: it went "
        "backward once, and again as part of a later loss or a running sum. Call backward once for "
        "each loss, or once on their sum.",
        number("steps that counted a loss twice", steps, probe.probe),
    )


def piled_up(probe: ProbeTrace) -> Verdict:
    """The fail for closures that do not clear what their evaluation before left."""
    times = probe.program.piled_up
    return failed(
        ID,
        f"In {probe.probe} an optimizer called its closure again within a step, and "
        f"{count(times, 'time')} the gradients of the call before were still there. Clear them first: "
        "optimizer.zero_grad(), then the loss, then backward.",
        number("evaluations on top of others", times, probe.probe),
    )


def of_an_attack(window: Window) -> bool:
    """Whether gradients of passes that were made for an input were consumed with those of one that
    was not. What went through no model, as a loss of cached embeddings does, attacks none.
    """
    told = any(m.coefficient is not None for m in window.own)  # then the others went elsewhere
    known = [m for m in window.own if (not told if m.coefficient is None else m.coefficient > KEPT)]
    ends = bool(known) and not known[-1].at_input
    attacks = any(m.at_input and m.forward >= 0 for m in known)
    return ends and window.update.window_size > 1 and attacks


def attack_kept(window: Window) -> Verdict:
    """The fail for gradients of an attack that the optimizer consumed."""
    found = sum(m.at_input for m in window.own)
    return failed(
        ID,
        f"In {window.where} the optimizer consumed the gradients of {count(found, 'call')} of backward "
        "that were made for the gradient of an input, as an attack is, beside those of the loss. "
        "Clear the gradients after the attack, or take torch.autograd.grad for it.",
        number("passes for an input", found, window.where),
    )


def of_a_search(window: Window) -> bool:
    """Whether the gradient that moved the parameters away, as sharpness-aware minimisation does, was
    consumed with the one that it was to be replaced by, both whole and of the same rows.
    """
    own = window.rank_trace.backwards
    weights = [b.factor for b in own if b.after_update == window.update.index]
    two = len(weights) == window.update.window_size == 2
    whole = all(w is not None and abs(w - 1.0) < UNDIVIDED for w in weights)
    return two and whole and any(m.moved_after and m.in_window for m in window.own)


def search_kept(window: Window) -> Verdict:
    """The fail for a first gradient of two that the optimizer consumed as well."""
    return failed(
        ID,
        f"In {window.where} a first gradient moved the parameters, a second one was computed there on "
        "the same rows, and the optimizer consumed the sum of both. Clear the gradients between the "
        "two passes.",
        number("gradients of the same rows", 2, window.where),
    )


def other_part_rests(window: Window) -> bool:
    """Whether the part that this one is trained against never moved: then nothing tells which of the
    gradients were meant for it, and that it rests is the fault.
    """
    learning, parts = window.probe.learning, set(window.probe.parts) - {window.update.trains}
    if learning is None or not window.update.trains:
        return False
    moved = {name.partition(".")[0] for name, way in learning.moved.items() if way != 0.0}
    return any(
        part not in moved and any(n.partition(".")[0] == part for n in learning.moved)
        for part in parts
    )


def flowed_twice(window: Window, expectations: Expectations) -> bool:
    """Whether backward ran more than once on a single micro-batch's loss, and all of it was
    consumed.

    A loss in parts goes backward part by part, but then its weights add up to 1. Windows of several
    micro-batches are judged by accumulation-equals-large-batch.
    """
    if len(window.own) != 1 or window.update.window_size != 1:
        return False
    one = window.own[0]
    found = (window.update.match(o) for o in expectations.objectives if o != "as-computed")
    return (
        one.backwards > 1
        and one.weight is not None
        and close(one.weight, one.backwards, window.tolerance)
        and any(m is not None and close(m.ratio, one.weight, window.tolerance) for m in found)
    )


def of_skips(trace: Trace, expectations: Expectations) -> Iterator[Window]:
    """Updates with the gradients of two batches, in a loop of one batch an update: the step of the
    first batch was skipped.
    """
    for probe in () if expectations.accumulates else trace.probes:
        for window in of_probe(probe) if usual_size(probe) == 1 else ():
            places = {m.after_batch for m in window.own}
            if len(window.own) == len(places) == 2 and None not in places and window.separable:
                yield window


def held(window: Window) -> bool:
    """Whether the two batches differ and the first has a visible part in what was consumed. The
    second may have none: beside a spike nothing is seen of an ordinary batch.
    """
    first, second = window.own
    differ = first.samples and second.samples and not {*first.samples} & {*second.samples}
    return bool(differ) and (first.share or 0.0) > KEPT


def skipped_and_kept(window: Window) -> Verdict:
    """The fail for a skipped step whose gradients were kept."""
    first = window.own[0]
    return failed(
        ID,
        f"In {window.where} the optimizer consumed two batches, where each has an update of its "
        "own: the step of the first was left out and its gradients stayed "
        f"({show(first.share or 0.0)} of the norm that was consumed). Clear the gradients of what is "
        "skipped.",
        number("share of the batch that was skipped", first.share or 0.0, window.where),
        number("norm of the consumed gradient", window.update.consumed_norm, window.where),
    )


def backward_twice(window: Window) -> Verdict:
    """The fail for two backwards through one graph."""
    times = window.own[0].backwards
    return failed(
        ID,
        f"In {window.where} backward ran {times} times over one graph, and the optimizer consumed "
        f"all of it, {times} times the gradient of the loss. Call backward once, or clear the "
        "gradients in between.",
        number("backwards", times, window.where),
        number("norm of the consumed gradient", window.update.consumed_norm, window.where),
    )


def not_cleared(window: Window, share: float) -> Verdict:
    """The fail for gradients of an earlier window, found in the consumed gradient or in ``.grad``
    before the window's first backward. The second also works where clipping unit by unit makes the
    consumed gradient no sum of micro-batches any more.
    """
    what, between = (
        "an earlier window again",
        "between the step and the next window's first backward",
    )
    if window.update.trains:
        what = "the other network's loss, or of an earlier window"
        between = f"right before the backward of the {window.update.trains}'s own loss"
    return failed(
        ID,
        f"In {window.where} the optimizer consumed gradients of {what}, with "
        f"{show(min(share, 1e9))} times the weight of the new ones. Clear the gradients "
        f"(optimizer.zero_grad()) {between}.",
        number("share of an earlier window", share, window.where),
    )


def floor(window: Window) -> float:
    """Share below which a coefficient is noise; clipping by group leaks into every coefficient."""
    return max(window.negligible, LEAK * (window.update.unexplained or 0.0))


def follows_another(window: Window) -> bool:
    """Whether the same rank made an update before it."""
    return any(
        w.rank == window.rank and w.update.index < window.update.index
        for w in of_probe(window.probe)
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    explains=(
        "accumulation-equals-large-batch",
        "clip-before-step",
        "clip-once-per-update",
        "clip-inactive-when-small",
        "clip-global-norm",
        "clip-per-group",
        "noise-is-new",
        "training-unchanged",
        "finite-loss",
        "params-stay-finite",
        "still-learns",
    ),
    needs="two updates on one rank",
)
