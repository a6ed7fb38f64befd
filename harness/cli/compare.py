"""``compare``: is the new skill better or worse, or is that inconclusive?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.ablating import (
    AblateOption,
    AblationOptions,
    CoverageOption,
    LevelOption,
)
from harness.cli.ablating import ablate as ablated
from harness.cli.app import (
    LOCAL,
    BankOption,
    EngineOption,
    JobsOption,
    JsonOption,
    JudgeOption,
    PlainOption,
    ScenariosOption,
    SeedOption,
    SuiteOption,
    TrustOption,
    app,
    cores,
    flag,
    instruments,
    load,
    only_runnable,
    trusted,
    valued,
)
from harness.cli.arms import Asker, arms_below, arms_of, refuse_unreadable
from harness.cli.asking import AskOptions, BatchOption, DeliveryOption, FreshOption, TrialsOption
from harness.cli.compare_output import ShownComparison
from harness.domain.errors import UsageError
from harness.domain.plan import Rules
from harness.domain.scenario import Bank
from harness.report.console import Output

MARGIN = Rules().margin
FEW = 6
"""Below so many scenarios not even a change of all of them, in one direction, is significant."""

MarginOption = Annotated[
    float,
    typer.Option(
        min=0.01,
        max=0.99,
        metavar="SHARE",
        help="The loss, as a share of scenarios, that the gate must rule out.",
    ),
]
AnywayOption = Annotated[
    bool, flag("--anyway", "Compare runs that differ in more than the skill; warn only.")
]
PlanOption = Annotated[
    bool, flag("--plan", "Say how large a difference could be seen. Asks nothing.")
]
AaOption = Annotated[bool, flag("--aa", "Ask twice with the same skill, and compare the answers.")]
GateOption = Annotated[
    bool, flag("--gate", "Exit with 0 if not worse, 1 if worse, 4 if inconclusive.")
]
SequentialOption = Annotated[
    bool,
    flag(
        "--sequential",
        "Ask in rounds, at most --trials of them, and stop when the answer is clear.",
    ),
]
ArmsOption = Annotated[
    Path | None, valued(metavar="DIR", help="Store each arm's run in a folder below this one.")
]
SkillsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="DIR|none", help="A skill to ask with. Give it twice, the old one first."),
]


RunsArgument = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RUN", help="Two stored runs, or logs with answers, the old one first."),
]
AskedAgentOption = Annotated[
    str | None, valued("--agent", metavar="AGENT", help="The agent to ask.")
]
ArmCostOption = Annotated[
    float | None,
    valued(metavar="USD", help="Spend at most this many US dollars for each arm.", min=0.0),
]


@app.command(epilog="Example: harness compare runs/old runs/new, or old.eval new.eval")
def compare(
    context: typer.Context,
    runs: RunsArgument = None,
    *,
    skill: SkillsOption = None,
    agent: AskedAgentOption = None,
    delivery: DeliveryOption = "system",
    trials: TrialsOption = 3,
    max_cost: ArmCostOption = None,
    judge: JudgeOption = "none",
    margin: MarginOption = MARGIN,
    anyway: AnywayOption = False,
    gate: GateOption = False,
    plan: PlanOption = False,
    aa: AaOption = False,
    sequential: SequentialOption = False,
    ablate: AblateOption = False,
    level: LevelOption = 2,
    coverage: CoverageOption = None,
    out: ArmsOption = None,
    scenario: ScenariosOption = None,
    suite: SuiteOption = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    engine: EngineOption = LOCAL,
    as_json: JsonOption = False,
    plain: PlainOption = False,
    fresh: FreshOption = False,
    batch: BatchOption = False,
) -> None:
    """Say whether the new skill is better or worse, or that the result is inconclusive."""
    rules, bank = Rules(margin=margin), trusted(bank, trust=trust_bank)
    shown = ShownComparison(Output(plain=plain), as_json, anyway, gate, rules)
    _refuse_contradictions(runs, asks=sequential or ablate or aa)
    if runs:
        raise typer.Exit(_given(context, shown, arms_below(runs), (bank, judge, jobs)))
    if plan and not ablate:
        raise typer.Exit(_planned(shown, load(bank, scenario, suite), trials, sequential))
    if agent is None or not skill:
        raise UsageError("compare takes two stored runs, or an --agent and --skill OLD --skill NEW")
    asked = AskOptions(
        agent, None, delivery, trials, max_cost, judge, seed, cores(jobs, context, engine),
        fresh=fresh, batch=batch, in_rounds=sequential,
    )  # fmt: skip
    open_ = instruments(context, jobs, ahead=False, engine=engine)
    asker = Asker(only_runnable(load(bank, scenario, suite)), out, open_, rules, anyway)
    left_out = AblationOptions(asked, skill, level, coverage, plan)
    raise typer.Exit(_asked(shown, asker, left_out if ablate else arms_of(asked, skill, aa=aa)))


def _refuse_contradictions(runs: list[Path] | None, *, asks: bool) -> None:
    if runs and asks:
        raise UsageError(
            "--sequential, --ablate and --aa are for asking, not for runs that are stored"
        )


def _asked(
    shown: ShownComparison, asker: Asker, arms: dict[str, AskOptions] | AblationOptions
) -> int:
    """Ask for every arm, then compare."""
    if isinstance(arms, AblationOptions):
        return ablated(arms, asker, shown.printed)
    refuse_unreadable(arms)
    first = next(iter(arms.values()))
    _warn_of_few(len(asker.bank.scenarios), first.trials, asker.rules)
    with (asker.in_rounds if first.in_rounds else asker.at_once)(arms) as folders:
        return shown.runs(folders)


def _planned(shown: ShownComparison, bank: Bank, trials: int, sequential: bool) -> int:
    return (shown.rounds if sequential else shown.plan)(len(bank.scenarios), trials)


def _given(
    context: typer.Context,
    shown: ShownComparison,
    runs: Sequence[Path],
    how: tuple[Path | None, str, int | None],
) -> int:
    """Of runs that are there; files are graded first, but for a benchmark, which is judged."""
    if not any(run.is_file() for run in runs):
        return shown.runs(runs)
    if len(runs) == 1:
        return shown.benchmark(runs[0])
    from harness.cli.logged import GradingOptions, as_runs
    from harness.instruments import opened_once

    bank, judge, jobs = how
    open_ = context.with_resource(opened_once(instruments(context, jobs)))
    judgement = GradingOptions(load(bank), judge, cores(jobs), open_)
    with as_runs(runs, judgement) as folders:
        return shown.runs(folders)


def _warn_of_few(scenarios: int, trials: int, rules: Rules) -> None:
    """Before anything is asked, and paid for: scenarios are what a comparison counts."""
    from harness.comparison import plan

    if scenarios >= FEW:
        return
    least = plan(scenarios, trials, rules=rules).needed
    shows = f"shows something only if {least} of them change" if least else "can show nothing"
    counted = "1 scenario" if scenarios == 1 else f"{scenarios} scenarios"
    Output(stderr=True).text(
        f"harness: {counted}: a comparison this small {shows}; --plan says more"
    )
