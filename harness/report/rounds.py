"""Comparisons in rounds: how one went, and what ``harness compare --plan --sequential`` prints."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.comparison import InRounds, LookTaken, Stop
from harness.domain.plan import RoundsMeasured, RoundsPlan
from harness.report.words import points, signed, some, text

_WHY: dict[Stop, str] = {
    "worse": "a loss is shown",
    "better": "a gain is shown",
    "not worse": "a loss of the margin is ruled out, and no difference is to be expected",
    "hopeless": "nothing is shown, and nothing is to be expected of the trials that were left",
    "all asked": "all trials were asked",
    "goes on": "the next round has not been asked",
}


def render_rounds(rounds: InRounds) -> Iterator[Text]:
    """Why it stopped and when, and each look before."""
    if not rounds.looks:
        yield Text("No round was asked in full: nothing was looked at.", "yellow")
        return
    yield text(
        f"in rounds: {_WHY[rounds.stop]}, after {rounds.trials} of at most"
        f" {some(rounds.most, 'trial')}"
    )
    for look in rounds.looks[:-1]:
        yield text(f"    {render_look(look)}", "dim")
    if rounds.trials < rounds.most and rounds.stop in ("worse", "better"):
        yield Text("    Where one stops early, the difference looks larger than it is.", "dim")


def render_look(look: LookTaken) -> str:
    """``after 3 trials: -12 points (-45 to +20), goes on``."""
    between = f"({signed(look.low)} to {signed(look.high)})"
    return (
        f"after {some(look.trials, 'trial')}: {signed(look.effect)} points {between}, {look.stop}"
    )


def render_rounds_plan(plan: RoundsPlan, *, plain: bool = False) -> RenderableType:
    """One row for each shape of true rates."""
    first = plan.measured[0]
    size = f"{some(first.scenarios, 'scenario')}, at most {some(first.most, 'trial')} of each"
    looks = ", ".join(map(str, plan.looks))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in (
        "true rates",
        "false alarms (at most)",
        "unchanged: exit 0",
        "trials",
        "margin lost: 0",
        "loss",
        "shown",
        "trials",
        "fixed plan",
        "spared",
    ):
        table.add_column(column, no_wrap=plain, overflow="fold")
    for one in plan.measured:
        table.add_row(*_row(one))
    return Group(
        Text(f"{size} in each arm, in rounds", "bold"),
        Text(f"looked at after {looks} trials; it stops when the answer is clear"),
        table,
        Text(
            "trials: of each scenario in each arm, on average. fixed plan: trials that show this loss"
            " as often with one look at the end. All simulated, "
            f"{first.comparisons:,} comparisons each."
        ),
    )


def _row(one: RoundsMeasured) -> tuple[str, ...]:
    count = one.comparisons
    unchanged = (
        one.name,
        f"{one.alarms / count:.1%} ({one.upper:.1%})",
        f"{one.passed / count:.0%}",
        f"{one.asked_unchanged:.1f}",
        f"{one.let_through / count:.1%}",
    )
    if one.planned is None or one.asked is None or one.fixed is None or one.spared is None:
        return (*unchanged, "none is shown", "", "", "", "")
    loss = (points(one.planned.effect), f"{one.planned.power:.0%}")
    return (*unchanged, *loss, f"{one.asked:.1f}", f"{one.fixed:.1f}", f"{one.spared:.0%}")
