"""A model that is trained is in training mode and has its own weights; their average is a slow copy.

Bug::

    for epoch in range(epochs):
        for x, y in train_loader:          # from the second epoch on without dropout,
            ...                            # and with batch norm's old statistics
            optimizer.step()
        model.eval()                       # and no model.train() afterwards
        evaluate(model, val_loader)

Signature: updates whose forwards ran in training mode are followed by updates all of whose forwards ran
in evaluation mode, in a model whose layers work differently there; or an update begins at averaged
weights that were put in for an evaluation; or parameters are averaged with tensors that lie where they
lie, or put back to what was kept of them without a copy, or a state is loaded of whose names they have
none; or an average takes nine parts in ten or more from the weights as they are, each time, or is
evaluated with batch norm's statistics of other weights, or is kept in half precision and rounds
away what it is given; or a part that nothing trains, or batch norm, is
put into evaluation and back into training with the whole, before it is ever called; or what is wholly
frozen is put back so by itself.

Masked by: a loss that falls, and often faster, for there is no noise any more. Batch norm that is frozen
on purpose is no such case: then layers are put into evaluation, and the model stays in training.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import Window, of_probe
from harness.properties.learning.copies import is_no_copy
from harness.properties.property import Property

ID = "training-mode-kept"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look for updates that were computed in evaluation mode after others were not."""
    del expectations
    windows = [w for probe in trace.probes for w in of_probe(probe) if w.own]
    if not windows:
        return inconclusive(ID, "No update was seen with the forwards that it came from.")
    late = [w for w in windows if in_evaluation(w)]
    averaged = [w for w in windows if w.update.kept_average]
    if averaged:
        return failed(
            ID,
            f"Training goes on in {averaged[0].where} from weights that an evaluation had put in, an "
            "average of earlier ones: what was trained since is lost. Put the model's own weights back "
            "after the evaluation.",
            number("updates that began at averaged weights", len(averaged)),
        )
    known = next(filter(None, map(of_the_program, trace.probes)), None)
    if known is not None:
        return known
    if not late:
        return passed(
            ID, f"In {count(len(windows), 'update')} no model had been put into evaluation."
        )
    return failed(
        ID,
        f"In {late[0].where} the model was trained in evaluation mode, and so in "
        f"{len(late)} of {count(len(windows), 'update')}: dropout is off then, and batch norm keeps "
        "its old statistics. Call model.train() where training goes on after an evaluation.",
        number("updates in evaluation mode", len(late), late[0].where),
        number("updates", len(windows)),
    )


def of_the_program(probe: ProbeTrace) -> Verdict | None:
    """A fail that is not seen in an update: of copies, and of whose mode was taken back."""
    copied = is_no_copy(probe)
    if copied is None and probe.program.back_in_training:
        return back_in_training(probe)
    return has_noisy_targets(probe) if copied is None and probe.program.noisy_targets else copied


def back_in_training(probe: ProbeTrace) -> Verdict:
    """The fail for a part whose evaluation mode was taken back before it was called."""
    part = probe.program.back_in_training[0]
    return failed(
        ID,
        f"In {probe.probe} {part}.eval() had no effect: before {part} was called, train(), its own or "
        "of what holds it, put it back into training, so that its dropout is on, and its batch norm "
        "takes the statistics of each batch. Call eval() after each train(), or in an own train().",
        number("kinds of parts put back", len(probe.program.back_in_training), probe.probe),
    )


def has_noisy_targets(probe: ProbeTrace) -> Verdict:
    """The fail for a frozen network that is asked in training mode."""
    part = probe.program.noisy_targets[0]
    return failed(
        ID,
        f"In {probe.probe} the frozen {part} was called in training mode, so that its dropout is on and "
        "what it says of one input is another thing each time. Call eval() on it, and again after each "
        "train() of what holds it.",
        number(
            "kinds of frozen networks in training mode",
            len(probe.program.noisy_targets),
            probe.probe,
        ),
    )


def in_evaluation(window: Window) -> bool:
    """Whether every forward that reached the optimizer ran in evaluation, where others had not."""
    reached = [m for m in window.own if m.coefficient != 0.0]
    return bool(reached) and all(m.evaluating for m in reached)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    needs="an update with the forwards that it came from",
)
