"""What ``harness compare --plan`` and ``--aa`` print: what can be seen, and how often it errs."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.plan import EffectSeen, FalseAlarms, Plan, Reach, Rules
from harness.report.words import points, some, text


def render_plan(plan: Plan) -> RenderableType:
    """What a comparison could show, and what the gate would say of an unchanged skill."""
    losses = [
        Text(f"  a loss of {points(s.effect)}: shown {s.power:.0%} of the time") for s in plan.curve
    ]
    size = f"{some(plan.scenarios, 'scenario')}, {some(plan.trials, 'trial')} of each in each arm"
    return Group(
        Text(size, "bold"),
        Text(_assumed(plan)),
        Text(_needed(plan)),
        Text(f"a comparison like this shows {in_reach(plan.reach, plan.rules)}"),
        *losses,
        Text(
            f"the gate lets an unchanged skill pass {plan.passed:.0%} of the time (for that, a loss"
            f" of {points(plan.rules.margin)} must be ruled out)"
        ),
    )


def render_false_alarms(measured: Sequence[FalseAlarms], *, plain: bool = False) -> RenderableType:
    """One row for each shape of true rates."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in (
        "true rates",
        "bank",
        "false alarms (at most)",
        "gate 0 / 1 / 4",
        "margin lost: 0",
        "planned loss",
        "power planned",
        "measured",
    ):
        table.add_column(column, no_wrap=plain, overflow="fold")
    for one in measured:
        table.add_row(
            text(one.name),
            f"{len(one.rates)} x {one.trials}",
            f"{one.share:.1%} ({one.upper:.1%})",
            _gates(one),
            f"{one.let_through / one.comparisons:.1%}",
            *_power(one),
        )
    return table


def in_reach(reach: Reach, rules: Rules) -> str:
    """``losses of 41 points or more and gains of 39 points or more at least 80% of the time``."""
    loss, gain = _effect(reach.loss, "loss", "losses"), _effect(reach.gain, "gain", "gains")
    return f"{loss} and {gain} at least {rules.power:.0%} of the time"


def _effect(seen: EffectSeen | None, one: str, many: str) -> str:
    return (
        f"no {one}, however large," if seen is None else f"{many} of {points(seen.effect)} or more"
    )


def _assumed(plan: Plan) -> str:
    said = f"assumed: {plan.rate:.0%} right, two trials agree {plan.agreement:.0%} of the time"
    more = " (deterministic: trials after the first add nothing)"
    return said + more if plan.deterministic else said


def _needed(plan: Plan) -> str:
    if plan.needed is None:
        return "too few scenarios: even if all changed, and all one way, nothing could be shown"
    return f"at least {plan.needed} scenarios have to change, all one way, to show anything"


def _gates(one: FalseAlarms) -> str:
    cannot_tell = one.comparisons - one.passed - one.stopped
    counts = (one.passed, one.stopped, cannot_tell)
    return " / ".join(f"{count / one.comparisons:.1%}" for count in counts)


def _power(one: FalseAlarms) -> tuple[str, str, str]:
    if one.planned is None or one.measured is None:
        return "none is shown", "", ""
    return points(one.planned.effect), f"{one.planned.power:.1%}", f"{one.measured:.1%}"
