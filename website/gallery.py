"""One page a property: the bug, what happens in numbers, the norms, the fix. All of it executed."""

from collections.abc import Iterable
from pathlib import Path

from harness.domain.scenario import Bank, Scenario
from harness.domain.stored import GradedAnswer
from harness.domain.wording import placed, plainly
from harness.markdown import fence
from harness.properties import PROPERTIES
from harness.report.pictures import pictures_of
from harness.runner import Settings, run_bank
from harness.scenarios import default_bank, load_bank
from harness.scenarios.availability import runnable


def write_gallery(into: Path, only: Iterable[str] = ()) -> list[str]:
    """A page for each property that a scenario's posted loop fails, and an index; their ids."""
    bank, _ = runnable(load_bank(default_bank()))
    shown = {name: s for name, s in shown_properties(bank).items() if not only or name in set(only)}
    told: dict[str, GradedAnswer] = {}
    scenarios = tuple({s.id: s for s in shown.values()}.values())
    part = bank.model_copy(update={"scenarios": scenarios})
    run_bank(part, Settings(keep=lambda one: told.setdefault(one.stored.key, one) and None))
    into.mkdir(parents=True, exist_ok=True)
    for name, scenario in shown.items():
        page = _page(name, scenario, told[f"{scenario.id}/buggy"])
        (into / f"{name}.md").write_text(page, encoding="utf-8")
    rows = [f"| [{name}]({name}.md) | {s.title} |" for name, s in shown.items()]
    index = "\n".join(["# Gallery of faults", "", "| property | loop |", "| --- | --- |", *rows])
    (into / "index.md").write_text(index + "\n", encoding="utf-8")
    return list(shown)


def shown_properties(bank: Bank) -> dict[str, Scenario]:
    """For each property the first scenario whose loop fails it, the one with fewest others first.
    Tests that a scenario brings along are properties of that scenario alone, and have no page.
    """
    found: dict[str, Scenario] = {}
    for scenario in sorted(bank.scenarios, key=lambda s: (len(s.buggy_fails), s.id)):
        for name in PROPERTIES.keys() & set(scenario.buggy_fails):
            found.setdefault(name, scenario)
    return dict(sorted(found.items()))


def _page(name: str, scenario: Scenario, told: GradedAnswer) -> str:
    verdict = next(v for v in told.stored.answer.verdicts if v.property == name)
    numbers = [f"| {n.name} | {placed(n.where)} | {n.value:.6g} |" for n in verdict.numbers]
    table = ["| number | where | value |", "| --- | --- | --- |", *numbers] if numbers else []
    drawn = [
        f'<figure role="img" aria-label="{picture.alt}">{picture.svg}</figure>'
        for probe in told.traces[0].probes
        for picture in pictures_of(
            probe, scenario.expectations.objectives, scenario.expectations.max_norm
        )
    ]
    known = PROPERTIES[name]
    return "\n".join(
        [
            f"# {name}",
            "",
            known.description.strip().replace("::\n", ":\n"),
            "",
            f"**{scenario.title}.** {scenario.pressure}",
            "",
            "## The bug",
            "",
            fence(scenario.buggy, "python"),
            "",
            "## What happens",
            "",
            plainly(verdict.sentence),
            "",
            *table,
            "",
            *drawn,
            "",
            "## The fix",
            "",
            fence(scenario.reference, "python"),
            "",
        ]
    )
