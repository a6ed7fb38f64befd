"""What ``harness calibrate`` prints."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.calibration import Agreement, Calibration, Interval, JudgementGap, SayDo
from harness.report.words import some, text


def render_calibration(measured: Calibration, *, plain: bool = False) -> RenderableType:
    """One row a criterion, the pooled figures, and where words and execution differ."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    table.add_column("criterion", overflow="fold", no_wrap=plain)
    for name in ("n", "agree", "missed", "false", "kappa"):
        table.add_column(name, justify="right", no_wrap=True)
    scenario = ""
    for row in measured.criteria:
        if row.scenario != scenario:
            scenario = row.scenario
            table.add_row(Text(scenario, "bold"))
        table.add_row(f"  {row.criterion}", *_figures(row.agreement))
    table.add_row(Text("pooled", "bold"), *_figures(measured.pooled))
    title = f"judge {measured.judge} beside {measured.labels}, {some(measured.answers, 'answer')}"
    parts: list[RenderableType] = [Text(title), Text(), table, Text(), Text(_closing(measured))]
    if measured.say_do is not None:
        parts += [Text(), *_say_do(measured.say_do)]
    return Group(*parts)


def _figures(one: Agreement) -> tuple[str, str, str, str, str]:
    kappa = (
        "not measurable" if one.kappa is None else f"{one.kappa:.2f}{_range(one.kappa_interval)}"
    )
    share = "" if one.share is None else f"{one.share:.0%}"
    open_ = f" (+{one.unassessed} open)" if one.unassessed else ""
    return f"{one.n}{open_}", share, str(one.only_label), str(one.only_judge), kappa


def _range(interval: Interval | None) -> str:
    return "" if interval is None else f" [{interval.low:.2f}, {interval.high:.2f}]"


def _closing(measured: Calibration) -> str:
    pooled = measured.pooled
    if pooled.share is None:
        return "nothing was assessed"
    said = f"agreement {pooled.share:.1%}"
    if pooled.share_interval is not None:
        low, high = pooled.share_interval.low, pooled.share_interval.high
        said += f" (95 % interval {low:.1%} to {high:.1%})"
    return f"{said}; missed: labelled met and not found; false: found and labelled not met"


def _say_do(found: SayDo) -> list[RenderableType]:
    noun = "criterion" if found.compared == 1 else "criteria"
    head = f"say-do gap: words and execution differ on {len(found.gaps)} of {found.compared} {noun}"
    return [Text(head, "bold"), *(text(f"  {_sentence(gap)}") for gap in found.gaps)]


def _sentence(gap: JudgementGap) -> str:
    words = {"met": "met", "not_met": "not met"}
    said = (
        f"{gap.file} {gap.criterion}: the words say {words[gap.says]}, execution {words[gap.does]}"
    )
    quote = " ".join((gap.quote or "").split())
    return f"{said} ({quote[:120]!r})" if quote else said
