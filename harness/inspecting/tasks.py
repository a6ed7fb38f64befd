"""One task for each suite of the bank, and one for a bank by its path."""

import logging
from pathlib import Path

from click import ClickException
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from harness.agents.delivery import Delivery
from harness.domain.errors import UserError
from harness.inspecting.registering import registered
from harness.inspecting.scoring import code_right
from harness.inspecting.solving import with_skill
from harness.scenarios import default_bank, load_bank
from harness.scenarios.availability import runnable
from harness.scenarios.selection import select

_LOG = logging.getLogger(__name__)
_MOST_MESSAGES = 50
"""A model that calls its tool for ever is ended; ``--message-limit`` sets another limit."""


@registered(task)
def refactor(
    skill: str | None = None, delivery: Delivery = "system", scenario: str | list[str] = "all"
) -> Task:
    """Loops of a user that work badly, to be put right."""
    return _task("refactor", None, skill, delivery, scenario)


@registered(task)
def pitfalls(
    skill: str | None = None, delivery: Delivery = "system", scenario: str | list[str] = "all"
) -> Task:
    """Loops with one classic fault each."""
    return _task("pitfalls", None, skill, delivery, scenario)


@registered(task)
def techniques(
    skill: str | None = None, delivery: Delivery = "system", scenario: str | list[str] = "all"
) -> Task:
    """Techniques beyond clipping and accumulation."""
    return _task("techniques", None, skill, delivery, scenario)


@registered(task)
def data_loading(
    skill: str | None = None, delivery: Delivery = "system", scenario: str | list[str] = "all"
) -> Task:
    """Loaders, samplers, workers and seeds."""
    return _task("data-loading", None, skill, delivery, scenario)


@registered(task)
def bank(
    path: str,
    skill: str | None = None,
    delivery: Delivery = "system",
    scenario: str | list[str] = "all",
    suite: str | None = None,
) -> Task:
    """The scenarios of any bank, by its folder."""
    return _task(suite, path, skill, delivery, scenario)


def _task(
    suite: str | None,
    path: str | None,
    skill: str | None,
    delivery: Delivery,
    scenario: str | list[str],
) -> Task:
    try:
        return _made(suite, path, skill, delivery, scenario)
    except UserError as error:
        raise ClickException(str(error)) from error  # which Inspect's command line tells as it is


def _made(
    suite: str | None,
    path: str | None,
    skill: str | None,
    delivery: Delivery,
    scenario: str | list[str],
) -> Task:
    folder = Path(path).resolve() if path is not None else default_bank()
    ids = scenario if isinstance(scenario, str) else ",".join(scenario)  # Inspect splits `a,b`
    chosen, left_out = runnable(select(load_bank(folder), ids, suite))
    for one in left_out:
        _LOG.warning("%s is left out: %s", one.scenario, one.why)
    samples = [
        Sample(
            id=one.id,
            input=one.prompt,
            target="right",
            metadata={"scenario": one.id, "title": one.title, "suite": one.suite},
        )
        for one in chosen.scenarios
    ]
    return Task(
        dataset=MemoryDataset(samples, name=suite or folder.name),
        solver=with_skill(None if skill is None else str(Path(skill).resolve()), delivery),
        scorer=code_right(bank=None if path is None else str(folder)),
        message_limit=_MOST_MESSAGES,
    )
