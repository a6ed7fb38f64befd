"""The judge that asks a language model, or whatever talks like one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.domain.assessment import Assessment, Votes
from harness.domain.errors import NoReply, UsageError
from harness.domain.model import LanguageModel, Turn, Unavailable
from harness.domain.scenario import Criterion, Scenario
from harness.rubric.prompting import (
    FoundCriterion,
    again,
    groups,
    occurs,
    question,
    read_reply,
    system,
)

_MAX_TOKENS = 4000
_HOPELESS = frozenset({"authentication", "permission", "no_such_model", "billing"})


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """Asks about a few criteria at a time, and as many times as there are votes."""

    name: str
    """As it was asked for."""
    model: LanguageModel
    """Who is asked."""
    votes: int = 1
    """Readings of each answer."""
    missing: list[str] | None = None
    """Takes what is wrong with recorded replies; ``None``: that is raised."""

    def assess(
        self, answer: str, scenario: Scenario, criteria: Sequence[Criterion]
    ) -> Mapping[str, Assessment]:
        """For each criterion what most votes say.

        Raises:
            UsageError: the model cannot be asked anything at all.
            NoReply: one was not recorded, and nobody takes note of it.
        """
        readings = [self._read(answer, scenario, criteria, vote) for vote in range(self.votes)]
        return {c.id: _counted(c, [reading[c.id] for reading in readings]) for c in criteria}

    def _read(
        self, answer: str, scenario: Scenario, criteria: Sequence[Criterion], vote: int
    ) -> dict[str, "FoundCriterion | str"]:
        said: dict[str, FoundCriterion | str] = {}
        for group in groups(answer, criteria, vote):
            said |= self._ask(answer, scenario, group)
        return said

    def _ask(
        self, answer: str, scenario: Scenario, group: Sequence[Criterion]
    ) -> dict[str, "FoundCriterion | str"]:
        """By criterion: what was found, or why the reply is refused. Asked twice at most."""
        turns = [Turn(role="user", text=question(answer, scenario, group))]
        wanted = [criterion.id for criterion in group]
        said: dict[str, FoundCriterion | str] = {}
        for _ in range(2):
            try:
                reply = self.model.complete(system(), turns, max_tokens=_MAX_TOKENS)
            except Unavailable as failure:
                if failure.kind in _HOPELESS:
                    raise UsageError(f"--judge {self.name}: {failure.sentence}") from failure
                return said | dict.fromkeys(wanted, failure.sentence)
            except NoReply as lacking:
                if self.missing is None:
                    raise
                self.missing.append(str(lacking))
                return said | dict.fromkeys(wanted, str(lacking))
            said |= usable(reply.text, wanted, answer)
            wanted = [name for name in wanted if isinstance(said[name], str)]
            if not wanted:
                break
            complaint = " ".join(dict.fromkeys(str(said[name]) for name in wanted))
            turns += [reply.as_turn(), Turn(role="user", text=again(complaint, wanted))]
        return said


def usable(text: str, wanted: Sequence[str], answer: str) -> dict[str, FoundCriterion | str]:
    """By criterion: what the reply says of it, or one sentence that says why it cannot be used."""
    reply = read_reply(text)
    if isinstance(reply, str):
        return dict.fromkeys(wanted, reply)
    return {
        name: _usable([f for f in reply.assessments if f.id == name], answer) for name in wanted
    }


def _usable(found: Sequence[FoundCriterion], answer: str) -> FoundCriterion | str:
    if len(found) != 1:
        return "The reply does not name each id once."
    (one,) = found
    if not one.found:
        return one.model_copy(update={"quote": None})
    if not one.quote:
        return "Something was found and not quoted."
    return one if occurs(one.quote, answer) else "A quote does not stand in the answer."


def _counted(criterion: Criterion, readings: Sequence[FoundCriterion | str]) -> Assessment:
    """What most usable votes say; unassessed at a draw."""
    votes = [reading for reading in readings if not isinstance(reading, str)]
    if not votes:
        return Assessment(state="unassessed", reason=str(readings[0]))
    yes = [vote for vote in votes if vote.found]
    agreeing = max(len(yes), len(votes) - len(yes))
    count = Votes(agreeing=agreeing, cast=len(votes))
    if 2 * len(yes) == len(votes):
        reason = "its readings contradict each other"
        return Assessment(state="unassessed", votes=count, reason=reason)
    found = 2 * len(yes) > len(votes)
    good = found == (criterion.polarity == "must")
    return Assessment(
        state="met" if good else "not_met",
        quote=yes[0].quote if found else None,
        votes=count,
    )
