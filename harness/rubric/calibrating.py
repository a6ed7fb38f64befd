"""Measures a judge on answers that people have labelled."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.domain.answer import AnswerGrade
from harness.domain.assessment import Assessment
from harness.domain.calibration import Calibration, CriterionAgreement, JudgementGap, SayDo
from harness.domain.scenario import Bank, Criterion
from harness.rubric.execution import executed
from harness.rubric.judge import TextJudge
from harness.rubric.labels import LabelledAnswer, read_labels


def calibrate(
    judge: TextJudge,
    labels: Path,
    bank: Bank,
    graded: Mapping[str, AnswerGrade] | None = None,
) -> Calibration:
    """The judge beside the labels, on every labelled criterion that text can decide.

    ``labels``: the file, or the folder that holds ``labels.yaml``. ``graded``: what execution came
    to, by the answer's name in the labels.

    Raises:
        UserError: labels or answers cannot be read, or the judge cannot be asked.
    """
    path = labels / "labels.yaml" if labels.is_dir() else labels
    answers = read_labels(path, bank)
    read = [judge.assess(one.answer, one.scenario, _open(one)) for one in answers]
    return compare(judge.name, str(path), answers, read, graded)


def compare(
    judge: str,
    path: str,
    answers: Sequence[LabelledAnswer],
    read: Sequence[Mapping[str, Assessment]],
    graded: Mapping[str, AnswerGrade] | None = None,
) -> Calibration:
    """The same of what was read already, answer by answer. Pure."""
    from harness.rubric.agreement import agreement  # numpy waits until somebody measures

    both = list(zip(answers, read, strict=True))
    criteria = []
    for scenario in {one.scenario.id: one.scenario for one in answers}.values():
        mine = [pair for pair in both if pair[0].scenario.id == scenario.id]
        for criterion in scenario.rubric:
            pairs = [_pairs(one, said, (criterion,)) for one, said in mine]
            if criterion.by != "execution" and any(pairs):
                criteria.append(
                    CriterionAgreement(
                        scenario=scenario.id,
                        criterion=criterion.id,
                        by=criterion.by,
                        agreement=agreement(pairs),
                    )
                )
    return Calibration(
        judge=judge,
        labels=path,
        answers=len(answers),
        criteria=tuple(criteria),
        pooled=agreement([_pairs(one, said, _open(one)) for one, said in both]),
        say_do=_say_do(both, graded) if graded is not None else None,
    )


def _open(one: LabelledAnswer) -> tuple[Criterion, ...]:
    """The labelled criteria that text can decide."""
    return tuple(c for c in one.scenario.rubric if c.by != "execution" and c.id in one.met)


def _pairs(
    one: LabelledAnswer, said: Mapping[str, Assessment], criteria: Sequence[Criterion]
) -> list[tuple[bool, bool | None]]:
    meaning = {"met": True, "not_met": False, "unassessed": None}
    return [(one.met[c.id], meaning[said[c.id].state]) for c in criteria if c.id in said]


def _say_do(
    both: Sequence[tuple[LabelledAnswer, Mapping[str, Assessment]]],
    graded: Mapping[str, AnswerGrade],
) -> SayDo:
    compared = [gap for one, said in both if one.file in graded
                for gap in _compared(one, said, graded[one.file])]  # fmt: skip
    gaps = tuple(gap for gap in compared if gap.says != gap.does)
    return SayDo(compared=len(compared), gaps=gaps)


def _compared(
    one: LabelledAnswer, said: Mapping[str, Assessment], grade: AnswerGrade
) -> Iterator[JudgementGap]:
    """Every criterion that both text and execution decided."""
    runs = [alternative.grade.verdicts for alternative in grade.alternatives]
    for criterion in one.scenario.rubric:
        text = said.get(criterion.id)
        does = executed(criterion, runs)
        if criterion.by == "both" and text is not None and "unassessed" not in (text.state, does):
            yield JudgementGap(
                file=one.file,
                scenario=one.scenario.id,
                criterion=criterion.id,
                says=text.state,
                does=does,
                quote=text.quote,
            )
