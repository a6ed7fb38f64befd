"""What ``harness compare --plan`` prints: what can be seen."""

from rich.console import Group, RenderableType
from rich.text import Text

from harness.domain.plan import EffectSeen, Plan, Reach, Rules
from harness.report.words import points, some


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
