"""``--batch``: the questions of one or several arms, handed in together before they are used."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import methodcaller
from pathlib import Path

import typer

from harness.agents.agent import Unanswered
from harness.agents.batching import BatchAsker, BatchGroup, Journal
from harness.agents.conversing import ModelAgent
from harness.agents.naming import AskingOptions, address, unconnected
from harness.cli.asking import Asked
from harness.domain.errors import UsageError
from harness.domain.scenario import Bank
from harness.llm import load_prices
from harness.llm.batches import Batches, BatchPause
from harness.llm.remote import ClientLimits, no_price
from harness.report.console import Output
from harness.store import RunFolder, is_run

INTERRUPTED = 130


AskModel = Callable[[ModelAgent], object]
"""Asks a model what it may have been asked before."""


@contextmanager
def handed_in(groups: Sequence[BatchGroup], limits: ClientLimits) -> Iterator[BatchAsker]:
    """Every answer is in the cache, or it is known why there is none. Whoever has used all of them
    says so with ``finish``.

    Raises:
        UsageError: there is no key, or no price where a limit of cost is to be kept.
        UserError: the provider takes no batches.
    """
    outbox = groups[0].outbox
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


def group_of_run(asked: Asked, bank: Bank, folder: Path | None, trials: int) -> BatchGroup:
    """The questions of an arm whose answer is not stored in its run."""
    done = set()
    if folder is not None and is_run(folder):
        with RunFolder.load(folder) as run:
            done = {one.key for one in run if one.is_final}
    questions: list[AskModel] = [
        methodcaller("ask", scenario, trial)
        for trial in range(1, trials + 1)
        for scenario in bank.scenarios
        if f"{scenario.id}/{trial}" not in done
    ]
    return group_of(asked.how.agent, asked.asking, questions)


def group_of(spec: str, asking: AskingOptions, questions: list[AskModel]) -> BatchGroup:
    """What a model has not answered yet of these questions, with their limit of cost.

    Raises:
        UsageError: the agent takes no batches.
    """
    agent, outbox = unconnected(spec, asking), asking.outbox
    if not isinstance(agent, ModelAgent) or outbox is None or agent.cache is None:
        raise UsageError(f"--batch is for anthropic:MODEL, not for {spec}")
    model = agent

    def play() -> None:
        for question in [*questions]:
            before = len(outbox.waiting)
            try:
                question(model)
            except Unanswered:
                if len(outbox.waiting) > before:
                    continue
            questions.remove(question)

    return BatchGroup(outbox, agent.cache, asking.meter, play)


def _place(group: BatchGroup) -> Path:
    group.cache.prepare()
    return group.cache.folder / "batches"


def _tell(sentence: str) -> None:
    Output(stderr=True).text(f"harness: {sentence}")
