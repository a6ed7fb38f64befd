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
    flag,
    instruments,
    load,
    only_runnable,
    print_faults,
    trusted,
    valued,
)
from harness.cli.asking import (
    AskOptions,
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
from harness.domain.instruments import OpenInstruments
from harness.domain.outcome import BankOutcome
from harness.domain.scenario import Bank
from harness.report.console import Output, progress_bar

AgentOption = Annotated[
    str | None,
    valued(
        "--agent",
        metavar="AGENT",
        help="Ask this agent: anthropic:MODEL, openai:MODEL, command:'...', replay:DIR,"
        " reference, buggy.",
    ),
]
SkillOption = Annotated[
    Path | None, valued(metavar="DIR", help="The folder of the skill that the agent is given.")
]


MaxCostOption = Annotated[
    float | None, valued(metavar="USD", help="Spend at most this many US dollars.", min=0.0)
]
EvalsOption = Annotated[
    Path | None,
    valued(
        "--evals", metavar="FILE", help="Ask the questions of this evals.json of skill-creator."
    ),
]
AskPlanOption = Annotated[bool, flag("--plan", "Say what asking would cost. Asks nothing.")]


ABOUT_ASKING = (
    "--skill, --trials, --max-cost, --judge, --strict, --plan, --fresh, --batch and --evals are about"
    " asking: name an --agent"
)


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
    about = (skill, plan, max_cost is not None, trials > 1, strict, fresh, batch, evals)
    if agent is None and (any(about) or judge != "none"):
        raise UsageError(ABOUT_ASKING)
    open_instruments = instruments(context, jobs, ahead=agent is None, engine=engine)
    chosen, at_once = load(bank, scenario, suite), cores(jobs, context, engine)
    shown = ShownAnswers(as_json, plain, verbose, strict)
    if agent is None:
        raise typer.Exit(_check_itself(chosen, seed, at_once, out, shown, open_instruments))
    asked = AskOptions(
        agent, skill or configuration().skill, delivery, trials, max_cost, judge, seed, at_once, plan,
        fresh=fresh, batch=batch,
    )  # fmt: skip
    here = only_runnable(_questions(chosen, evals))
    raise typer.Exit(ask(asked, here, out, shown, open_instruments))


def _questions(bank: Bank, evals: Path | None) -> Bank:
    from harness.agents.evals import read_evals

    return bank if evals is None else read_evals(evals, bank)


def _check_itself(
    bank: Bank,
    seed: int,
    jobs: int,
    out: Path | None,
    shown: ShownAnswers,
    open_instruments: OpenInstruments,
) -> int:
    from harness.runner import Settings, run_bank

    with stored(out, "bank", bank, seed=seed) as run, progress_bar(Output(stderr=True)) as watch:
        settings = Settings(seed=seed, jobs=jobs, watch=watch, run=run)
        outcome = run_bank(bank, settings, open_instruments)
    _print_run(outcome, len(bank.scenarios) - len(outcome.run.not_run), shown)
    return outcome.exit_code


def _print_run(outcome: BankOutcome, asked: int, shown: ShownAnswers) -> None:
    from harness.report.table import closing_line, render_table
    from harness.report.verbose import render_verbose

    output = Output(plain=shown.plain)
    if shown.as_json:
        output.text(outcome.run.model_dump_json(indent=2))
    else:
        if shown.verbose:
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
        print_faults(outcome.faults, all_traces=shown.verbose)
