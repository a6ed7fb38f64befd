"""What ``harness triggers`` prints."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from harness.domain.triggers import Share, TriggerLine, TriggerReport
from harness.report.words import some, text


def render_triggers(report: TriggerReport) -> RenderableType:
    """Two rates with their intervals, and the prompts that went another way."""
    among = f"among {some(len(report.others), 'other')}"
    return Group(
        text(f"{report.skill}, {among}, {report.agent}, {some(report.trials, 'trial')}", "bold"),
        text(_rate("found", report.found, "prompts that should bring it up")),
        text(_rate("brought up", report.disturbed, "prompts that should not")),
        *_otherwise(report),
    )


def _rate(word: str, share: Share, of: str) -> str:
    if not share.of:
        return f"{word}: not known for any of the {of}"
    between = f"{share.low:.0%} to {share.high:.0%}"
    return f"{word} by {share.count} of {share.of} {of} (95% interval {between}, exact)"


def _otherwise(report: TriggerReport) -> Iterator[Text]:
    for line in report.prompts:
        wrong = line.not_opened if line.should else line.opened
        if wrong:
            what = "not found" if line.should else "brought up"
            yield text(
                f"    {line.id}: {what}{_times(line, wrong)}: {_short(line.prompt)}", "yellow"
            )
        elif line.unknown:
            yield text(f"    {line.id}: not known{_times(line, line.unknown)}", "dim")


def _times(line: TriggerLine, count: int) -> str:
    trials = line.opened + line.not_opened + line.unknown
    return f" in {count} of {trials} trials" if trials > 1 else ""


def _short(prompt: str) -> str:
    flat = " ".join(prompt.split())
    return flat if len(flat) <= 70 else f"{flat[:67]}..."
