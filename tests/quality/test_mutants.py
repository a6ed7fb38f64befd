"""Operators make right loops wrong, in the way they say, and in no other."""

import pytest

from harness.properties import PROPERTIES
from harness.quality.mutants import derive
from harness.quality.operators import OPERATORS
from harness.quality.program import Program
from harness.quality.sources import Source
from tests.quality.judging import SCENARIOS

BY_ID = {operator.id: operator for operator in OPERATORS}

LOOP = """\
optimizer.zero_grad()
for i, (x, y) in enumerate(train_loader):
    loss = criterion(model(x), y) / accumulation_steps
    loss.backward()
    if (i + 1) % accumulation_steps == 0:
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""


def mutants_of(operator: str, program: str = LOOP) -> list[str]:
    parsed = Program(program)
    return [parsed.changed(changes) for changes in BY_ID[operator].derive(parsed)]


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that went and lines that came, stripped."""
    old, new = before.splitlines(), after.splitlines()
    return (
        [line.strip() for line in old if line not in new],
        [line.strip() for line in new if line not in old],
    )


def test_there_are_at_least_thirty_operators_with_names_of_their_own():
    assert len(OPERATORS) >= 30
    assert len(BY_ID) == len(OPERATORS)


def test_every_operator_says_which_properties_name_its_fault():
    for operator in OPERATORS:
        assert operator.named_by, operator.id
        assert set(operator.named_by) | set(operator.also) <= set(PROPERTIES), operator.id


@pytest.mark.parametrize(
    ("operator", "went", "came"),
    [
        (
            "clip-after-step",
            ["clip_grad_norm_(model.parameters(), 1.0)"],
            [
                '(clip_grad_norm_(model.parameters(), float("inf")))',
                "clip_grad_norm_(model.parameters(), 1.0)",
            ],
        ),
        (
            "division-dropped",
            ["loss = criterion(model(x), y) / accumulation_steps"],
            ["loss = (criterion(model(x), y))"],
        ),
        (
            "window-off-by-one",
            ["if (i + 1) % accumulation_steps == 0:"],
            ["if (i % accumulation_steps == 0):"],
        ),
        ("step-each-micro-batch", ["if (i + 1) % accumulation_steps == 0:"], ["if (True):"]),
        ("step-dropped", ["optimizer.step()"], []),
    ],
)
def test_an_operator_changes_its_one_place(operator, went, came):
    (mutant,) = mutants_of(operator)
    gone, new = changed_lines(LOOP, mutant)
    assert gone == [line for line in went if line not in came]
    assert [line for line in came if line not in LOOP.replace("    ", "").splitlines()] == new or (
        set(new) <= set(came)
    )


def test_dropping_zero_grad_drops_every_one():
    (mutant,) = mutants_of("zero-grad-dropped")
    assert "zero_grad" not in mutant


def test_a_program_without_the_place_has_no_mutant():
    assert mutants_of("unscale-dropped") == []
    assert mutants_of("sync-never") == []


def test_a_scenario_that_does_not_judge_a_fault_is_left_out():
    groups = SCENARIOS["parameter-groups"]
    assert not BY_ID["clip-dropped"].applies_to(SCENARIOS["padding-and-accumulation"])
    assert BY_ID["clip-all-groups-as-one"].applies_to(groups)


def test_mutants_differ_from_each_other_and_from_what_they_were_made_of():
    scenario = SCENARIOS["all-three-techniques"]
    found = derive(scenario, (), OPERATORS, None)
    texts = [mutant.text for mutant in found]
    assert len(set(texts)) == len(texts) > 30
    assert scenario.reference not in texts


def test_alternatives_take_turns():
    scenario = SCENARIOS["all-three-techniques"]
    sources = tuple(Source(f"a{i}", f"{LOOP}print({i})\n") for i in range(4))
    found = derive(scenario, sources, OPERATORS, 1)
    used = {mutant.source.name for mutant in found}
    assert used == {"reference", "a0", "a1", "a2", "a3"}
    by_operator = {}
    for mutant in found:
        by_operator.setdefault(mutant.operator.id, set()).add(mutant.source.name)
    assert all(len(names - {"reference"}) <= 1 for names in by_operator.values())


def test_the_bank_has_a_place_for_every_operator():
    """An operator that finds nothing in any reference or alternative would be a wish."""
    missing = {operator.id for operator in OPERATORS}
    for scenario in SCENARIOS.values():
        fitting = [o for o in OPERATORS if o.id in missing and o.applies_to(scenario)]
        program = Program(scenario.reference)
        missing -= {o.id for o in fitting if any(True for _ in o.derive(program))}
    assert not missing
