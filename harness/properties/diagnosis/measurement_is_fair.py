"""The cost of clipping is measured like with like: same work, something to clip, warmed up.

Bug::

    start = time.time()
    for _ in range(100):
        loss.backward()                                    # the graph is gone after the first
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
    time_with_clip = time.time() - start

Signature: the measurement raises in backward; timed parts with and without clipping do not hold
the same numbers of forwards, backwards and steps; the timed clip was given no gradient, or acts in
some of the timed steps only; one timed part loads its data after the other had it at hand; the
first timed part is the first thing that runs; or the state that is put back between the parts is the
model's own memory.

Masked by: a ratio that looks plausible.
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, SegmentSeen, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number
from harness.properties.property import Expected, Property

ID = "measurement-is-fair"

Work = tuple[int, int, int]
"""How many forwards, backwards and optimizer steps."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Judge every probe in which the program read a clock."""
    del expectations
    seen: list[Verdict] = []
    for probe in trace.probes:
        verdict = crashed(probe) or compare(probe)
        if verdict is not None and verdict.outcome == "pass" and probe.restored_nothing:
            verdict = not_put_back(probe)
        if verdict is not None and verdict.outcome == "fail":
            return verdict
        seen += [verdict] if verdict is not None else []
    if seen:
        return next((v for v in seen if v.outcome == "pass"), seen[0])
    return inconclusive(
        ID, "No part with clipping was timed beside anything that it could be compared with."
    )


def crashed(probe: ProbeTrace) -> Verdict | None:
    """A fail when the measurement runs backward through a graph that was already freed."""
    program = probe.program
    text = program.message or ""
    if program.outcome != "raised" or "backward through the graph a second time" not in text:
        return None
    return failed(
        ID,
        f"In {probe.probe} the measurement raised at line {program.line} ({program.exception}: "
        "backward through the graph a second time): it repeats backward() on one loss. Put "
        "forward and loss inside of the timed loop, for both variants.",
        number("line", program.line or 0, probe.probe),
    )


def not_put_back(probe: ProbeTrace) -> Verdict:
    """The fail for a benchmark that means to leave the model as it was, and trains it."""
    times = count(probe.restored_nothing, "time")
    return failed(
        ID,
        f"In {probe.probe} the measurement put a state back {times} that is the model's own memory: "
        "every tensor was copied onto itself, each timed part goes on where the one before ended, and "
        "the model is left trained by the benchmark. state_dict() copies nothing: take "
        "copy.deepcopy(model.state_dict()).",
        number("states put back onto themselves", probe.restored_nothing, probe.probe),
    )


def compare(probe: ProbeTrace) -> Verdict | None:
    """Compare timed parts with and without clipping, or clipping alone with the rest of a step."""
    parts = probe.segments
    clipping = [s for s in parts if s.clips]
    working = [s for s in parts if s.backwards]
    if not clipping or not working:
        return None
    if all(s.clipped_gradients == 0 for s in clipping):
        return of_nothing(probe, clipping)
    alone = [s for s in clipping if work(s) == (0, 0, 0)]
    if any(s.clipped_gradients for s in alone):
        return directly(probe, [s for s in alone if s.clipped_gradients], working)
    plain = [s for s in working if not s.clips] or halved(clipping, parts)
    if not plain:
        # a single call may belong to a snippet that has lost its place in the loop
        repeated = [s for s in alone if s.clips > 1]
        return of_nothing(probe, repeated) if repeated else None
    return alike(probe, clipping, plain)


def of_nothing(probe: ProbeTrace, clipping: Sequence[SegmentSeen]) -> Verdict:
    """The fail for timing a clip that was given no gradient."""
    calls = sum(s.clips for s in clipping)
    return failed(
        ID,
        f"In {probe.probe} the timed clipping was given no gradient in {count(calls, 'call')}: "
        "there was nothing to clip. Run backward first, and do not clear the gradients in between.",
        number("calls", calls, probe.probe),
        number("gradients clipped", 0, probe.probe),
    )


def halved(clipping: Sequence[SegmentSeen], parts: Sequence[SegmentSeen]) -> list[SegmentSeen]:
    """Parts without clipping that repeat a clipping part's loop, but leave out its backward."""
    loops = {
        n for s in clipping for n in (("forwards", s.forwards), ("steps", s.steps)) if n[1] > 1
    }
    return [
        s for s in parts if not s.clips and {("forwards", s.forwards), ("steps", s.steps)} & loops
    ]


def work(segment: SegmentSeen) -> Work:
    """What a segment did beside clipping."""
    return (segment.forwards, segment.backwards, segment.steps)


def directly(
    probe: ProbeTrace, alone: Sequence[SegmentSeen], working: Sequence[SegmentSeen]
) -> Verdict | None:
    """Judge clipping that was timed on its own: something has to have run before it."""
    first = next(i for i, s in enumerate(probe.segments) if s in alone)
    if not warm(probe, first):
        return cold(probe)
    return passed(
        ID,
        f"In {probe.probe} clipping was timed on its own in {count(len(alone), 'part')} "
        f"({sum(s.clipped_gradients for s in alone)} gradients), beside "
        f"{count(len(working), 'part')} with backward.",
        number("parts with clipping alone", len(alone), probe.probe),
        number("parts with backward", len(working), probe.probe),
    )


def alike(
    probe: ProbeTrace, clipping: Sequence[SegmentSeen], plain: Sequence[SegmentSeen]
) -> Verdict:
    """Judge timed parts with and without clipping: the same work, and a warm-up before both."""
    bare = {work(s) for s in plain}
    with_clip = {work(s) for s in clipping if s.clipped_gradients and each_time(s)}
    same = with_clip & bare
    now_and_then = [s for s in clipping if s.clipped_gradients and work(s) in bare]
    if not same and now_and_then:
        return too_few(probe, now_and_then[0])
    if not same:
        one, other = work(clipping[0]), work(plain[0])
        return failed(
            ID,
            f"In {probe.probe} the part with clipping holds {said(one)}, the one without "
            f"{said(other)}: the difference is not the clip's. Time the same loop twice, with the "
            "clip as the only difference.",
            *(
                number(f"{n}, with clipping", v, probe.probe)
                for n, v in zip(("forwards", "backwards", "steps"), one, strict=True)
            ),
            *(
                number(f"{n}, without", v, probe.probe)
                for n, v in zip(("forwards", "backwards", "steps"), other, strict=True)
            ),
        )
    for each in sorted(same, reverse=True):
        places = [i for i, s in enumerate(probe.segments) if work(s) == each]
        timed = [i for i in places if warm(probe, i)]
        kinds = {each_time(probe.segments[i]) for i in timed}
        if len(kinds) == 2 and not alike_fed(probe, timed):
            return fed_differently(probe, timed)
        if len(kinds) == 2:
            return passed(
                ID,
                f"In {probe.probe} timed parts with and without clipping hold the same work "
                f"({said(each)}), after a warm-up.",
                number("parts compared", len(timed), probe.probe),
                number("backwards in a part", each[1], probe.probe),
            )
    return cold(probe)


def alike_fed(probe: ProbeTrace, timed: Sequence[int]) -> bool:
    """Whether a part with clipping and one without agree in loading their data, or in not loading it."""
    parts = [probe.segments[i] for i in timed]
    kinds = {(each_time(s), loads_data(s)) for s in parts}
    return any({(True, loads), (False, loads)} <= kinds for loads in (True, False))


def loads_data(segment: SegmentSeen) -> bool:
    """Whether at least every second forward of the part came with a batch from a loader."""
    return 2 * segment.batches >= segment.forwards


def fed_differently(probe: ProbeTrace, timed: Sequence[int]) -> Verdict:
    """A fail where the later parts load data and the earlier ones do not. The other way round is
    inconclusive: a program that keeps batches in memory loads them once, in the part that runs
    first.
    """
    parts = [probe.segments[i] for i in timed]
    loads = [loads_data(s) for s in parts]
    text = (
        f"In {probe.probe} one of the timed parts also takes its batches from the loader and the "
        "other does not: the difference is not the clip's alone. Take them from a list in both."
    )
    if loads != sorted(loads, reverse=True):
        most = max(s.batches for s in parts)
        return failed(ID, text, number("batches loaded in a part", most, probe.probe))
    return inconclusive(ID, text)


def each_time(segment: SegmentSeen) -> bool:
    """Whether the part has a clip for every step."""
    return segment.clips >= max(1, segment.steps)


def too_few(probe: ProbeTrace, segment: SegmentSeen) -> Verdict:
    """The fail for a part that clips in some of its steps only."""
    return failed(
        ID,
        f"In {probe.probe} the part with clipping holds {count(segment.clips, 'clip')} for "
        f"{said(work(segment))}: its cost is understated. Clip in every timed step.",
        number("clips", segment.clips, probe.probe),
        number("steps", segment.steps, probe.probe),
    )


def warm(probe: ProbeTrace, index: int) -> bool:
    """Whether a backward ran before this segment, timed or not."""
    before = probe.segments[index].backwards_before
    if before is not None:
        return before > 0
    if any(s.backwards for s in probe.segments[:index]):
        return True
    all_of_them = len(probe.ranks[0].backwards) if probe.ranks else 0
    return all_of_them > sum(s.backwards for s in probe.segments)


def cold(probe: ProbeTrace) -> Verdict:
    """The fail for timing without a warm-up."""
    return failed(
        ID,
        f"In {probe.probe} the first timed part is the first thing that runs: it pays for "
        "allocation and lazy initialisation, and is compared with a part that does not. Run a "
        "few steps before the first clock read.",
        number("timed parts", len(probe.segments), probe.probe),
    )


def said(done: Work) -> str:
    """The work in words."""
    return f"{count(done[0], 'forward')}, {count(done[1], 'backward')} and {count(done[2], 'step')}"


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "measures",
            "measures: true  # the scenario is about a measurement",
        ),
    ),
    needs="clock reads around clipping and around the work that it is compared with",
)
