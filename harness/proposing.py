"""From an answer to its judged programs: extracted, executed, measured and judged."""

from harness.domain.answer import Alternative
from harness.domain.candidate import Candidate, NoCandidate
from harness.domain.own import OWN, lent
from harness.domain.proposal import AnswerToJudge, JudgedProgram, Proposal
from harness.domain.scenario import Scenario
from harness.domain.transcript import Transcript
from harness.domain.wishes import Wishes
from harness.extraction import extract
from harness.extraction.lent_loops import with_a_loop
from harness.extraction.local_imports import without_local_imports
from harness.extraction.wishes import wishes_of
from harness.properties.evidence.windows import of_probe
from harness.properties.judging.places import story_around
from harness.properties.own import own_settings
from harness.trial import Probing, Trial
from harness.untrusted import TooLong, in_time

WORDS = "words alone are judged here, and nothing is run"
"""Why there is no program of a scenario that has a rubric and no more."""


def proposal_of(asked: AnswerToJudge, scenario: Scenario, probing: Probing) -> Proposal:
    """Every program that an answer proposes, or why there is none."""
    if scenario.in_words:
        return Proposal(asked.turn, no_code=WORDS)
    try:
        with in_time(asked.called):
            proposed = extract(asked.transcript, scenario)
    except TooLong as error:
        return Proposal(asked.turn, no_code=str(error))
    if isinstance(proposed, NoCandidate):
        return Proposal(asked.turn, no_code=proposed.reason)
    if scenario.id == OWN:
        wishes = wishes_of(_asked(asked.transcript))
        proposed = tuple(_as_asked(candidate, wishes) for candidate in proposed)
    programs = (_judged(candidate, scenario, asked.agent, probing) for candidate in proposed)
    return Proposal(asked.turn, tuple(programs))


def _as_asked(candidate: Candidate, wishes: Wishes) -> Candidate:
    """What is judged without a scenario: by what its message asks, and without the reader's files."""
    if candidate.folder:
        return candidate.model_copy(update={"wishes": wishes})
    program, alone = map(without_local_imports, (candidate.program, candidate.alone))
    asked = candidate.model_copy(update={"wishes": wishes, "program": program, "alone": alone})
    in_loop = with_a_loop(program)
    if in_loop is None:
        return asked
    origin = f"{asked.origin}, in a loop that is lent"
    return asked.model_copy(update={"program": in_loop, "origin": origin})


def _asked(transcript: Transcript) -> str:
    return "\n\n".join(m.text for m in transcript.messages if m.role == "user")


def _judged(
    candidate: Candidate, scenario: Scenario, agent: str, probing: Probing
) -> JudgedProgram:
    """One program, executed, measured and judged."""
    own = scenario.id == OWN
    trial = Trial(candidate, scenario, agent, probing)
    ran, trace, grade = trial.alone() if own else (candidate, *trial.in_scenario())
    if own and candidate.alone and not any(map(of_probe, trace.probes)):
        shown = candidate.model_copy(update={"program": candidate.alone, "alone": ""})
        again = Trial(shown, scenario, agent, probing).alone()
        ran, trace, grade = again if again[2].code != "inconclusive" else (ran, trace, grade)
    first = trace.probes[0].program
    alternative = Alternative(
        origin=candidate.origin,
        program=ran.program,
        as_run=first.as_run,
        grade=grade,
        story=story_around(trace, grade.verdicts),
        settings=own_settings(trace) if own else None,
        lent=lent(first.bound) if own else (),
    )
    return JudgedProgram(alternative, trace)
