"""Copies of weights that are none, or not of what they should be: averages, and states that are kept,
loaded and put back.
"""

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number, show
from harness.properties.learning.aliases import another_name

ID = "training-mode-kept"


def is_no_copy(probe: ProbeTrace) -> Verdict | None:
    """A fail for the first of them."""
    program = probe.program
    told = {
        is_its_own_average: averages_itself(probe),
        was_no_copy: program.restored_themselves > 0,
        was_anothers: program.states_of_others > 0,
        follows_at_once: program.average_of_newest is not None,
        follows_micro_batches: program.averages_made_again > 0,
        stands_still: program.averages_rounded_away > 0,
        has_stale_statistics: bool(program.stale_statistics),
    }
    kept = another_name(probe.program.source) if probe.updates else None
    if kept is not None:
        return is_the_same(probe, kept)
    return next((says(probe) for says, is_so in told.items() if is_so), None)


def averages_itself(probe: ProbeTrace) -> bool:
    """Whether most of its updates were followed by averages of the weights with themselves."""
    times = probe.program.averaged_with_themselves
    return bool(probe.ranks) and times > 2 and 2 * times > len(probe.ranks[0].updates)


def is_its_own_average(probe: ProbeTrace) -> Verdict:
    """The fail for an average that was made without a copy."""
    times = probe.program.averaged_with_themselves
    return failed(
        ID,
        f"In {probe.probe} parameters were averaged with themselves {count(times, 'time')}: the average "
        "shares their memory, so it is always what they are now. state_dict(), detach(), data and "
        "copy.copy() copy nothing: start the average from clones, or from copy.deepcopy(model).",
        number("averages of the weights with themselves", times, probe.probe),
    )


def was_no_copy(probe: ProbeTrace) -> Verdict:
    """The fail for a kept state that is the model's own memory."""
    times = probe.program.restored_themselves
    return failed(
        ID,
        f"In {probe.probe} the model was put back {count(times, 'time')} to a state that is its own "
        "memory: state_dict() copies nothing, so every update changes it too, and the weights that were "
        "to be kept are lost. Keep copy.deepcopy(model.state_dict()).",
        number("states put back onto themselves", times, probe.probe),
    )


def is_the_same(probe: ProbeTrace, kept: str) -> Verdict:
    """The fail for a network that is kept by another name alone."""
    return failed(
        ID,
        f"In {probe.probe} `{kept}` copies nothing: both names are one network from then on, and every "
        "update changes it. Keep copy.deepcopy() of it, or load its state_dict() into the other.",
    )


def was_anothers(probe: ProbeTrace) -> Verdict:
    """The fail for a state that was loaded and of which nothing arrived."""
    times = probe.program.states_of_others
    return failed(
        ID,
        f"In {probe.probe} {count(times, 'model')} loaded a state of whose names it has none: "
        "strict=False says nothing, and the model stays as it was. Take the prefix from the names, and "
        "look at what load_state_dict returns.",
        number("models of which no name fits", times, probe.probe),
    )


def follows_at_once(probe: ProbeTrace) -> Verdict:
    """The fail for an average whose two coefficients are exchanged."""
    share = probe.program.average_of_newest or 0.0
    return failed(
        ID,
        f"In {probe.probe} each average of the weights is made of {show(share)} parts of the weights as "
        f"they are and {show(1.0 - share)} of the average before: it follows them at once and averages "
        "nothing. Exchange the two coefficients.",
        number("part of the newest weights in their average", share, probe.probe),
    )


def follows_micro_batches(probe: ProbeTrace) -> Verdict:
    """The fail for an average that is made with each micro-batch of an update."""
    times = probe.program.averages_made_again
    return failed(
        ID,
        f"In {probe.probe} averages of the weights were made {count(times, 'time')} before a step had "
        "changed these: with each micro-batch, so that the average forgets as much faster as a window "
        "has micro-batches. Make it after the optimizer's step.",
        number("averages of weights that had not changed", times, probe.probe),
    )


def stands_still(probe: ProbeTrace) -> Verdict:
    """The fail for an average that is kept in half precision, and rounds away what it is given."""
    times = probe.program.averages_rounded_away
    return failed(
        ID,
        f"In {probe.probe} an average of the weights is kept in half precision, and was given "
        f"{count(times, 'time')} a part of the new weights that is smaller than its last digit: "
        "rounded, it stays where it is. Keep the average in float32.",
        number("parts that were rounded away", times, probe.probe),
    )


def has_stale_statistics(probe: ProbeTrace) -> Verdict:
    """The fail for an average of weights with batch norm's statistics of others."""
    average = probe.program.stale_statistics[0]
    return failed(
        ID,
        f"In {probe.probe} an average of the weights ({average}) was evaluated with batch norm's "
        "statistics of other weights. Compute them for the average (update_bn), or average the buffers "
        "as well (use_buffers=True).",
        number("kinds of such averages", len(probe.program.stale_statistics), probe.probe),
    )
