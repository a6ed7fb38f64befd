"""``list`` and ``show``: what is in the bank, and in a stored run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.app import (
    BankOption,
    JsonOption,
    PlainOption,
    ScenariosOption,
    SuiteOption,
    TrustOption,
    VerboseOption,
    app,
    bank_folder,
    flag,
    load,
    trusted,
)
from harness.domain.errors import UsageError
from harness.report.console import Output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.domain.listing import ListedScenario
    from harness.domain.scenario import Scenario


@app.command(name="list", epilog="Example: harness list --suite refactor")
def list_scenarios(
    *,
    scenario: ScenariosOption = None,
    suite: SuiteOption = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    as_json: JsonOption = False,
    plain: PlainOption = False,
    evals: Annotated[bool, flag("--evals", "Print them as evals.json of skill-creator.")] = False,
) -> None:
    """List the scenarios of the bank."""
    trusted(bank, trust=trust_bank)
    if evals:
        _list_evals(load(bank, scenario, suite).scenarios)
        return
    from harness.report.scenario import list_as_json, render_list
    from harness.report.words import sentences_not_run
    from harness.scenarios.availability import not_runnable
    from harness.scenarios.listing import listed
    from harness.scenarios.selection import of_suite

    found: Sequence[Scenario | ListedScenario]
    found = (not scenario and listed(bank_folder(bank))) or load(bank, scenario).scenarios
    chosen = of_suite(found, suite) if suite is not None else found
    output = Output(plain=plain)
    if as_json:
        output.text(list_as_json(chosen))
        return
    output.show(render_list(chosen, plain=output.plain))
    for sentence in sentences_not_run(not_runnable(chosen)):
        output.text(sentence)


def _list_evals(chosen: "Sequence[Scenario]") -> None:
    from harness.cli.configuring import configuration
    from harness.report.skill_creator import render_evals

    skill = configuration().skill
    Output().text(render_evals(chosen, skill.name if skill else "").rstrip("\n"))


@app.command(epilog="Example: harness show clip-after-step")
def show(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="ID|RUN", help="The id of a scenario, or the folder of a stored run."
        ),
    ],
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    as_json: JsonOption = False,
    plain: PlainOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show one scenario: message, pressure, what is judged, posted loop and reference; or a run."""
    trusted(bank, trust=trust_bank)
    from harness.report.scenario import render_scenario
    from harness.scenarios.selection import find
    from harness.store import is_run, shards_in

    if is_run(Path(scenario)) or shards_in(Path(scenario)):
        _show_run(Path(scenario), as_json=as_json, plain=plain, verbose=verbose)
        return
    known = load(bank)
    if Path(scenario).exists() and all(scenario != one.id for one in known.scenarios):
        expected = "expected the id of a scenario, or the folder of a stored run"
        raise UsageError(f"{scenario}: {expected}")
    found = find(known, scenario)
    output = Output(plain=plain)
    if as_json:
        output.text(found.model_dump_json(indent=2))
    else:
        output.show(render_scenario(found, plain=output.plain))


def _show_run(folder: Path, *, as_json: bool, plain: bool, verbose: bool) -> None:
    from harness.cli.stored import opened_run, printing
    from harness.domain.answer import Tally
    from harness.domain.stored import GradedAnswer
    from harness.report.answers import render_head, render_tally

    output, tally = Output(plain=plain), Tally()
    with opened_run(folder) as run:
        if not as_json:
            output.show(render_head(run.head))
        with printing(as_json=as_json, plain=plain, verbose=verbose, show_program=False) as show:
            for answer in run:
                tally.count(answer.answer)
                show(GradedAnswer(answer))
    if not as_json:
        output.text("")
        output.show(render_tally(tally))
