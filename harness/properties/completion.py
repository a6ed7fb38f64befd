"""Whether a program ran far enough to be judged: not measured is not failed."""

from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.update import Unfollowed
from harness.domain.verdict import Verdict, inconclusive
from harness.properties.evidence.timed_training import is_timed_training
from harness.properties.property import Property

BOOKS_CLOSE = ("returned", "exited", "raised")
"""Outcomes after which the recording is complete."""

BROKEN = frozenset(
    {
        "AttributeError",
        "ImportError",
        "IndexError",
        "KeyError",
        "ModuleNotFoundError",
        "NameError",
        "SyntaxError",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    }
)
"""Exceptions of broken code: nobody raises them on purpose, to report a loss that is not finite."""

LONGEST = 160
"""How many characters of a program's own message a sentence quotes."""

QUOTED = 40
"""So much of such a message shows that a sentence has it already."""

BEHIND = 1e-3
"""Part of an update beyond which what is done along its gradient is no rounding."""

ANOTHER = 1e-3
"""Relative distance from the recomputed output that no rounding in full precision comes near: of
the labelled programs the farthest is at 2e-5.
"""

OVERWRITTEN = 0.5
"""How far parameters may be moved behind an update, relative to it. A moving average or a weight
decay by hand moves them less.
"""


def verdict(judged: Property, trace: Trace, expectations: Expectations) -> Verdict:
    """One property's verdict on the probes that can be used for it; no pass while any probe is
    incomplete.
    """
    if expectations.measures and judged.id != "measurement-is-fair":
        trace = trace.model_copy(update={"probes": tuple(map(training_only, trace.probes))})
    usable = tuple(p for p in trace.probes if bears(judged, p, expectations))
    left_out = "; ".join(
        problem for p in trace.probes if (problem := unfinished(p, expectations)) is not None
    )
    if not usable:
        return inconclusive(judged.id, f"Nothing can be judged: {left_out or 'no probe was run'}.")
    found = with_its_end(
        judged.judge(trace.model_copy(update={"probes": usable}), expectations), usable
    )
    untimed = map(training_only, usable) if expectations.measures else usable
    contradiction = next(filter(None, map(contradicts_itself, untimed)), None)
    if found.outcome == "pass" and contradiction is not None:
        return inconclusive(judged.id, contradiction, *found.numbers)
    if found.outcome == "inconclusive" and left_out:
        sentence = f"{found.sentence} Not everything was seen: {left_out}."
        return inconclusive(judged.id, sentence, *found.numbers)
    if found.outcome == "pass" and left_out:
        sentence = f"Nothing wrong was seen, but not everything: {left_out}."
        return inconclusive(judged.id, sentence, *found.numbers)
    return found


def with_its_end(found: Verdict, probes: Sequence[ProbeTrace]) -> Verdict:
    """The verdict; where it is a fail and the program broke later in that probe, with how it broke."""
    places = (
        {n.where.partition(",")[0] for n in found.numbers} if found.outcome == "fail" else set()
    )
    for probe in probes:
        program, said = probe.program, in_one_line(probe.program.message or "no message")
        broke = program.outcome == "raised" and not stopped_itself(probe)
        if broke and probe.probe in places and said[:QUOTED] not in found.sentence:
            line = f" at line {program.line}" if program.line else ""
            ending = f"Later it raised {program.exception}{line} ({said})."
            return found.model_copy(update={"sentence": f"{found.sentence} {ending}"})
    return found


def contradicts_itself(probe: ProbeTrace) -> str | None:
    """Why the record cannot describe the training that took place; ``None`` when nothing
    contradicts it.
    """
    if probe.contradiction is not None:
        return f"In {probe.probe}, {probe.contradiction}"
    return another_output(probe) or does_not_follow(probe) or is_overwritten(probe)


def another_output(probe: ProbeTrace) -> str | None:
    """Why, if a model that nobody changed gave another output, in full precision, than it does at the
    recorded parameters.
    """
    for update in (update for rank in probe.ranks for update in rank.updates):
        whole = all(m.autocast in (None, "float32") for m in update.micro_batches)
        if update.recomputed and whole and update.output_differs > ANOTHER:
            return (
                f"In {probe.probe}, update {update.index}, the model's recorded output is not what it "
                "computes at the recorded parameters, so the record proves nothing."
            )
    return None


def does_not_follow(probe: ProbeTrace) -> str | None:
    """Why, if parameters do not follow from the gradients that were recorded as consumed."""
    for rank in probe.ranks:
        for update in rank.updates:
            known = update.recomputed or update.output_differs > 0.0  # or of exchanged layers
            if known and update.parameters_followed is False:
                return (
                    f"In {probe.probe}, update {update.index}, the recorded parameters do not follow "
                    "from the recorded gradient, so the record proves nothing."
                )
    return None


def is_overwritten(probe: ProbeTrace) -> str | None:
    """Why, if parameters were changed again behind an update: along the gradient, most of what it did,
    or once in a way in which no program is known to move them.
    """
    for rank in probe.ranks:
        behind = [u.index for u in rank.updates if u.trained_behind > BEHIND]
        if len(behind) > 1:
            return (
                f"In {probe.probe}, something else than an optimizer moved the parameters along the "
                f"gradient after {len(behind)} of {len(rank.updates)} updates, first after update "
                f"{behind[0]}, so what the optimizer consumed does not say what was trained."
            )
        undone = [u for u in rank.updates if u.overwritten > OVERWRITTEN]
        if 2 * len(undone) > sum(not u.skipped for u in rank.updates):
            return (
                f"In {probe.probe}, something else than an optimizer moved the parameters after "
                f"{len(undone)} of {len(rank.updates)} updates, first after update "
                f"{undone[0].index}, so what the optimizer consumed does not say what was trained."
            )
        if rank.unfollowed:
            move = rank.unfollowed[0]
            return (
                f"In {probe.probe}, something else than an optimizer moved `{move.parameter}` by "
                f"{move.by:.2g} of its size {_place(move, len(rank.updates))}. It is no state of "
                "before, mean of such states, bound, decay or mask, so what the optimizer consumed "
                "does not say what was trained."
            )
    return None


def _place(move: Unfollowed, updates: int) -> str:
    if move.after < 0:
        return "before the first update"
    if move.after + 1 == updates:
        return "after the last update"
    return f"between updates {move.after} and {move.after + 1}"


def training_only(probe: ProbeTrace) -> ProbeTrace:
    """The probe without what was run for the clock: variants that are timed are no training."""
    if is_timed_training(probe):
        return probe
    ranks = (
        rank.model_copy(update={"updates": tuple(u for u in rank.updates if not u.timed)})
        for rank in probe.ranks
    )
    return probe.model_copy(update={"ranks": tuple(ranks)})


def bears(judged: Property, probe: ProbeTrace, expectations: Expectations) -> bool:
    """Whether this probe can be used as evidence for the property."""
    if probe.program.ours or probe.program.outcome == "unbound":
        return False
    if probe.program.untrue is not None and not judged.sees_flow:
        return False
    if judged.rests_on == "facts":
        return True
    if judged.rests_on == "windows":
        return probe.program.outcome in BOOKS_CLOSE
    return ended(probe, expectations)


def ended(probe: ProbeTrace, expectations: Expectations) -> bool:
    """Whether the program ran to its end, or stopped where stopping is an answer."""
    lawful = probe.probe == expectations.poisoned_probe or (
        probe.probe == expectations.adverse_probe and stopped_itself(probe)
    )
    return probe.program.outcome in (BOOKS_CLOSE if lawful else BOOKS_CLOSE[:2])


def stopped_itself(probe: ProbeTrace) -> bool:
    """Whether the program raised on purpose: in a line of its own, with an exception that broken
    code does not raise.
    """
    program = probe.program
    return (
        program.outcome == "raised" and program.during is None and program.exception not in BROKEN
    )


def in_one_line(text: str) -> str:
    """A program's message made fit to quote: printable, on one line, shortened."""
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def unfinished(probe: ProbeTrace, expectations: Expectations) -> str | None:
    """Why a probe does not show everything, in words; ``None`` when it does."""
    program = probe.program
    if program.ours:
        return f"in {probe.probe} the harness or the machine failed ({program.message})"
    if program.outcome == "unbound":
        return f"in {probe.probe} the program could not be started ({program.message})"
    if program.outcome == "not-completed":
        return f"in {probe.probe} the program did not complete ({program.message})"
    if not ended(probe, expectations):
        line = f" at line {program.line}" if program.line else ""
        said = in_one_line(program.message or "no message")
        return f"in {probe.probe} it raised {program.exception}{line} ({said})"
    return f"in {probe.probe} {program.untrue}" if program.untrue is not None else None
