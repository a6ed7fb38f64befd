"""``compare``: is the new skill better, worse, or can we not tell?"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import RenderableType

from harness.cli.ablating import (
    AblateOption,
    Ablating,
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
    instruments,
    load,
    only_runnable,
    trusted,
)
from harness.cli.arms import Asker, arm_in, arms_below, arms_of, refuse_unreadable
from harness.cli.asking import Ask, BatchOption, DeliveryOption, FreshOption, TrialsOption
from harness.domain.comparison import Comparison
from harness.domain.errors import UsageError, reason
from harness.domain.plan import FalseAlarms, Rules
from harness.domain.record import Record
from harness.domain.scenario import Bank
from harness.report.console import Output
from harness.store import RunFolder

if TYPE_CHECKING:
    from harness.report.differing import Programs
from harness.untrusted import read_bytes

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
AllowOption = Annotated[
    bool,
    typer.Option(
        "--allow", metavar="", help="Compare runs that differ in more than the skill; warn only."
    ),
]
PlanOption = Annotated[
    bool,
    typer.Option(
        "--plan", metavar="", help="Say how large a difference could be seen. Asks nothing."
    ),
]
AaOption = Annotated[
    bool,
    typer.Option(
        "--aa", metavar="", help="Compare a skill with itself: how often is the result wrong?"
    ),
]
GateOption = Annotated[
    bool,
    typer.Option(
        "--gate", metavar="", help="Exit with 0 if not worse, 1 if worse, 4 if inconclusive."
    ),
]
SequentialOption = Annotated[
    bool,
    typer.Option(
        "--sequential",
        metavar="",
        help="Ask in rounds, at most --trials of them, and stop when the answer is clear.",
    ),
]
ArmsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Store each arm's run in a folder below this one.", show_default=False
    ),
]
SkillsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="DIR|none", help="Ask with these skills, the old one first. May be given again."
    ),
]


RunsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RUN_A RUN_B]", help="Stored runs, or logs with answers, the old one first."
    ),
]
AskedAgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="A", help="The agent to ask.", show_default=False),
]
ArmCostOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="USD",
        help="Spend at most this many US dollars for each arm.",
        show_default=False,
    ),
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
    allow: AllowOption = False,
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
    shown = _Shown(Output(plain=plain), as_json, allow, gate, rules)
    if runs and (sequential or ablate):
        raise UsageError("--sequential and --ablate are for asking, not for runs that are stored")
    runs = arms_below(runs or [])
    if runs:
        code = _given(context, shown, runs, aa, (bank, judge, jobs))
    elif not ablate and (plan or (aa and agent is None)):
        count = len(_chosen(bank, scenario, suite).scenarios)
        code = _planned(shown, count, trials, aa=not plan, sequential=sequential)
    elif agent is not None and skill:
        asked = Ask(
            agent, None, delivery, trials, max_cost, judge, seed, cores(jobs, context, engine),
            fresh=fresh, batch=batch, in_rounds=sequential,
        )  # fmt: skip
        chosen = only_runnable(_chosen(bank, scenario, suite))
        open_ = instruments(context, jobs, ahead=False, engine=engine)
        asker = Asker(chosen, out, open_, rules, allow)
        if ablate:
            code = ablated(Ablating(asked, skill, level, coverage, plan), asker, shown.printed)
        else:
            code = _asked(shown, asker, arms_of(asked, skill, aa=aa))
    else:
        raise UsageError("compare takes two stored runs, or an --agent and --skill OLD --skill NEW")
    raise typer.Exit(code)


def _asked(shown: "_Shown", asker: Asker, arms: dict[str, Ask]) -> int:
    """Ask for every arm, then compare."""
    refuse_unreadable(arms)
    first = next(iter(arms.values()))
    _warn_of_few(len(asker.bank.scenarios), first.trials, asker.rules)
    with (asker.in_rounds if first.in_rounds else asker.at_once)(arms) as folders:
        return shown.runs(folders, aa=False)


def _planned(shown: "_Shown", scenarios: int, trials: int, *, aa: bool, sequential: bool) -> int:
    """What a comparison could show, or how often it errs. Asks nothing."""
    if aa:
        return shown.simulation(scenarios, trials)
    return (shown.rounds if sequential else shown.plan)(scenarios, trials)


def _given(
    context: typer.Context,
    shown: "_Shown",
    runs: Sequence[Path],
    aa: bool,
    how: tuple[Path | None, str, int | None],
) -> int:
    """Of runs that are there; files are graded first, but for a benchmark, which is judged."""
    if not any(run.is_file() for run in runs):
        return shown.runs(runs, aa=aa)
    if len(runs) == 1 and not aa:
        return shown.benchmark(runs[0])
    from harness.cli.logged import Judgement, as_runs

    bank, judge, jobs = how
    judgement = Judgement(load(bank), judge, cores(jobs), instruments(context, jobs))
    with as_runs(runs, judgement) as folders:
        return shown.runs(folders, aa=aa)


def _chosen(bank: Path | None, scenario: list[str] | None, suite: str | None) -> Bank:
    from harness.scenarios.selection import select

    return select(load(bank), ",".join(scenario or ["all"]), suite)


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


class _Shown:
    """What is printed, and the exit code that it comes to."""

    def __init__(
        self, output: Output, as_json: bool, allow: bool, gate: bool, rules: Rules
    ) -> None:
        self._output = output
        self._as_json = as_json
        self._allow = allow
        self._gate = gate
        self._rules = rules

    def printed(self, record: Record, rendered: Callable[..., RenderableType]) -> None:
        """As JSON, or as for people."""
        if self._as_json:
            self._output.text(record.model_dump_json(indent=2))
        else:
            self._output.show(rendered(record, plain=self._output.plain))

    def plan(self, scenarios: int, trials: int) -> int:
        """What a comparison of this size could show."""
        from harness.comparison import plan
        from harness.report.power import render_plan

        found = plan(scenarios, trials, rules=self._rules)
        if self._as_json:
            self._output.text(found.model_dump_json(indent=2))
        else:
            self._output.show(render_plan(found))
        return 0

    def rounds(self, scenarios: int, most: int) -> int:
        """What a comparison of this size could show that may stop early, and what it would ask."""
        from harness.comparison import rounds_plan
        from harness.report.rounds import render_rounds_plan

        self.printed(rounds_plan(scenarios, most, rules=self._rules), render_rounds_plan)
        return 0

    def simulation(self, scenarios: int, trials: int) -> int:
        """How often the gate errs, on several shapes of true rates."""
        from harness.comparison import false_alarms, shapes

        rates = shapes(scenarios).items()
        return self._alarms([false_alarms(n, r, trials, rules=self._rules) for n, r in rates])

    def runs(self, folders: Sequence[Path], *, aa: bool) -> int:
        """Two runs, or with ``aa`` one against itself; of three the first against each other."""
        from harness.comparison import compare, false_alarms, stored_rates

        arms = [arm_in(folder) for folder in folders]
        if aa and len(arms) == 1:
            rates, trials = stored_rates(arms[0]), max(len(s.trials) for s in arms[0].scenarios)
            return self._alarms([false_alarms(arms[0].name, rates, trials, rules=self._rules)])
        if aa or len(arms) < 2:
            raise UsageError("compare takes two stored runs; with --aa one, against itself")
        if len({folder.resolve() for folder in folders}) < len(folders):
            raise UsageError(
                "a run is given twice: name two, or one with --aa (how often the gate errs on it)"
            )
        found = [compare(arms[0], new, self._rules, allow=self._allow) for new in arms[1:]]
        for comparison, folder in zip(found, folders[1:], strict=True):
            self._comparison(comparison, (folders[0], folder))
        codes = {comparison.gate.code for comparison in found}
        return max(codes, key=(0, 4, 1).index) if self._gate else int(1 in codes)

    def benchmark(self, file: Path) -> int:
        """The two configurations of a ``benchmark.json``, by the verdicts that it holds."""
        from harness.comparison import compare
        from harness.comparison.benchmark import arms_of_benchmark

        try:
            arms = arms_of_benchmark(read_bytes(file, 16 << 20), str(file))
        except OSError as error:
            raise UsageError(f"{file}: {reason(error)}") from error
        found = compare(*arms, self._rules, allow=self._allow)
        self._comparison(found, None)
        return found.gate.code if self._gate else int(found.gate.code == 1)

    def _comparison(self, found: Comparison, folders: tuple[Path, Path] | None) -> None:
        from harness.report.comparison import comparison_json, render_comparison

        if self._as_json:
            self._output.text(comparison_json(found))
        else:
            plain, programs = self._output.plain, _programs(folders) if folders else {}
            self._output.show(render_comparison(found, plain=plain, programs=programs))

    def _alarms(self, found: list[FalseAlarms]) -> int:
        from harness.report.power import render_false_alarms

        if self._as_json:
            for one in found:
                self._output.text(one.model_dump_json())
        else:
            self._output.show(render_false_alarms(found, plain=self._output.plain))
        return 0


def _programs(folders: tuple[Path, Path]) -> "Programs":
    """What was proposed, for those answers that are shown side by side."""
    from harness.report.differing import program_of
    from harness.store.arms import numbered

    found: dict[tuple[Literal["old", "new"], str, int], str] = {}
    sides: tuple[Literal["old", "new"], ...] = ("old", "new")
    for side, folder in zip(sides, folders, strict=True):
        with RunFolder.load(folder) as run:
            for scenario, answers in numbered(run).items():
                for trial, stored in answers.items():
                    found[side, scenario, trial] = program_of(stored)
    return found
