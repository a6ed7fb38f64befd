"""What ``harness compare --ablate`` prints: which section of a skill does the work."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.comparison import Ablated, Ablation, SectionInScenario
from harness.domain.plan import Plan
from harness.report.power import in_reach
from harness.report.words import clean, signed, some, text

_STYLES: dict[Ablated, str] = {
    "lost": "bold red",
    "kept": "green",
    "better without it": "bold yellow",
    "inconclusive": "dim",
}


def render_ablation(found: Ablation, *, plain: bool = False) -> RenderableType:
    """A row for each section; then, for those that change something, scenario by scenario."""
    count = len(found.sections)
    return Group(
        text(f"{found.skill}: without each of {some(count, 'section')}, against the whole", "bold"),
        _sections(found, plain=plain),
        Text(
            "lost: right answers are lost without it. kept: a loss of"
            f" {found.rules.margin:.0%} is ruled out. Levels are divided by {count}, so that all of"
            " it errs as rarely as one comparison."
        ),
        Text(),
        *_scenarios(found),
        Text(
            "right of judged answers, with the whole and without the section. !: shown for this"
            " scenario alone. *: the section is said to cover it"
        ),
    )


def render_ablation_plan(sections: list[str], plan: Plan) -> RenderableType:
    """What leaving out each of these could show."""
    return Group(
        text(f"{some(len(sections), 'section')}: {', '.join(sections)}"),
        Text(_visible(plan, len(sections))),
    )


def _visible(plan: Plan, sections: int) -> str:
    if plan.needed is None:
        return (
            f"with {some(plan.scenarios, 'scenario')} and {some(sections, 'section')} nothing can be"
            " shown: even a loss of all is too likely by chance in one of them"
        )
    seen = in_reach(plan.reach, plan.rules)
    return f"for each section, corrected for the {sections}: a comparison like this shows {seen}"


def _sections(found: Ablation, *, plain: bool) -> Table:
    table = _table(
        "without", "lines", "says", "points", "interval", "trials", "covers", plain=plain
    )
    for one in found.sections:
        estimate = one.estimate
        numbers = ("", "")
        if estimate is not None:
            numbers = (
                signed(estimate.effect),
                f"{signed(estimate.low)} to {signed(estimate.high)}",
            )
        said = Text(one.says, _STYLES[one.says])
        covers = clean(", ".join(one.covers))
        table.add_row(text(one.title), str(one.lines), said, *numbers, str(one.trials), covers)
    return table


def _scenarios(found: Ablation) -> Iterator[Text]:
    """Of each section the scenarios that come out otherwise, and how many do not."""
    for one in found.sections:
        parts: list[tuple[str, str] | str] = [(clean(f"without {one.title}: "), "bold")]
        differ = [cell for cell in one.scenarios if cell.full.rate != cell.left_out.rate]
        for cell in differ:
            parts += [(_cell(cell), _STYLES[cell.says]), ", "]
        parts.append(f"{some(len(one.scenarios) - len(differ), 'scenario')} as before")
        yield Text.assemble(*parts)


def _cell(cell: SectionInScenario) -> str:
    old, new = cell.full, cell.left_out
    shown = "!" if cell.says in ("lost", "better without it") else ""
    covered = "*" if cell.covered else ""
    counts = f"{old.right}/{old.judged} -> {new.right}/{new.judged}"
    return clean(f"{cell.scenario}{covered} {counts}{shown}")


def _table(*columns: str, plain: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(Text(clean(column)), overflow="fold", no_wrap=plain)
    return table
