"""What a program writes to change its training changes it.

Bug::

    for p in model.parameters():
        p.grad.clamp(-1.0, 1.0)              # a new tensor that nobody takes; clamp_ was meant
        g = p.grad
        g = g * 0.5                          # the gradient stays as it was
    no_decay = ["bias", "LayerNorm.weight"]  # and the model calls them norm1 and norm2
    optimizer.zero_grad                      # named, not called
    torch.autocast("cuda")                   # made, not entered
    optimizer.defaults["lr"] *= 0.1          # its groups keep theirs
    if loss.item() == float("nan"):          # NaN equals nothing: no batch is ever skipped
        continue
    if (i + 1) % 4 == 0 or i == len(loader):
        optimizer.step()                     # i ends one before: a rest is never stepped

Signature: the program updated, and its text holds a statement of arithmetic on a gradient or a loss
whose result goes nowhere; or a method of an optimizer, a loss, a schedule or a model that is named and
not called; or a loop over weights that makes something new of each, which nobody takes; or a context
for autocast or synchronisation that is made and not entered; or a default of an optimizer that is set
when its groups are there, and no group is; or a condition that leaves or steps and asks by equality for
NaN, where nothing else asks for it; or a gradient whose name is bound to something new that no line
takes; or hooks made in a loop read what the loop binds; or a closure for LBFGS draws its rows; or an
operation's own backward never reads the gradient that it is given; or a second loop over an iterator of
parameters, such as ``model.parameters()``, that was to change them; or gradients are measured between a
clearing and the next backward; or a hook takes the place of a Trainer's clip and clips nothing. Or a
clip had gradients in the first update and has none later. Or a step is due for the last batch of a pass
by a condition that never holds, and the rest of a pass was lost. Or a DistributedSampler that shuffles
is never told its epoch, and each pass has the order of the first.

Masked by: training that works without what the statement was for. A function that nothing calls is
not read, nor a cell of a notebook that ends with a value.
"""

import ast
import re

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.dry_clips import stays_dry
from harness.properties.evidence.figures import count, number
from harness.properties.learning.called_later import called_later
from harness.properties.learning.hooks_that_clip import clips_nothing
from harness.properties.learning.read_too_late import read_too_late
from harness.properties.learning.used_up import used_up
from harness.properties.learning.without_effect import never_the_last, without_effect
from harness.properties.property import Property
from harness.syntax import tree_of, walk

ID = "statements-take-effect"

DRY = (
    "a clip had gradients in the first update and none in any later one: an iterator of parameters was "
    "used up by then. Make a list of them, or ask for them anew."
)
"""What is wrong with a clip that runs dry."""


def judge(trace: Trace, _expectations: Expectations) -> Verdict:
    """Read each program that made updates."""
    trained = [probe for probe in trace.probes if any(rank.updates for rank in probe.ranks)]
    if not trained:
        return inconclusive(ID, "No update was seen.")
    updates = sum(len(rank.updates) for probe in trained for rank in probe.ranks)
    texts = {(probe.program.source, probe.program.calls): probe for probe in reversed(trained)}
    found = next(filter(None, map(_idle, reversed(texts.values()))), None)
    found = found or next(filter(None, map(_lost, trained)), None)
    found = found or next(filter(None, map(_spares_no_norm, trained)), None)
    if found is not None:
        return failed(ID, found, number("updates", updates))
    return passed(
        ID,
        f"In {count(updates, 'update')} no statement was seen that changes nothing.",
        number("updates", updates),
    )


def _idle(probe: ProbeTrace) -> str | None:
    """What its text shows, which is the same in every probe that ran it."""
    try:
        found = without_effect(probe.program.source, probe.program.calls) or _in_vain(probe)
    except SyntaxError:
        return None
    if found is None:
        return None
    return f"In {probe.probe} `{found[0]}` does not have the effect that was meant: {found[1]}."


def _spares_no_norm(probe: ProbeTrace) -> str | None:
    """What an answer to "which parameters do not decay" names, where no parameter is called so."""
    decayed = probe.program.decayed_norms
    try:
        tree = tree_of(probe.program.source) if decayed else ast.Module([], [])
    except SyntaxError:
        return None
    lists = (n.elts for n in walk(tree) if isinstance(n, ast.List | ast.Tuple | ast.Set))
    said = [[e.value for e in elts if isinstance(e, ast.Constant)] for elts in lists]
    texts = [one for some in said if "bias" in some for one in some if isinstance(one, str)]
    norms = [text for text in texts if re.search("norm|ln|bn", text, re.IGNORECASE)]
    if not norms or any(n in name for n in norms for name in decayed):
        return None
    return (
        f"In {probe.probe} no parameter is called `{norms[0]}`, so weight decay acts on {decayed[0]} "
        f"and on all others that normalise ({count(len(decayed), 'weight')} at least). Ask for the type "
        "of the layer, or for parameters of one dimension (p.ndim < 2)."
    )


def _lost(probe: ProbeTrace) -> str | None:
    """What only a run shows: a rest that is never stepped, a shuffle without effect, a clip that runs
    dry.
    """
    try:
        last = never_the_last(probe.program.source) if _loses_a_rest(probe) else None
    except SyntaxError:
        return None
    if last is None and probe.program.same_orders:
        epochs = count(probe.program.same_orders, "epoch")
        return (
            f"In {probe.probe} {epochs} brought the rows in the order of one before: "
            "DistributedSampler shuffles by its epoch. Call set_epoch(epoch) before each pass."
        )
    if last is None and any(stays_dry(rank.updates) for rank in probe.ranks):
        return f"In {probe.probe} {DRY}"
    return last and (
        f"In {probe.probe} the rest of a pass was lost, and the condition that was to step for it, "
        f"`{last}`, never holds: an index from 0 ends one before the number of batches."
    )


def _in_vain(probe: ProbeTrace) -> tuple[str, str] | None:
    """What finds nothing where it looks: gradients that were cleared, or parameters of an iterator; a
    limit that a hook takes the place of; a function that torch calls when what it reads has changed.
    """
    later = called_later(probe.program.source)
    if later is not None:
        return later
    early = read_too_late(probe.program.source)
    if early is not None:
        return (early, "gradients are measured after they were cleared; measure them before that")
    limit = clips_nothing(probe.program.source)
    if limit is not None:
        return (
            limit,
            "configure_gradient_clipping takes the place of that clip; call clip_gradients()",
        )
    late = used_up(probe.program.source)
    if late is None:
        return None
    return (late, "an iterator of parameters was used up before it; make a list of them")


def _loses_a_rest(probe: ProbeTrace) -> bool:
    lost = any(0 < rank.batches_lost == rank.lost_at_end for rank in probe.ranks)
    return lost and probe.program.outcome == "returned"


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    needs="an update",
    rests_on="facts",
)
