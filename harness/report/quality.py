"""What ``harness quality`` found, as a table, as data, and as a page: the kill matrix."""

from collections import Counter
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.quality import Fate, MutantResult, ProgramResult, QualityReport
from harness.report.words import and_not_run, sentences_not_run

HEAD = """# The kill matrix

`make kill-matrix` writes it into `build/kill-matrix.md`, and its first part, the summary, into
`docs/`. A test asks that every scenario and operator stands there; `make test-every` runs
`harness quality` and asks that nothing survives, `make test-full` on every fourth scenario.

Every operator makes a right loop wrong in one way. It is applied to each scenario's reference
wherever the scenario judges a property that names the fault, and to {extent}.
Each mutant then goes through the same pipeline as an answer, until a probe shows the fault.
*Killed* means: judged wrong, or failed by an advisory property that names the fault. A mutant that
is not killed is *equivalent* only when a second probe (other data and sizes, three passes, SGD and
Adam, three ranks, an overflow) consumes the same gradients, parameters, learning rates, rounds and
skips; otherwise it *survived*, and that is a fault of the judge.
"""

EVERY = "all of its legitimate\nalternatives (`--thorough`; otherwise to a few, which take turns)"
TURNS = "a few of the bank's\nlegitimate alternatives, which take turns (with `--thorough` to all)"


def render_quality(report: QualityReport, *, plain: bool = False) -> RenderableType:
    """One row a scenario, the totals, and one sentence for everything that is wrong."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    table.add_column("scenario", overflow="fold", no_wrap=plain)
    for name in ("killed", "equivalent", "survived", "alternatives", "cheats refused"):
        table.add_column(name, justify="right", no_wrap=True)
    for scenario in report.scenarios:
        table.add_row(scenario, *_figures(report, scenario))
    table.add_row("all", *_figures(report, None), style="bold")
    said = [Text(sentence, "red") for sentence in (*report.faults, *report.complaints)]
    said += [Text(sentence, "yellow") for sentence in sentences_not_run(report.not_run)]
    return Group(table, Text(), *said)


def quality_line(report: QualityReport) -> Text:
    """``812 of 812 mutants killed, 60 of 60 alternatives right, 20 of 20 cheats refused in 151 s``."""
    meant = [m for m in report.mutants if m.fate in ("killed", "survived")]
    parts = (
        f"{len(report.of('killed'))} of {len(meant)} mutants killed",
        f"{_right(report.alternatives)} of {len(report.alternatives)} alternatives right",
        f"{_refused(report.cheats)} of {len(report.cheats)} cheats refused",
    )
    good = not report.complaints and not report.faults
    text = f"{', '.join(parts)} in {report.seconds:.0f} s{and_not_run(report.not_run)}"
    return Text(text, "bold green" if good else "bold red")


def render_kill_matrix(report: QualityReport) -> str:
    """The page, without anything that differs from run to run on one bank."""
    head = HEAD.format(extent=EVERY if report.thorough else TURNS)
    parts = [head, _totals(report), _by_operator(report), _by_scenario(report)]
    parts += [_property_by_operator(report), _not_killed(report), _idle(report)]
    return "\n".join(parts)


def _figures(report: QualityReport, scenario: str | None) -> tuple[str, ...]:
    def mine(found: Iterable[MutantResult | ProgramResult]) -> list[MutantResult | ProgramResult]:
        return [one for one in found if scenario in (None, one.scenario)]

    right = [p for p in report.alternatives if scenario in (None, p.scenario)]
    cheats = [p for p in report.cheats if scenario in (None, p.scenario)]
    return (
        str(len(mine(report.of("killed")))),
        str(len(mine(report.of("equivalent"))) or "-"),
        str(len(mine(report.of("survived"))) or "-"),
        f"{_right(right)}/{len(right)}" if right else "-",
        f"{_refused(cheats)}/{len(cheats)}" if cheats else "-",
    )


def _right(programs: Iterable[ProgramResult]) -> int:
    return sum(p.code == "right" for p in programs)


def _refused(programs: Iterable[ProgramResult]) -> int:
    return sum(p.code != "right" for p in programs)


def _totals(report: QualityReport) -> str:
    fates = Counter(m.fate for m in report.mutants)
    return (
        f"{len(report.operators)} operators, {len(report.mutants)} mutants: {fates['killed']} killed, "
        f"{fates['equivalent']} equivalent, {fates['survived']} survived, "
        f"{fates['not runnable']} not runnable.\n"
    )


def _by_operator(report: QualityReport) -> str:
    rows = []
    for operator in report.operators:
        mine = [m for m in report.mutants if m.operator == operator.id]
        killers = Counter(p for m in mine for p in m.killed_by).most_common()
        by = ", ".join(f"{name} {times}" for name, times in sorted(killers, key=_most_first))
        rows.append((f"`{operator.id}`", operator.fault, *_fates(mine), by))
    return _section("By operator", ("operator", "fault", *FATES, "killed by"), rows)


def _by_scenario(report: QualityReport) -> str:
    rows = []
    for scenario in report.scenarios:
        mine = [m for m in report.mutants if m.scenario == scenario]
        rows.append((scenario, *_fates(mine)))
    return _section("By scenario", ("scenario", *FATES), rows)


def _property_by_operator(report: QualityReport) -> str:
    """For each scenario, which property killed the mutants of which operators."""
    sections = []
    for scenario in report.scenarios:
        killed: dict[str, dict[str, int]] = {}
        for mutant in (m for m in report.mutants if m.scenario == scenario):
            for name in mutant.killed_by:
                of_operator = killed.setdefault(name, {})
                of_operator[mutant.operator] = of_operator.get(mutant.operator, 0) + 1
        rows = [
            (name, ", ".join(f"{o}{f' x{n}' if n > 1 else ''}" for o, n in operators.items()))
            for name, operators in sorted(killed.items())
        ]
        if rows:
            sections.append(_section(scenario, ("property", "kills"), rows, level=3))
    return "\n".join(["## Property by operator, in each scenario\n", *sections])


def _not_killed(report: QualityReport) -> str:
    rows = [
        (f"`{m.id}`", m.fate, m.reason.partition("\n")[0].replace("|", "/"))
        for m in report.mutants
        if m.fate != "killed"
    ]
    return _section("Not killed", ("mutant", "fate", "why"), rows)


def _idle(report: QualityReport) -> str:
    rows = [
        (scenario, ", ".join(f"{i.property} ({i.level})" for i in mine))
        for scenario in report.scenarios
        if (mine := [i for i in report.idle if i.scenario == scenario])
    ]
    return _section("Properties that no mutant needs there", ("scenario", "properties"), rows)


FATES: tuple[Fate, ...] = ("killed", "equivalent", "survived", "not runnable")
"""In the order of the columns."""


def _fates(mutants: list[MutantResult]) -> tuple[str, ...]:
    fates = Counter(m.fate for m in mutants)
    return tuple(str(fates[fate] or "") for fate in FATES)


def _most_first(counted: tuple[str, int]) -> tuple[int, str]:
    name, times = counted
    return -times, name


def _section(
    title: str, head: Iterable[str], rows: Iterable[Iterable[str]], *, level: int = 2
) -> str:
    names = list(head)
    lines = [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows)]
    return "\n".join([f"{'#' * level} {title}", "", *lines, ""])
