"""Noise that is added to gradients is drawn anew for every update.

Bug::

    loss.backward()
    generator = torch.Generator().manual_seed(0)   # the same on every rank, and in every step
    for p in model.parameters():
        p.grad += 1e-3 * torch.randn(p.grad.shape, generator=generator)
    optimizer.step()                               # a constant push, not noise

Signature: what no micro-batch explains of the consumed gradients points the same way in several updates
of a pass, in every parameter; weight decay is taken out first.

Masked by: ranks that agree, which is what the shared seed is for; a loss that falls.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import Window, full
from harness.properties.property import Property

ID = "noise-is-new"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare what was added to the gradients of each update with earlier updates."""
    del expectations
    noisy = [w for w in full(trace) if (w.update.unexplained or 0.0) > w.tolerance]
    if len(noisy) < 2:
        return inconclusive(ID, "No two updates had anything added to their gradients.")
    again = [(w, old) for w in noisy if (old := in_one_pass(w, noisy))]
    if not again:
        return passed(
            ID,
            f"What was added to the gradients of {count(len(noisy), 'update')} differs each time.",
            number("updates with noise", len(noisy)),
        )
    window, old = again[0]
    return failed(
        ID,
        f"In {window.where} the same was added to the gradients as in update {old[0]}, and so in "
        f"{len(again)} of {count(len(noisy), 'update')}: noise that is the same again is a constant "
        "push. Seed once, before the loop, with one seed on all ranks, and draw anew for each update.",
        number("updates in which it was the same again", len(again), window.where),
        number("updates with noise", len(noisy)),
    )


def in_one_pass(window: Window, noisy: list[Window]) -> list[int]:
    """Indices of earlier updates, of the same rank and pass, to which the same was added."""
    near = [w for w in noisy if w.probe is window.probe and w.rank == window.rank]
    return [
        w.update.index
        for w in near
        if w.update.index in window.update.same_rest and pass_of(w) == pass_of(window)
    ]


def pass_of(window: Window) -> int | None:
    """Which pass over the data the window belongs to; ``None`` if not known."""
    return next((m.after_batch[0] for m in window.own if m.after_batch), None)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.several_ranks,
    needs="two updates whose gradients hold more than micro-batches gave",
)
