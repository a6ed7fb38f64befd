"""``--batch``: the questions of one or several arms, handed in together before they are graded."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from harness.agents.agent import Unanswered
from harness.agents.batching import BatchAsker, BatchGroup, Journal
from harness.agents.conversing import ModelAgent
from harness.agents.naming import address, unconnected
from harness.cli.asking import Asked
from harness.domain.errors import UsageError
from harness.domain.scenario import Bank, Scenario
from harness.llm import load_prices
from harness.llm.batches import Batches, BatchPause
from harness.llm.remote import no_price
from harness.report.console import Output
from harness.store import RunFolder, is_run

INTERRUPTED = 130


@contextmanager
def handed_in(
    asked: Sequence[Asked], bank: Bank, folders: Sequence[Path | None], trials: int
) -> Iterator[BatchAsker]:
    """Every answer is in the cache, or it is known why there is none. Whoever has graded all of them
    says so with ``finish``.

    Raises:
        UsageError: there is no key, or no price where a limit of cost is to be kept.
        UserError: the provider takes no batches.
    """
    groups = [
        _group(one, _open(bank, folder, trials)) for one, folder in zip(asked, folders, strict=True)
    ]
    outbox, limits = groups[0].outbox, asked[0].asking.limits
    price = load_prices().of(outbox.name)
    if price is None and any(group.meter.limit is not None for group in groups):
        raise UsageError(no_price(outbox.name))
    batches = Batches(outbox.name, price, limits, BatchPause())
    asker = BatchAsker(batches, Journal(_place(groups[0])), address(), _tell)
    try:
        asker.ask(groups)
    except KeyboardInterrupt:
        _tell("interrupted; what was handed in goes on, and the same command picks it up")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        batches.close()
    yield asker


def _place(group: BatchGroup) -> Path:
    group.cache.prepare()
    return group.cache.folder / "batches"


def _tell(sentence: str) -> None:
    Output(stderr=True).text(f"harness: {sentence}")


def _open(bank: Bank, folder: Path | None, trials: int) -> list[tuple[Scenario, int]]:
    """Questions whose answer is not stored in the run."""
    done = set()
    if folder is not None and is_run(folder):
        with RunFolder.load(folder) as run:
            done = {one.key for one in run if one.is_final}
    return [
        (scenario, trial)
        for trial in range(1, trials + 1)
        for scenario in bank.scenarios
        if f"{scenario.id}/{trial}" not in done
    ]


def _group(asked: Asked, questions: list[tuple[Scenario, int]]) -> BatchGroup:
    agent, outbox = unconnected(asked.how.agent, asked.asking), asked.asking.outbox
    if not isinstance(agent, ModelAgent) or agent.provider != "anthropic":
        raise UsageError(f"--batch is for anthropic:MODEL, not for {asked.how.agent}")
    if outbox is None or agent.cache is None:
        raise UsageError(f"--batch is for anthropic:MODEL, not for {asked.how.agent}")
    model = agent

    def play() -> None:
        for question in [*questions]:
            before = len(outbox.waiting)
            try:
                model.ask(*question)
            except Unanswered:
                if len(outbox.waiting) > before:
                    continue
            questions.remove(question)

    return BatchGroup(outbox, agent.cache, asked.asking.meter, play)
