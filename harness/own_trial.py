"""One program by its own settings: where it trains, what is done to it there, and what that shows."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.domain.branch import in_none, left_for_later
from harness.domain.further import with_further
from harness.domain.grade import Grade
from harness.domain.own import MANY_PASSES, OwnSettings, further_regimes, on_a_rank_more
from harness.domain.ragged import ragged_probe
from harness.domain.resumed import resumed_probe
from harness.domain.scenario import Probe, PropertyRule, Scenario
from harness.domain.situating import Observe, situated
from harness.domain.spoiled import spoiled_probes
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.wishes import NOTHING, Wishes
from harness.extraction.own_world import is_own_world
from harness.properties.own import may_follow_the_ranks, own_grade, own_settings

SHOWN_LATER = frozenset({"every-parameter-learns", "training-mode-kept"})
"""What a phase of training can be blamed for that begins later; windows of another form than those
before are none of it.
"""


@dataclass(frozen=True, slots=True)
class OwnRun:
    """What one program did, and what the properties say."""

    place: Scenario
    """With which model, data and ranks."""
    trace: Trace
    """Every execution that was judged, measured by the oracle."""
    settings: OwnSettings
    """What it sets out to do, as far as its run shows it."""
    grade: Grade
    """The verdict."""


@dataclass(slots=True)
class OwnTrial:
    """A program, executed as it is and then with gradients far below and far above its own threshold."""

    program: str
    """Its source."""
    observe: Observe
    """Executes it, and measures what it did."""
    wishes: Wishes = NOTHING
    """What the message that it answers asks for."""
    allowed: Sequence[PropertyRule] = ()
    """What its author means to fail."""
    agent: str = ""
    """Who answered."""
    resumes: bool = False
    """Whether it is also to go on from what it saved."""

    def run(self, *, anywhere: bool) -> OwnRun:
        """Judge it. What looks right is run again in what only convicts.

        ``anywhere``: also on data of other shapes than the usual one, until it trains.
        """
        own = is_own_world(self.program)
        place, first = situated(self.program, self.observe, anywhere=anywhere, brings_all=own)
        further = self.observe(place, further_regimes(first[0]))
        trace = Trace(probes=(*first, *further), wishes=self.wishes)
        settings = own_settings(trace)
        wider = self._on_a_rank_more(place, trace, settings)
        grade = self._graded(trace, wider)
        if grade.code != "wrong" and self._waits(trace):
            longer = trace.model_copy(
                update={"probes": (*trace.probes, *self.observe(place, [MANY_PASSES]))}
            )
            found = self._graded(longer, wider)
            if found.code == "right" or ({*found.failed} and {*found.failed} <= SHOWN_LATER):
                trace, grade = longer, found
        if grade.code != "wrong":
            window = settings.micro_batches if grade.code == "right" else None
            if convicting := self._convicting(place, window):
                trace = with_further(trace.probes, convicting, self.wishes)
                grade = self._graded(trace, wider)
        return OwnRun(place, trace, settings, grade)

    def _graded(self, trace: Trace, wider: ProbeTrace | None) -> Grade:
        return own_grade(trace, self.agent, allowed=self.allowed, wider=wider)

    def _on_a_rank_more(
        self, place: Scenario, trace: Trace, settings: OwnSettings
    ) -> ProbeTrace | None:
        if not may_follow_the_ranks(trace, settings):
            return None
        more = on_a_rank_more(place)
        return self.observe(more, more.probes)[0]

    def _waits(self, trace: Trace) -> bool:
        """Whether it trains in another way in later passes over data of its own, or freezes then."""
        waiting = in_none([probe.program.unentered for probe in trace.probes]) or ()
        freezes = any(b.reached and b.counted and b.thaws for b in waiting)
        later = freezes or left_for_later(waiting) is not None
        return later and is_own_world(self.program)

    def _convicting(self, place: Scenario, window: int | None) -> Sequence[ProbeTrace]:
        """Targets of different numbers, where its message asks for each alike; and of what looks right,
        with ``window`` micro-batches an update, a bad batch, and a second run.
        """
        probes: list[tuple[Scenario, Probe | None]] = [(place, ragged_probe(place, self.wishes))]
        if window is not None:
            probes += [(place, one) for one in spoiled_probes(place, self.program, window)]
            again = self.resumes and is_own_world(self.program)
            if again and (resumed := resumed_probe(place, self.program)) is not None:
                probes.append(resumed)
        return [
            seen
            for where, probe in probes
            if probe is not None
            for seen in self.observe(where, [probe])
        ]
