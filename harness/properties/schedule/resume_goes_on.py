"""A run that takes up its weights and its place goes on with its optimizer's memory and its rates.

Bug::

    checkpoint = torch.load("last.pt")
    model.load_state_dict(checkpoint["model"])
    start = checkpoint["epoch"] + 1        # and the optimizer's moments, the schedule: as new

Signature: the program is run until it has saved its state and gone on a little, and once more with
what it saved. Its weights and a number that its loops count by come back, and its optimizer has no
memory where one was saved; or its schedule counts from the beginning, or is where it was and the
rates are not; or its rates are those of the first updates and not those with which the saved run went
on; or nothing that its optimizer holds gets a gradient any more, since the model was made anew; or, by
its text, the pass that was over when the state was kept is trained once more, or a state that was kept
with others is never asked for.

Masked by: runs that are never interrupted. Lawful: weights alone are loaded, to begin another
training with; an optimizer without a memory, or whose memory the program never saves, as many do; a
schedule that is computed from the step.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import number, show
from harness.properties.evidence.takings_up import TakenUp, takes_up
from harness.properties.property import Property
from harness.properties.schedule.forgotten_states import forgotten_state
from harness.properties.schedule.repeated_passes import repeats_a_pass

ID = "resume-goes-on"

BY_STATE = ("LambdaLR", "MultiplicativeLR")
"""Schedules whose rate may hang on a number that the program restores itself."""


def judge(trace: Trace, _expectations: Expectations) -> Verdict:
    """Each optimizer that a run took up."""
    found = takes_up(trace)
    if found is None:
        none = inconclusive(ID, "No run was seen to take up its weights and its place.")
        return by_its_text(trace) or none
    said = next((verdict for one in found if (verdict := _fault(one)) is not None), None)
    said = said or by_its_text(trace)
    unsaved = "; it never saves its optimizer's memory"
    memory = unsaved if found[0].forgot else " and with its optimizer's memory"
    return said or passed(
        ID,
        f"A run that took up what was saved ({found[0].place}) went on at its rates{memory}.",
        number("steps after it", len(found[0].after)),
    )


def by_its_text(trace: Trace) -> Verdict | None:
    """A fail for a pass that is trained once more when a run is resumed, or a state left in its file."""
    sources = {p.program.source for p in trace.everything}
    left = next(filter(None, map(forgotten_state, sources)), None)
    if left is not None:
        return failed(
            ID,
            f"`{left}` is kept, and a run that is resumed takes up its model and its optimizer, and "
            "never that: it begins anew. Load it as well.",
        )
    taken = next(filter(None, map(repeats_a_pass, sources)), None)
    if taken is None:
        return None
    return failed(
        ID,
        f"A run is resumed by `{taken}` with the number of a pass that was over when it was kept: that "
        "pass is trained once more, and a schedule goes one pass too far. Begin with the next (+ 1).",
    )


def _fault(one: TakenUp) -> Verdict | None:
    began = f"A run that took up its place ({one.place}) from what it had saved"
    if one.is_left:
        return failed(
            ID,
            f"{began} stepped an {one.now.kind} of whose parameters none gets a gradient: the model was "
            "made anew after its optimizer. Make the optimizer for the model that is trained, or load "
            "into that model.",
            number("steps without a gradient", len(one.after)),
        )
    if one.forgot and one.run.has_memory:
        return failed(
            ID,
            f"{began} began with an {one.now.kind} that remembers nothing, where it had a memory of "
            f"{one.then.remembers} parameters. Save optimizer.state_dict() and load it, into the "
            "optimizer that steps.",
            number("parameters it remembered when it was saved", one.then.remembers),
            number("parameters it remembers", one.now.remembers),
        )
    return _anew(one, began)


def _anew(one: TakenUp, began: str) -> Verdict | None:
    """A schedule, or rates that are set by hand, that begin again."""
    goes_on = one.goes_on
    if goes_on or (one.run.in_itself and not one.counts_anew):
        return None
    by_state = goes_on is None and one.now.schedule in BY_STATE and not one.begins_anew
    if one.counts_anew and not by_state:
        return failed(
            ID,
            f"{began} counts its schedule ({one.now.schedule}) from {one.now.moves}, where it had come "
            f"to {one.then.moves}: the rates begin again. Save scheduler.state_dict() and load it, or "
            "set what it counts by from the place that is restored.",
            number("steps of the schedule when it was saved", one.then.moves or 0),
            number("steps of the schedule", one.now.moves or 0),
        )
    if goes_on is False and one.is_set_back:
        first, due = one.after[0].rates[0], one.before[one.saved_at].rates[0]
        return failed(
            ID,
            f"{began} has its schedule where it was, and steps at {show(first)}, where {show(due)} was "
            "due: what makes a schedule sets the rates back. Load the optimizer's state after its "
            "schedules were made.",
            number("learning rate of the first step after it", first),
            number("learning rate that was due", due),
        )
    if goes_on is False and one.begins_anew:
        rates = [step.rates[0] for step in one.after if step.rates]
        due = one.before[one.saved_at].rates[0]
        return failed(
            ID,
            f"{began} goes through the rates of its first updates again ({show(rates[0])}, "
            f"{show(rates[1])}, ...), where {show(due)} was due. Save what the rate is computed from "
            "(the step) and take it up as well.",
            number("learning rate of the first step after it", rates[0]),
            number("learning rate that was due", due),
        )
    return None


PROPERTY = Property(
    id=ID,
    description=__doc__,
    judge=judge,
    needs="a run that takes up its weights and its place from what it saved",
    rests_on="facts",
)
