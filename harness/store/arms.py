"""A stored run as one side of a comparison."""

from collections.abc import Iterable, Iterator, Mapping

from harness.domain.comparison import Arm, ScenarioTrials, TrialOutcome
from harness.domain.own import OWN
from harness.domain.stored import RunHead, StoredAnswer
from harness.store.folder import RunFolder

Numbered = Mapping[str, Mapping[int, StoredAnswer]]
"""Answers by scenario, in it by the number of the trial."""


def arm_of(run: RunFolder) -> Arm:
    """All answers whose scenario is known. A code is judged by the program that decides."""
    return arm_of_answers(run.folder.resolve().name, run.head, numbered(run))


def arm_of_answers(name: str, head: RunHead, answers: Numbered) -> Arm:
    """The same of answers that were read already."""
    skill = head.skill
    return Arm(
        name=name,
        skill_digest=skill.digest if skill else None,
        model=_model(head, answers),
        delivery=skill.delivery if skill else "none",
        bank_digest=head.bank_digest,
        judge=head.judge,
        harness_version=head.harness_version,
        seed=head.seed,
        rounds=head.rounds,
        missing=head.shards_missing,
        scenarios=tuple(
            ScenarioTrials(
                scenario=scenario,
                trials=tuple(_trial(number, one) for number, one in sorted(trials.items())),
            )
            for scenario, trials in answers.items()
        ),
    )


def numbered(run: Iterable[StoredAnswer]) -> Numbered:
    """Answers of files all say that they are the first: then the order in the run counts."""
    found: dict[str, list[StoredAnswer]] = {}
    for stored in run:
        if stored.answer.scenario is not None:
            found.setdefault(_question(stored), []).append(stored)
    return {scenario: dict(_numbers(answers)) for scenario, answers in found.items()}


def _question(stored: StoredAnswer) -> str:
    """Its scenario; of a question without one, as of evals.json, what it was called."""
    name, slash, trial = stored.key.rpartition("/")
    own = stored.answer.scenario == OWN and slash and trial == str(stored.trial)
    return name if own else str(stored.answer.scenario)


def _numbers(answers: list[StoredAnswer]) -> Iterator[tuple[int, StoredAnswer]]:
    given = [stored.trial for stored in answers]
    unique = len(set(given)) == len(given)
    return zip(given if unique else range(1, len(given) + 1), answers, strict=True)


def _model(head: RunHead, answers: Numbered) -> str:
    """Who was asked; of answers that were given or replayed, whom the transcripts name."""
    if head.agent is not None and not head.agent.startswith("replay:"):
        return head.agent
    given = (stored.transcript for trials in answers.values() for stored in trials.values())
    return ", ".join(sorted({one.agent for one in given if one is not None})) or "unknown"


def _trial(number: int, stored: StoredAnswer) -> TrialOutcome:
    answer = stored.answer
    return TrialOutcome(
        trial=number,
        outcome=stored.outcome,
        verdicts=answer.deciding.grade.verdicts if answer.alternatives else (),
        criteria={name: criterion.state for name, criterion in answer.criteria.items()},
        skill_triggered=answer.skill_triggered,
        rationalizations=tuple(excuse.excuse for excuse in answer.rationalizations),
    )
