"""What a program is called and where it stands changes no verdict: programs are executed, not read."""

import ast
from collections.abc import Callable

import pytest

from tests.quality.judging import SCENARIOS, Court
from tests.quality.rewriting import outlined, read_before_bound, renamed
from tests.sampling import sampled

REWRITINGS: dict[str, Callable[[str], str]] = {
    "renamed": renamed,
    "outlined": outlined,
}
PROGRAMS = {
    f"{scenario.id}, {which}": (scenario, program)
    for scenario in SCENARIOS.values()
    if not any(
        probe.tests for probe in scenario.probes
    )  # a file of tests imports what it judges by its names
    for which, program in (("buggy", scenario.buggy), ("reference", scenario.reference))
}


@pytest.mark.parametrize("rewriting", REWRITINGS)
@pytest.mark.parametrize("name", sampled(PROGRAMS, 5))
def test_a_rewritten_program_gets_the_verdicts_of_the_original(
    court: Court, name: str, rewriting: str
) -> None:
    """New names for what it binds itself, or all code in a function: each outcome stays as it was."""
    scenario, program = PROGRAMS[name]
    rewritten = REWRITINGS[rewriting](program)

    original, found = court.judged(scenario, program), court.judged(scenario, rewritten)

    ends = [(p.probe, p.program.outcome, p.program.exception) for p in original.trace.probes]
    assert [
        (p.probe, p.program.outcome, p.program.exception) for p in found.trace.probes
    ] == ends, f"{found.story()}\n{rewritten}"
    assert found.outcomes == original.outcomes, f"{found.story()}\n{rewritten}"


def test_renaming_follows_parameters_and_keeps_attributes() -> None:
    """A keyword of an own function changes with its parameter, one of a library does not."""
    program = """
import torch

def train(clip, rate=0.1):
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=clip)

train(clip=1.0)
"""
    expected = """
import torch

def v2(v0, v1=0.1):
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=v0)

v2(v0=1.0)
"""
    assert renamed(program) == ast.unparse(ast.parse(expected))


@pytest.mark.parametrize(
    ("body", "shared"),
    [
        ("model = DDP(model)", ["model"]),
        ("optimizer = SGD(model.parameters())\noptimizer.step()", []),
        ("for x in loader:\n    total += x", ["total"]),
        ("total = 0\nfor x in loader:\n    total += x", []),
        ("for epoch in range(epochs):\n    scheduler.step()\n    scheduler = None", ["scheduler"]),
    ],
)
def test_outlining_shares_only_what_is_read_before_it_is_bound(
    body: str, shared: list[str]
) -> None:
    """``model = DDP(model)`` needs the model from outside; a plain assignment makes a local."""
    assert read_before_bound(ast.parse(body).body) == shared
