"""Faults that a program's text shows, beside what looks like them and is none."""

import pytest

from harness.properties.accumulation.undivided_part import undivided_part
from harness.properties.learning.aliases import another_name
from harness.properties.learning.called_later import called_later
from harness.properties.schedule.forgotten_states import forgotten_state
from harness.properties.schedule.repeated_passes import repeats_a_pass

RESUMED = """
kept = torch.load("state.pt")
first = kept["done"]
{more}
for epoch in range(first, 6):
    for x, y in loader:
        criterion(model(x), y).backward()
    torch.save({{"done": epoch}}, "state.pt")
"""

CLOSURE = """
optimizer = torch.optim.LBFGS(model.parameters())

def closure():
    {first}
    return criterion(model(x), y)

optimizer.step(closure)
"""

HOOKS = """
for name, layer in model.named_modules():
    handle = layer.register_forward_hook(lambda layer, given, found: kept(name, found))
    {more}
"""

KEPT = """
for epoch in range(9):
    model.train()
    if better:
        best_model = model
        {more}
best_model(x)
"""

KEPT_STATES = """
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    average.update(model)
torch.save({{
    "model": model.state_dict(), "opt": optimizer.state_dict(), "average": average.state_dict(),
}}, "last.pt")
found = torch.load("last.pt")
model.load_state_dict(found["model"])
{more}
"""


@pytest.mark.parametrize(
    ("more", "is_one"),
    [
        ("optimizer.load_state_dict(found['opt'])", True),
        ("pass", False),  # weights alone, to begin another training with
        (
            "optimizer.load_state_dict(found['opt']); average.load_state_dict(found['average'])",
            False,
        ),
        ("optimizer.load_state_dict(found['opt']); average.shadow = found['average']", False),
    ],
)
def test_a_state_is_forgotten_where_its_model_and_its_optimizer_are_taken_up(more, is_one):
    assert (forgotten_state(KEPT_STATES.format(more=more)) is not None) == is_one


PENALTY = """
for step, (x, y) in enumerate(loader):
    penalty = {penalty}
    loss = criterion(model(x), y) / every + penalty
    {more}
    loss.backward()
    if step % every == 0:
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("penalty", "more", "is_one"),
    [
        ("0.1 * size_of(model)", "pass", True),
        ("rate * size_of(model) / every", "pass", False),
        ("rate * size_of(model)", "rate = 0.1 / every", False),
        ("0.1 * size_of(model)", "loss = loss / every", False),
    ],
)
def test_a_part_arrives_as_often_as_micro_batches_unless_their_number_is_in_it(
    penalty, more, is_one
):
    found = undivided_part(PENALTY.format(penalty=penalty, more=more))

    assert (found is not None) == is_one


@pytest.mark.parametrize(
    ("more", "is_one"), [("", True), ("first += 1", False), ("first = first + 1", False)]
)
def test_a_pass_is_repeated_only_where_nobody_adds_to_its_number(more, is_one):
    assert (repeats_a_pass(RESUMED.format(more=more)) is not None) == is_one


@pytest.mark.parametrize(
    ("first", "is_one"),
    [("x, y = next(batches)", True), ("device = next(model.parameters()).device", False)],
)
def test_a_closure_that_asks_where_its_model_lies_draws_no_rows(first, is_one):
    assert (called_later(CLOSURE.format(first=first)) is not None) == is_one


@pytest.mark.parametrize(("more", "is_one"), [("pass", True), ("handle.remove()", False)])
def test_a_hook_that_is_taken_away_in_its_turn_reads_that_turns_name(more, is_one):
    assert (called_later(HOOKS.format(more=more)) is not None) == is_one


@pytest.mark.parametrize(("more", "is_one"), [("pass", True), ("break", False)])
def test_another_name_is_enough_where_training_ends(more, is_one):
    assert (another_name(KEPT.format(more=more)) is not None) == is_one
