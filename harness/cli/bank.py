"""``run``: the bank against itself, or an agent against its questions."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import (
    LOCAL,
    BankOption,
    EngineOption,
    JobsOption,
    JsonOption,
    JudgeOption,
    OutOption,
    PlainOption,
    ScenariosOption,
    SeedOption,
    StrictOption,
    SuiteOption,
    TrustOption,
    VerboseOption,
    app,
    cores,
    instruments,
    load,
    only_runnable,
    print_faults,
    trusted,
)
from harness.cli.asking import (
    Ask,
    BatchOption,
    DeliveryOption,
    FreshOption,
    ShownAnswers,
    TrialsOption,
    ask,
)
from harness.cli.configuring import configuration
from harness.cli.stored import print_unstored, stored
from harness.domain.errors import UsageError
from harness.domain.outcome import Outcome
from harness.domain.scenario import Bank
from harness.report.console import Output, progress_bar

AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="A",
        help="Ask this agent: anthropic:MODEL, openai:MODEL, command:'...', replay:DIR,"
        " reference, buggy.",
        show_default=False,
    ),
]
SkillOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of the skill that the agent is given.", show_default=False
    ),
]


MaxCostOption = Annotated[
    float | None,
    typer.Option(
        min=0.0, metavar="USD", help="Spend at most this many US dollars.", show_default=False
    ),
]
EvalsOption = Annotated[
    Path | None,
    typer.Option(
        "--evals",
        metavar="FILE",
        help="Ask the questions of this evals.json of skill-creator.",
        show_default=False,
    ),
]
AskPlanOption = Annotated[
    bool, typer.Option("--plan", metavar="", help="Say what asking would cost. Asks nothing.")
]


@app.command(epilog="Example: harness run --scenario all")
def run(
    context: typer.Context,
    *,
    scenario: ScenariosOption = None,
    suite: SuiteOption = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    engine: EngineOption = LOCAL,
    out: OutOption = None,
    as_json: JsonOption = False,
    plain: PlainOption = False,
    verbose: VerboseOption = False,
    agent: AgentOption = None,
    skill: SkillOption = None,
    delivery: DeliveryOption = "system",
    trials: TrialsOption = 1,
    max_cost: MaxCostOption = None,
    judge: JudgeOption = "none",
    strict: StrictOption = False,
    plan: AskPlanOption = False,
    fresh: FreshOption = False,
    batch: BatchOption = False,
    evals: EvalsOption = None,
) -> None:
    """Let the bank check itself: each posted loop has to fail as declared, each fix to be right.
    With --agent, ask an agent every question and grade what it answers.
    """
    trusted(bank, trust=trust_bank)
    of_asking = skill is not None or plan or max_cost is not None or trials > 1 or strict or fresh
    of_asking = of_asking or batch or evals is not None
    if agent is None and of_asking:
        raise UsageError(
            "--skill, --trials, --max-cost, --strict, --plan, --fresh, --batch and --evals are about"
            " asking: name an --agent"
        )
    open_instruments = instruments(context, jobs, ahead=agent is None, engine=engine)
    from harness.runner import Settings, run_bank

    chosen = _questions(bank, scenario, suite, evals)
    if agent is not None:
        skill = skill or configuration().skill
        at_once = cores(jobs, context, engine)
        asked = Ask(
            agent, skill, delivery, trials, max_cost, judge, seed, at_once, plan,
            fresh=fresh, batch=batch,
        )  # fmt: skip
        shown = ShownAnswers(as_json, plain, verbose, strict)
        here = only_runnable(chosen)
        raise typer.Exit(ask(asked, here, out, shown, open_instruments))
    with (
        stored(out, "bank", chosen, seed=seed) as run_folder,
        progress_bar(Output(stderr=True)) as watch,
    ):
        settings = Settings(
            seed=seed, jobs=cores(jobs, context, engine), watch=watch, run=run_folder
        )
        outcome = run_bank(chosen, settings, open_instruments)
    count = len(chosen.scenarios) - len(outcome.run.not_run)
    _print_run(outcome, asked=count, as_json=as_json, plain=plain, verbose=verbose)
    raise typer.Exit(outcome.exit_code)


def _questions(
    bank: Path | None, scenario: list[str] | None, suite: str | None, evals: Path | None
) -> Bank:
    from harness.agents.evals import read_evals
    from harness.scenarios.selection import select

    chosen = select(load(bank), ",".join(scenario or ["all"]), suite)
    return chosen if evals is None else read_evals(evals, chosen)


def _print_run(outcome: Outcome, *, asked: int, as_json: bool, plain: bool, verbose: bool) -> None:
    from harness.report.data import render_json
    from harness.report.table import closing_line, render_table
    from harness.report.verbose import render_verbose

    output = Output(plain=plain)
    if as_json:
        output.text(render_json(outcome.run))
    else:
        if verbose:
            output.show(render_verbose(outcome.run))
        if outcome.run.results or outcome.run.not_run:
            output.show(render_table(outcome.run, plain=output.plain))
        if not outcome.interrupted:
            output.show(closing_line(outcome.run, asked))
    print_unstored(outcome.unstored)
    if outcome.interrupted:
        finished = f"{len(outcome.run.results)} of {asked} scenarios were finished"
        Output(stderr=True).text(f"harness: interrupted; {finished}")
    else:
        print_faults(outcome.faults, all_traces=verbose)
