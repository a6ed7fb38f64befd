"""Every verdict with its sentence and the numbers behind it."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from harness.domain.grade import Grade
from harness.domain.run import Run
from harness.domain.verdict import Number, Verdict
from harness.domain.wording import placed, plainly
from harness.report.grades import STYLES
from harness.report.words import clean, text


def render_verbose(run: Run) -> RenderableType:
    """Scenario by scenario, the faulty loop before the fix."""
    parts: list[RenderableType] = []
    for result in run.results:
        parts.append(Text.assemble((result.scenario, "bold"), f"  {result.title}"))
        for grade in (result.buggy, result.reference):
            parts += _grade(grade)
        parts.append(Text())
    return Group(*parts)


def _grade(grade: Grade) -> Iterator[RenderableType]:
    said = f"{grade.agent}: {grade.code}, {grade.seconds:.2f} s"
    if grade.reason is not None:
        said += f": {plainly(grade.reason)}"
    yield Padding.indent(Text(said, "underline"), 2)
    yield from render_verdicts(grade)


def render_verdicts(grade: Grade) -> Iterator[RenderableType]:
    """Every verdict of one grade with its numbers."""
    for verdict in grade.verdicts:
        yield Padding.indent(_verdict(verdict, grade), 4)
        for number in verdict.numbers:
            yield Padding.indent(text(_number(number), "dim"), 8)


def _verdict(verdict: Verdict, grade: Grade) -> Text:
    advisory = " (advisory)" if verdict.property in grade.advisory else ""
    because = f" [explained by {verdict.explained_by}]" if verdict.explained_by else ""
    return Text.assemble(
        (f"{verdict.outcome:<12}", STYLES[verdict.outcome]),
        clean(f"  {verdict.property}{advisory}: {plainly(verdict.sentence)}{because}"),
    )


def _number(number: Number) -> str:
    where = f" ({placed(number.where)})" if number.where else ""
    return f"{number.name}{where} = {number.value:.6g}"
